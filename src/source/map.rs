//! Memory maps of session files. The only module that owns `unsafe`.
//!
//! A map of a file that another process truncates faults when the lost pages are touched, and the fault ends this process.
//! So only files that were quiet for a while are mapped (see [`super::bytes`]), and the commit protocol makes such an end
//! harmless: nothing of the interrupted wave is published, and the next run reads the same bytes again.
#![allow(unsafe_code, reason = "a map cannot be had without; see above for why it is sound")]

use std::io;

use memmap2::{Mmap, MmapOptions};

/// Maps `len` bytes of `file` from `start`, read-only.
///
/// # Errors
/// The file system cannot map the file, or `len` is zero.
pub fn map(file: &fs_err::File, start: u64, len: usize) -> io::Result<Mmap> {
    // SAFETY: the map is private to this process and only read, so this process never changes what it shows. Another
    // process may: a changed byte gives a line that does not parse or a checkpoint that does not match, both of which are
    // handled; a truncation gives SIGBUS, which ends the process at a point where the lake loses nothing.
    let map = unsafe { MmapOptions::new().offset(start).len(len).map(file.file()) }?;
    #[cfg(unix)]
    let _ = map.advise(memmap2::Advice::Sequential);
    Ok(map)
}
