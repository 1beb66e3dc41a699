//! Mutated session files through every adapter, on the stable compiler: no panic, offsets inside the file, no negative
//! claim, and a read that resumes at the end gives nothing. `fuzz/` has the same for a coverage-guided fuzzer.
//!
//! A short fixed sequence is part of each adapter's contract; `fuzz_for_a_minute` goes on for `AGENTLAKE_FUZZ_SECONDS` (60).

use std::fmt::{self, Debug, Formatter};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use agentlake::adapters::{self, SourceAdapter};
use agentlake::model::Rows;
use agentlake::source::{ReadLimits, Roots, Source, SourceKind};

use crate::fixtures;

/// xorshift64*: enough to mutate bytes, and a failure can be repeated from its seed.
pub struct Random {
    seed: u64,
    state: u64,
}

impl Debug for Random {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "seed {}", self.seed)
    }
}

impl Random {
    pub fn new(seed: u64) -> Self {
        Self { seed, state: seed | 1 }
    }

    /// Seeded by an environment variable, else by the clock.
    pub fn seeded(variable: &str) -> Self {
        let given = std::env::var(variable).ok().and_then(|seed| seed.parse().ok());
        let clock = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64;
        Self::new(given.unwrap_or_else(clock))
    }

    pub fn next(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`; 0 where there is none.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 11) as usize % bound.max(1)
    }

    /// A number from 0 to 1.
    pub fn share(&mut self) -> f64 {
        self.below(1 << 20) as f64 / f64::from(1 << 20)
    }
}

/// Pieces that have broken parsers before.
const PIECES: [&[u8]; 20] = [
    b"\n",
    b"\r\n",
    b"\0\0\0\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\\ud83d",
    b"\"",
    b"{",
    b"}",
    b"[[[[[[[[",
    b"null",
    b"-1",
    b"1e999",
    b"123456789012345678901234567890",
    b"12.5",
    b"\"input_tokens\":",
    b"\"output_tokens\":9",
    b"{}",
    b"true",
    b"\"timestamp\":\"9999-99-99T99:99:99Z\"",
];

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(6) {
        let at = random.below(bytes.len() + 1);
        let end = (at + 1 + random.below(40)).min(bytes.len());
        match random.below(8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            1 => drop(bytes.splice(at..at, PIECES[random.below(PIECES.len())].iter().copied())),
            2 => drop(bytes.drain(at.min(end)..end)),
            3 => bytes.truncate(at),
            4 => {
                let copy = bytes[at.min(end)..end].to_vec();
                let to = random.below(bytes.len() + 1);
                drop(bytes.splice(to..to, copy));
            }
            5 => drop(bytes.splice(at.min(end)..end, PIECES[random.below(PIECES.len())].iter().copied())),
            6 => swap_lines(bytes, random),
            _ => {
                // Another digit where a number is: counters that fall, times that run back.
                let digits: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at].is_ascii_digit()).collect();
                if let Some(&at) = digits.get(random.below(digits.len())) {
                    bytes[at] = b'0' + random.below(10) as u8;
                }
            }
        }
    }
}

/// Copies one line before another.
fn swap_lines(bytes: &mut Vec<u8>, random: &mut Random) {
    let starts: Vec<usize> =
        std::iter::once(0).chain((0..bytes.len()).filter(|&at| bytes[at] == b'\n').map(|at| at + 1)).collect();
    let (from, to) = (random.below(starts.len()), random.below(starts.len()));
    let end = starts.get(from + 1).copied().unwrap_or(bytes.len());
    let line = bytes[starts[from]..end].to_vec();
    drop(bytes.splice(starts[to]..starts[to], line));
}

/// A session file in the fixtures of a provider: its path below the home of its case, and its bytes.
pub type Sample = (PathBuf, Vec<u8>);

/// The files in the fixtures of a provider that its adapter reads, apart from compressed ones.
fn samples(adapter: &dyn SourceAdapter) -> Vec<Sample> {
    let mut found = Vec::new();
    for case in fixtures::folders(&fixtures::root().join(adapter.info().slug)) {
        for home in fixtures::steps(&case) {
            let sources = adapter.enumerate(&Roots::at_home(&home)).sources;
            let plain = sources.into_iter().filter(|source| source.kind != SourceKind::ZstdLines);
            found.extend(plain.map(|source| {
                let below = source.path.strip_prefix(&home).unwrap().to_owned();
                (below, fs_err::read(&source.path).unwrap())
            }));
        }
    }
    assert!(!found.is_empty(), "there are no fixtures of {}", adapter.info().slug);
    found.sort();
    found
}

/// The source at `path` below a home that holds nothing else.
fn source(adapter: &dyn SourceAdapter, home: &Path) -> Source {
    let mut sources = adapter.enumerate(&Roots::at_home(home)).sources;
    assert_eq!(sources.len(), 1, "one file is one source");
    sources.remove(0)
}

/// Reads bytes as a session file of a provider, in slices, and checks what must hold for any bytes.
fn read(adapter: &dyn SourceAdapter, home: &Path, path: &Path, bytes: &[u8], slice_bytes: u64, old: bool) {
    fs_err::write(path, bytes).unwrap();
    let source = source(adapter, home);
    let slug = adapter.info().slug;
    let now = source.stat.mtime + if old { 3_600_000_000 } else { 0 };
    let limits = ReadLimits { slice_bytes, max_line_bytes: 1 << 20, now };
    let mut checkpoint = None;
    loop {
        let mut rows = Rows::new(slug, true);
        let progress = adapter.read(&source, checkpoint.as_ref(), &limits, &mut rows).expect("bytes are no error");
        for placed in &rows.claims {
            let counters = placed.claim.counters.to_array();
            assert!(counters.iter().flatten().all(|counter| (0..=50_000_000_000).contains(counter)), "{counters:?}");
        }
        let Some(next) = progress.checkpoint else { return };
        assert!(next.offset <= bytes.len() as u64, "the offset is inside the file");
        assert!(
            !progress.more
                || checkpoint.as_ref().is_none_or(|before: &agentlake::source::Checkpoint| before.offset < next.offset),
            "a slice goes on"
        );
        checkpoint = Some(next);
        if !progress.more {
            break;
        }
    }
    let mut rows = Rows::new(slug, true);
    let again = adapter.read(&source, checkpoint.as_ref(), &limits, &mut rows).expect("bytes are no error");
    assert!(!again.reread, "an unchanged file is recognised");
    use agentlake::model::tables::TableColumns as _;
    assert_eq!((rows.messages.len(), rows.claims.len(), rows.issues.len()), (0, 0, 0), "nothing is new at the end");
}

/// Mutates and reads until `goes_on` says no; returns how often.
pub fn fuzz(slug: &str, random: &mut Random, mut goes_on: impl FnMut(u64) -> bool) -> u64 {
    let adapter = adapters::by_slug(slug).unwrap();
    let samples = samples(adapter);
    let mut reads = 0;
    while goes_on(reads) {
        let (below, bytes) = &samples[random.below(samples.len())];
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(below);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        let mut bytes = bytes.clone();
        mutate(&mut bytes, random);
        let (slice_bytes, old) = ([4096, 8192, 1 << 20][random.below(3)], random.below(2) == 0);
        let result = catch_unwind(AssertUnwindSafe(|| read(adapter, home.path(), &path, &bytes, slice_bytes, old)));
        if result.is_err() {
            let kept = std::env::temp_dir().join(format!("agentlake-fuzz-{slug}"));
            fs_err::write(&kept, &bytes).unwrap();
            panic!(
                "{slug}, {random:?}, read {reads}, {}, slices of {slice_bytes}, old: {old}: the input is {}",
                below.display(),
                kept.display()
            );
        }
        reads += 1;
    }
    reads
}

#[test]
#[ignore = "takes AGENTLAKE_FUZZ_SECONDS (60) for each provider"]
fn fuzz_for_a_minute() {
    let seconds = std::env::var("AGENTLAKE_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    for slug in adapters::all().iter().map(|adapter| adapter.info().slug) {
        let mut random = Random::seeded("AGENTLAKE_SEED");
        let end = Instant::now() + Duration::from_secs(seconds);
        let reads = fuzz(slug, &mut random, |_| Instant::now() < end);
        eprintln!("{slug}: {reads} mutated files in {seconds} s, {random:?}");
    }
}
