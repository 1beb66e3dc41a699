//! What the lake does to files, behind one small trait, so that tests can watch the order of syncs, refuse a write, or
//! forget what was not synced.
//!
//! Only what changes the disk is here. Reading needs no seam: every implementation works on real files. SQLite writes its
//! own file itself.

use std::fmt::Debug;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

/// How many files are synced at once: syncing waits for the disk, not for a processor.
const SYNC_THREADS: usize = 16;

/// Changes to files and folders.
pub trait Disk: Debug + Send + Sync {
    /// Creates a file that only its owner can read; it must not exist.
    ///
    /// # Errors
    /// The file system refuses.
    fn create(&self, path: &Path) -> io::Result<Box<dyn Write + Send>>;

    /// Creates one folder that only its owner can enter.
    ///
    /// # Errors
    /// The file system refuses; [`io::ErrorKind::AlreadyExists`] if it is there.
    fn create_dir(&self, path: &Path) -> io::Result<()>;

    /// Makes a file's content, or a folder's entries, survive a loss of power.
    ///
    /// # Errors
    /// It may be lost: nothing that depends on it may be committed.
    fn sync(&self, path: &Path) -> io::Result<()>;

    /// Gives a file or folder another name that is not taken.
    ///
    /// # Errors
    /// The file system refuses; [`io::ErrorKind::AlreadyExists`] if the name is taken, [`io::ErrorKind::NotFound`] if there is
    /// nothing to rename.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Swaps two folders in one step, so that nobody sees neither.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] where the file system cannot; else it refuses.
    fn exchange(&self, left: &Path, right: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// The file system refuses.
    fn remove_file(&self, path: &Path) -> io::Result<()>;

    /// Removes a folder with everything in it.
    ///
    /// # Errors
    /// The file system refuses.
    fn remove_dir_all(&self, path: &Path) -> io::Result<()>;
}

/// The disk itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn Write + Send>> {
        use fs_err::os::unix::fs::OpenOptionsExt as _;
        Ok(Box::new(fs_err::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        fs_err::create_dir(path)?;
        fs_err::set_permissions(path, std::fs::Permissions::from_mode(0o700))
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        fs_err::File::open(path)?.sync_all()
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // The file system cannot refuse to replace: look first. No other writer holds the lock.
            Err(Errno::INVAL | Errno::NOSYS) if !to.exists() => fs_err::rename(from, to),
            Err(Errno::INVAL | Errno::NOSYS) => Err(io::ErrorKind::AlreadyExists.into()),
            renamed => Ok(renamed?),
        }
    }

    fn exchange(&self, left: &Path, right: &Path) -> io::Result<()> {
        match renameat_with(CWD, left, CWD, right, RenameFlags::EXCHANGE) {
            // Network and some stacked file systems.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::XDEV) => Err(io::ErrorKind::Unsupported.into()),
            exchanged => Ok(exchanged?),
        }
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs_err::remove_file(path)
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        fs_err::remove_dir_all(path)
    }
}

/// Creates a folder and its parents, readable by their owner only; folders that exist stay as they are. Returns those that
/// were made, the outermost first.
///
/// # Errors
/// The file system refuses.
pub fn create_private_dirs(disk: &dyn Disk, path: &Path) -> io::Result<Vec<PathBuf>> {
    if path.is_dir() {
        return Ok(Vec::new());
    }
    let mut made = match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => create_private_dirs(disk, parent)?,
        None => Vec::new(),
    };
    match disk.create_dir(path) {
        Ok(()) => made.push(path.to_owned()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    Ok(made)
}

/// The same, and the new folders survive a loss of power.
///
/// # Errors
/// The file system refuses.
pub fn create_lasting_dirs(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    for made in create_private_dirs(disk, path)? {
        let parent = made.parent().filter(|parent| !parent.as_os_str().is_empty());
        disk.sync(parent.unwrap_or(Path::new(".")))?;
    }
    Ok(())
}

/// Makes files or folders durable, many at once.
///
/// # Errors
/// One of them cannot be synced; then nothing that depends on it may be committed.
pub fn sync_all(disk: &dyn Disk, paths: &[PathBuf]) -> io::Result<()> {
    let share = paths.len().div_ceil(SYNC_THREADS).max(1);
    std::thread::scope(|scope| {
        let workers: Vec<_> = paths
            .chunks(share)
            .map(|paths| scope.spawn(|| paths.iter().try_for_each(|path| disk.sync(path))))
            .collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().unwrap_or_else(|_| Err(io::Error::other("a sync ended early"))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_name_is_refused_and_an_exchange_swaps() {
        let folder = tempfile::tempdir().unwrap();
        let [left, right] = ["left", "right"].map(|name| folder.path().join(name));
        for path in [&left, &right] {
            RealDisk.create_dir(path).unwrap();
            RealDisk.create(&path.join("file")).unwrap().write_all(path.to_str().unwrap().as_bytes()).unwrap();
        }
        let taken = RealDisk.rename_new(&left.join("file"), &right.join("file")).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
        let gone = RealDisk.rename_new(&left.join("none"), &right.join("new")).unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
        match RealDisk.exchange(&left, &right) {
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::Unsupported),
            Ok(()) => assert!(fs_err::read_to_string(left.join("file")).unwrap().ends_with("right")),
        }
    }

    #[test]
    fn folders_are_private_and_made_once() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b");
        let made = create_private_dirs(&RealDisk, &inner).unwrap();
        assert_eq!(made, [folder.path().join("a"), inner.clone()]);
        assert_eq!(fs_err::metadata(&inner).unwrap().permissions().mode() & 0o777, 0o700);
        assert!(create_private_dirs(&RealDisk, &inner).unwrap().is_empty());
        create_lasting_dirs(&RealDisk, &folder.path().join("c/d")).unwrap();
    }
}
