//! Reads any bytes as a session file of one provider and checks what must hold for all of them. Both fuzz targets are this,
//! with another adapter.

use std::path::PathBuf;

use agentlake::adapters;
use agentlake::model::Rows;
use agentlake::source::{FileStat, ReadLimits, Source, SourceKind};

/// The largest counter that an adapter may claim.
const MAX_COUNTER: i64 = 10_000_000_000;

/// A temporary file that takes the fuzzer's bytes.
pub struct Target {
    provider: &'static str,
    folder: tempfile::TempDir,
}

impl Target {
    /// A target for the adapter of `provider`.
    ///
    /// # Panics
    /// There is no place for temporary files.
    #[must_use]
    pub fn new(provider: &'static str) -> Self {
        Self { provider, folder: tempfile::tempdir().expect("a temporary folder") }
    }

    /// Reads `bytes` in slices, then once more from the end.
    ///
    /// # Panics
    /// Something does not hold that must: that is what the fuzzer looks for.
    pub fn read(&self, bytes: &[u8]) {
        let path: PathBuf = self.folder.path().join("11111111-1111-4111-8111-111111111111.jsonl");
        fs_err::write(&path, bytes).expect("the file can be written");
        let stat = FileStat::of(&fs_err::metadata(&path).expect("the file is there"));
        let adapter = adapters::by_slug(self.provider).expect("the provider exists");
        let family = self.folder.path().to_owned();
        let source = Source { provider: self.provider, path, kind: SourceKind::Lines, stat, family };
        // Even lengths are read as files that may still grow, odd ones as files that nobody has touched for an hour.
        let age = if bytes.len() % 2 == 0 { 0 } else { 3_600_000_000 };
        let limits = ReadLimits { slice_bytes: 4096, max_line_bytes: 1 << 20, now: stat.mtime + age };
        let mut checkpoint = None;
        loop {
            let mut rows = Rows::new(self.provider, true);
            let progress = adapter.read(&source, checkpoint.as_ref(), &limits, &mut rows).expect("bytes are no error");
            for placed in &rows.claims {
                let counters = placed.claim.counters.to_array();
                assert!(counters.iter().flatten().all(|counter| (0..=MAX_COUNTER).contains(counter)), "{counters:?}");
            }
            let Some(next) = progress.checkpoint else { return };
            assert!(next.offset <= bytes.len() as u64, "the offset is inside the file");
            checkpoint = Some(next);
            if !progress.more {
                break;
            }
        }
        let mut rows = Rows::new(self.provider, true);
        let again = adapter.read(&source, checkpoint.as_ref(), &limits, &mut rows).expect("bytes are no error");
        assert!(!again.reread, "an unchanged file is recognised");
        assert!(rows.claims.is_empty(), "nothing is new at the end of a file");
    }
}
