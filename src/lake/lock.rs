//! One writer at a time. The lock belongs to the open file, so it dies with the process.

use std::io::{Read as _, Seek as _, SeekFrom, Write as _};

use super::layout::Layout;
use super::{LakeError, Result};

/// The right to write to a lake, until dropped.
#[derive(Debug)]
pub struct WriterLock {
    _file: fs_err::File,
}

impl WriterLock {
    /// Takes the lock, or says who holds it.
    ///
    /// # Errors
    /// Another process holds it, or the file system refuses.
    pub fn take(layout: &Layout) -> Result<Self> {
        use fs_err::os::unix::fs::OpenOptionsExt as _;
        let path = layout.lock_file();
        let mut file =
            fs_err::OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path)?;
        match file.file().try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = file.read_to_string(&mut holder);
                let holder = holder.trim();
                let holder = if holder.is_empty() { "its process is not known".to_owned() } else { holder.to_owned() };
                return Err(LakeError::Locked { holder });
            }
            Err(std::fs::TryLockError::Error(error)) => return Err(error.into()),
        }
        let started = crate::model::time::text(chrono::Utc::now().timestamp_micros());
        file.file().set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        write!(file, "process {}, since {started}", std::process::id())?;
        Ok(Self { _file: file })
    }
}
