//! Where files go that are no part of the lake: `.agentlake/quarantine/<time>/`, under the path that they had. Nothing is
//! ever deleted there.

use std::path::{Path, PathBuf};

use crate::lake::disk::{create_private_dirs, sync_all};
use crate::lake::{Layout, Result, crash};

/// The folder of one repair.
#[derive(Debug)]
pub struct Quarantine {
    layout: Layout,
    folder: PathBuf,
    /// Files moved, with the reason.
    pub moved: Vec<(PathBuf, String)>,
}

impl Quarantine {
    /// The folder of the repair that began at `now`, microseconds. It is made when the first file moves.
    #[must_use]
    pub fn new(layout: &Layout, now: i64) -> Self {
        let name = crate::model::time::text(now).replace(':', "");
        Self { layout: layout.clone(), folder: layout.quarantine().join(name), moved: Vec::new() }
    }

    /// Moves a file or folder of the lake there. What is not there any more is left out.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn take(&mut self, path: &Path, reason: &str) -> Result<()> {
        if fs_err::symlink_metadata(path).is_err() {
            return Ok(());
        }
        let below = path.strip_prefix(self.layout.root()).unwrap_or(path);
        let mut target = self.folder.join(below);
        let mut number = 1;
        while fs_err::symlink_metadata(&target).is_ok() {
            number += 1;
            target = self.folder.join(format!("{}.{number}", below.display()));
        }
        let folder = target.parent().unwrap_or(&self.folder).to_owned();
        create_private_dirs(self.layout.disk(), &folder)?;
        self.layout.disk().rename_new(path, &target)?;
        let from = path.parent().unwrap_or(self.layout.root()).to_owned();
        sync_all(self.layout.disk(), &[folder, from])?;
        self.moved.push((path.to_owned(), reason.to_owned()));
        crash::point("quarantined");
        Ok(())
    }
}
