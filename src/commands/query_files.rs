//! Queries of one's own: a folder of SQL files in the form of the bundled ones, `--queries DIR`.

use std::path::Path;

use anyhow::{Context, Result};

use crate::warehouse::NamedQuery;

/// The queries of a folder.
#[derive(Debug, Default)]
pub struct QueryFiles {
    /// Name and text of each, by name.
    files: Vec<(String, String)>,
}

impl QueryFiles {
    /// Reads the `*.sql` files of a folder, not of folders in it; the name of a query is that of its file.
    ///
    /// # Errors
    /// The folder or a file cannot be read.
    pub fn read(folder: &Path) -> Result<Self> {
        let mut files = Vec::new();
        for entry in fs_err::read_dir(folder).context("--queries names no readable folder")? {
            let path = entry?.path();
            let Some(name) = path.file_stem().and_then(|name| name.to_str()) else { continue };
            if path.extension().is_some_and(|extension| extension == "sql") && path.is_file() {
                files.push((name.to_owned(), fs_err::read_to_string(&path)?));
            }
        }
        files.sort();
        Ok(Self { files })
    }

    /// All of them, by name.
    #[must_use]
    pub fn all(&self) -> Vec<NamedQuery<'_>> {
        self.files.iter().map(|(name, sql)| NamedQuery { name, sql }).collect()
    }

    /// The one of a name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<NamedQuery<'_>> {
        self.all().into_iter().find(|query| query.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_read_by_name() {
        let folder = tempfile::tempdir().unwrap();
        fs_err::write(folder.path().join("b.sql"), "-- title: B\nSELECT 2;").unwrap();
        fs_err::write(folder.path().join("a.sql"), "SELECT 1").unwrap();
        fs_err::write(folder.path().join("notes.md"), "no query").unwrap();
        let files = QueryFiles::read(folder.path()).unwrap();
        assert_eq!(files.all().iter().map(|query| query.name).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(files.named("b").unwrap().title(), "B");
        assert!(files.named("c").is_none());
        let error = format!("{:#}", QueryFiles::read(&folder.path().join("none")).unwrap_err());
        assert!(error.contains("--queries") && error.contains("none"), "{error}");
    }
}
