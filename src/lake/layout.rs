//! Where everything stands in a lake, and with which permissions.
//!
//! Only `.parquet` files stand in table folders: DuckDB and Polars globs also match names that begin with `_` or `.`, so
//! what is unfinished lives in `.agentlake/staging`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::disk::{Disk, RealDisk, create_lasting_dirs};
use super::state::Part;
use crate::model::tables::TABLES;

/// Paths of one lake.
#[derive(Debug, Clone)]
pub struct Layout {
    root: PathBuf,
    disk: Arc<dyn Disk>,
}

impl Layout {
    /// The layout of the lake at `root`.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self::on(Arc::new(RealDisk), root)
    }

    /// The layout of the lake at `root`, whose files are changed through `disk`.
    #[must_use]
    pub fn on(disk: Arc<dyn Disk>, root: &Path) -> Self {
        Self { root: root.to_owned(), disk }
    }

    /// What changes the lake's files.
    #[must_use]
    pub fn disk(&self) -> &dyn Disk {
        self.disk.as_ref()
    }

    /// The lake's folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The private folder.
    #[must_use]
    pub fn private(&self) -> PathBuf {
        self.root.join(".agentlake")
    }

    /// The state database.
    #[must_use]
    pub fn state_file(&self) -> PathBuf {
        self.private().join("state.db")
    }

    /// The file whose lock a writer holds.
    #[must_use]
    pub fn lock_file(&self) -> PathBuf {
        self.private().join("writer.lock")
    }

    /// Where unfinished batches are written.
    #[must_use]
    pub fn staging(&self) -> PathBuf {
        self.private().join("staging")
    }

    /// Where the parts of a batch are written before they are published.
    #[must_use]
    pub fn staging_of(&self, batch: i64) -> PathBuf {
        self.staging().join(format!("b{batch:06}"))
    }

    /// Where the file of a compaction's part is now: in its place, or still in staging if it is about to be moved.
    #[must_use]
    pub fn locate(&self, part: &Part) -> PathBuf {
        let (place, staged) = (self.root.join(&part.path), self.staging_of(part.batch).join(&part.path));
        if !place.exists() && staged.exists() { staged } else { place }
    }

    /// Where a part of a batch stands before it is published. Names of parts differ within a batch, so staging needs no
    /// folders per table and day, which would have to be created, synced and removed again.
    #[must_use]
    pub fn staged(&self, batch: i64, part: &str) -> PathBuf {
        self.staging_of(batch).join(part.rsplit('/').next().unwrap_or(part))
    }

    /// The DuckDB database for notebooks.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.root.join("agentlake.duckdb")
    }

    /// The glob that any engine can query.
    #[must_use]
    pub fn glob(&self, table: &str) -> String {
        format!("{}/{table}/**/*.parquet", self.root.display())
    }

    /// Creates the folders that every lake has, readable by their owner only.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn create(&self) -> io::Result<()> {
        create_lasting_dirs(self.disk(), &self.staging())
    }

    /// Every Parquet file in the table folders.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn files(&self) -> io::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for table in TABLES {
            let folder = self.root.join(table.name);
            if !folder.exists() {
                continue;
            }
            for provider in fs_err::read_dir(&folder)? {
                let provider = provider?;
                if !provider.file_type()?.is_dir() {
                    files.push(provider.path());
                    continue;
                }
                for date in fs_err::read_dir(provider.path())? {
                    let date = date?;
                    if !date.file_type()?.is_dir() {
                        files.push(date.path());
                        continue;
                    }
                    for part in fs_err::read_dir(date.path())? {
                        files.push(part?.path());
                    }
                }
            }
        }
        Ok(files)
    }

    /// Whether any table holds a part.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn has_parts(&self) -> io::Result<bool> {
        Ok(!self.files()?.is_empty())
    }
}

/// The path of a part below the lake's root.
#[must_use]
pub fn part_path(lake_id: &str, table: &str, provider: &str, date: &str, batch: i64, number: usize) -> String {
    let lake = lake_id.get(..8).unwrap_or(lake_id);
    format!("{table}/provider={provider}/date={date}/part-{lake}-b{batch:06}-{number:04}.parquet")
}
