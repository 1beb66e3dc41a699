//! What the file system says of a file, and whether that proves it unchanged.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;

/// Size, times and inode of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileStat {
    /// Bytes on disk (compressed, where it is).
    pub size: u64,
    /// Last change of the content, microseconds since the epoch.
    pub mtime: i64,
    /// Last change of content or attributes, microseconds since the epoch.
    pub ctime: i64,
    /// Device.
    pub device: u64,
    /// Inode.
    pub inode: u64,
}

impl FileStat {
    /// Of open or found metadata.
    #[must_use]
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            size: metadata.size(),
            mtime: metadata.mtime() * 1_000_000 + metadata.mtime_nsec() / 1000,
            ctime: metadata.ctime() * 1_000_000 + metadata.ctime_nsec() / 1000,
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }
}
