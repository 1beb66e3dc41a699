//! Bytes of a source from a position on: mapped, read, or decompressed, always forward.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use memmap2::Mmap;

use super::map::map;
use super::stat::FileStat;
use super::{QUIET, Source, SourceKind};

/// Slices of at least this size are mapped, if the file is quiet; smaller ones are cheaper to read.
pub const MAP_FROM_BYTES: u64 = 4 << 20;

/// A run of bytes of a source.
#[derive(Debug)]
pub enum Bytes {
    /// Mapped pages.
    Mapped(Mmap),
    /// A copy.
    Owned(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned(bytes) => bytes,
        }
    }
}

/// An open source that gives its bytes in ascending order of position.
pub struct Reader {
    file: fs_err::File,
    stat: FileStat,
    now: i64,
    decoder: Option<Decoder>,
}

/// A zstd stream and how far it was read.
struct Decoder {
    stream: zstd::stream::read::Decoder<'static, io::BufReader<File>>,
    position: u64,
    /// The newest bytes before `position`, so that a read may begin a little behind it.
    recent: Vec<u8>,
}

/// How far back a read of a compressed source may begin.
const RECENT_BYTES: usize = 64 << 10;

impl Reader {
    /// Opens a source. `now` (microseconds) decides whether the file is quiet enough to be mapped.
    ///
    /// # Errors
    /// The file cannot be opened, or is no regular file any more.
    pub fn open(source: &Source, now: i64) -> io::Result<Self> {
        let file = open_regular(&source.path)?;
        let stat = FileStat::of(&file.metadata()?);
        let decoder = match source.kind {
            SourceKind::Lines | SourceKind::Document | SourceKind::ReplayedLines | SourceKind::Database => None,
            SourceKind::ZstdLines => Some(Decoder {
                stream: zstd::stream::read::Decoder::new(file.file().try_clone()?)?,
                position: 0,
                recent: Vec::new(),
            }),
        };
        Ok(Self { file, stat, now, decoder })
    }

    /// What the file system said when the source was opened.
    #[must_use]
    pub fn stat(&self) -> FileStat {
        self.stat
    }

    /// Asks the file system again.
    ///
    /// # Errors
    /// It does not answer.
    pub fn stat_again(&self) -> io::Result<FileStat> {
        Ok(FileStat::of(&self.file.metadata()?))
    }

    /// Whether nobody has written to the file for ten minutes: it is final for now, and may be mapped.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.now.saturating_sub(self.stat.mtime) >= QUIET
    }

    /// Up to `len` bytes from `start` on; fewer only at the end of the source. Reads of compressed sources must ascend.
    ///
    /// # Errors
    /// The file cannot be read, is no zstd, or a compressed source was asked to go far back.
    pub fn read(&mut self, start: u64, len: u64) -> io::Result<Bytes> {
        if let Some(decoder) = &mut self.decoder {
            return decoder.read(start, len).map(Bytes::Owned);
        }
        let len = len.min(self.stat.size.saturating_sub(start));
        if len >= MAP_FROM_BYTES
            && self.is_quiet()
            && let Ok(map) = map(&self.file, start, to_usize(len))
        {
            return Ok(Bytes::Mapped(map));
        }
        let mut bytes = vec![0; to_usize(len)];
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.file.file().read_at(rest, start + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        bytes.truncate(filled);
        Ok(Bytes::Owned(bytes))
    }
}

impl Decoder {
    fn read(&mut self, start: u64, len: u64) -> io::Result<Vec<u8>> {
        while self.position < start {
            let step = (start - self.position).min(1 << 20);
            if self.pull(step)?.is_empty() {
                return Ok(Vec::new());
            }
        }
        let back = to_usize(self.position - start);
        let Some(kept) = self.recent.len().checked_sub(back).and_then(|at| self.recent.get(at..)) else {
            return Err(io::Error::other("a compressed source was read backwards"));
        };
        let mut bytes = kept.to_vec();
        if bytes.len() as u64 > len {
            bytes.truncate(to_usize(len));
            return Ok(bytes);
        }
        let more = self.pull(len - bytes.len() as u64)?;
        bytes.extend_from_slice(&more);
        Ok(bytes)
    }

    /// Decodes up to `len` more bytes.
    fn pull(&mut self, len: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        Read::by_ref(&mut self.stream).take(len).read_to_end(&mut bytes)?;
        self.position += bytes.len() as u64;
        let fresh = bytes.get(bytes.len().saturating_sub(RECENT_BYTES)..).unwrap_or_default();
        self.recent.extend_from_slice(fresh);
        let surplus = self.recent.len().saturating_sub(RECENT_BYTES);
        self.recent.drain(..surplus);
        Ok(bytes)
    }
}

/// Opens a file without ever waiting for a writer (a FIFO would block for ever) and makes sure that it is a file.
fn open_regular(path: &Path) -> io::Result<fs_err::File> {
    use fs_err::os::unix::fs::OpenOptionsExt as _;
    let non_blocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = fs_err::OpenOptions::new().read(true).custom_flags(non_blocking).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no regular file")) }
}

fn to_usize(len: u64) -> usize {
    usize::try_from(len).unwrap_or(usize::MAX)
}
