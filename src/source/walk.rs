//! Finds files below a root: follows symbolic links, survives their loops, and reports what cannot be opened.

use std::collections::HashSet;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::stat::FileStat;

/// Deepest folder below a root.
const MAX_DEPTH: usize = 64;

/// What a walk found.
#[derive(Debug, Default)]
pub struct Found {
    /// Regular files that were asked for, sorted by path.
    pub files: Vec<(PathBuf, FileStat)>,
    /// Paths that could not be opened, or are no regular file, with the reason.
    pub problems: Vec<Problem>,
}

/// A path that a walk could not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The path.
    pub path: PathBuf,
    /// Why, a sentence for people.
    pub reason: String,
    /// Whether it is there but of another kind than a file (a folder, a FIFO), rather than unreadable.
    pub not_a_file: bool,
}

impl Found {
    /// Walks `root` (a folder, or one file) and keeps the files whose path `wanted` accepts. A root that does not exist
    /// is nothing.
    pub fn walk(&mut self, root: &Path, wanted: &dyn Fn(&Path) -> bool) {
        match fs_err::metadata(root) {
            Ok(metadata) if metadata.is_dir() => {
                self.enter(root, (metadata.dev(), metadata.ino()), wanted, &mut HashSet::new(), 0);
            }
            Ok(metadata) if metadata.is_file() => self.files.push((root.to_owned(), FileStat::of(&metadata))),
            Ok(_) => self.not_a_file(root, "it is neither a file nor a folder"),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.unreadable(root, &error),
        }
        self.files.sort_by(|left, right| left.0.cmp(&right.0));
    }

    fn enter(
        &mut self,
        folder: &Path,
        id: (u64, u64),
        wanted: &dyn Fn(&Path) -> bool,
        entered: &mut HashSet<(u64, u64)>,
        depth: usize,
    ) {
        if depth > MAX_DEPTH || !entered.insert(id) {
            return;
        }
        let entries = match fs_err::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => return self.unreadable(folder, &error),
        };
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.unreadable(folder, &error);
                    continue;
                }
            };
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_file() && !wanted(&path) {
                continue;
            }
            match fs_err::metadata(&path) {
                Ok(metadata) if metadata.is_dir() => {
                    if wanted(&path) {
                        self.not_a_file(&path, "it is a folder");
                    }
                    self.enter(&path, (metadata.dev(), metadata.ino()), wanted, entered, depth + 1);
                }
                Ok(metadata) if metadata.is_file() && wanted(&path) => self.files.push((path, FileStat::of(&metadata))),
                Ok(metadata) if !metadata.is_file() && wanted(&path) => {
                    self.not_a_file(&path, "it is neither a file nor a folder");
                }
                Err(error) if wanted(&path) => self.unreadable(&path, &error),
                _ => {}
            }
        }
    }

    fn unreadable(&mut self, path: &Path, error: &io::Error) {
        self.problems.push(Problem {
            path: path.to_owned(),
            reason: format!("cannot be read: {error}"),
            not_a_file: false,
        });
    }

    fn not_a_file(&mut self, path: &Path, reason: &str) {
        self.problems.push(Problem { path: path.to_owned(), reason: reason.to_owned(), not_a_file: true });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_folders_with_file_names_and_missing_roots() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("root");
        fs_err::create_dir_all(root.join("sub/x.jsonl")).unwrap();
        fs_err::write(root.join("sub/a.jsonl"), "{}").unwrap();
        fs_err::os::unix::fs::symlink(&root, root.join("sub/loop")).unwrap();
        let mut found = Found::default();
        let wanted = |path: &Path| path.extension().is_some_and(|extension| extension == "jsonl");
        found.walk(&root, &wanted);
        found.walk(&home.path().join("missing"), &wanted);
        assert_eq!(found.files.len(), 1);
        assert_eq!(found.problems.len(), 1);
        assert!(found.problems[0].not_a_file);
    }
}
