//! What every adapter owes, whatever it reads: one macro runs the same tests for each, over its fixtures.
//!
//! A contract that saw no session, no record or no pair of a call and its result fails: it would prove nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use agentlake::adapters::{self, SourceAdapter};
use agentlake::model::Rows;
use agentlake::model::tables::TableColumns as _;
use agentlake::source::{Checkpoint, ReadLimits, Roots, Source};
use arrow::array::{Array as _, AsArray as _};
use arrow::datatypes::{Int64Type, TimestampMicrosecondType};

use crate::fixtures::{folders, root, sources_below, steps};
use crate::fuzz::{Random, fuzz};
use crate::home::{Home, age};

macro_rules! contract {
    ($($slug:ident)+) => {
        /// Providers with a contract.
        const SLUGS: &[&str] = &[$(stringify!($slug)),+];

        $(mod $slug {
            #[test]
            fn has_a_slug_that_its_sources_carry() {
                super::has_a_slug_that_its_sources_carry(stringify!($slug));
            }

            #[test]
            fn reads_sessions_records_and_tool_pairs_in_order() {
                super::reads_sessions_records_and_tool_pairs_in_order(stringify!($slug));
            }

            #[test]
            fn gives_nothing_new_when_nothing_is_new() {
                super::gives_nothing_new_when_nothing_is_new(stringify!($slug));
            }

            #[test]
            fn gives_the_same_views_however_files_grow() {
                super::gives_the_same_views_however_files_grow(stringify!($slug));
            }

            #[test]
            fn survives_hostile_bytes() {
                super::survives_hostile_bytes(stringify!($slug));
            }
        })+
    };
}

contract! { claude codex copilot gemini openclaw pi qwen cline roo kilo }

#[test]
fn every_adapter_has_a_contract() {
    let all: Vec<&str> = adapters::all().iter().map(|adapter| adapter.info().slug).collect();
    assert_eq!(all, SLUGS);
}

fn adapter(slug: &str) -> &'static dyn SourceAdapter {
    adapters::by_slug(slug).unwrap()
}

/// Every source in the fixtures of a provider.
fn sources(slug: &str) -> Vec<Source> {
    let homes = folders(&root().join(slug)).into_iter().flat_map(|case| steps(&case));
    homes.flat_map(|home| adapter(slug).enumerate(&Roots::at_home(&home)).sources).collect()
}

/// Reads a source to its end, as one that nobody writes to any more.
fn read(
    slug: &str,
    source: &Source,
    before: Option<Checkpoint>,
    mut each: impl FnMut(&mut Rows),
) -> Option<Checkpoint> {
    let now = source.stat.mtime + 86_400_000_000;
    let limits = ReadLimits { slice_bytes: 4096, max_line_bytes: 1 << 20, now };
    let mut checkpoint = before;
    loop {
        let mut rows = Rows::new(adapter(slug).info().slug, false);
        let progress = adapter(slug).read(source, checkpoint.as_ref(), &limits, &mut rows).unwrap();
        each(&mut rows);
        checkpoint = progress.checkpoint;
        if !progress.more {
            return checkpoint;
        }
    }
}

fn has_a_slug_that_its_sources_carry(slug: &str) {
    let info = adapter(slug).info();
    assert_eq!(info.slug, slug);
    assert!(slug.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte)));
    assert!(slug.bytes().any(|byte| byte.is_ascii_lowercase()));
    assert!(!info.name.is_empty() && !info.numbers.is_empty());
    let found = sources(slug);
    assert!(!found.is_empty());
    assert!(found.iter().all(|source| source.provider == slug));
    let nowhere = adapter(slug).enumerate(&Roots::at_home(Path::new("/nowhere/at/all")));
    assert!(nowhere.sources.is_empty() && nowhere.problems.is_empty(), "a tool that is not installed is no problem");
    let restates = found.iter().any(|source| source.kind.is_restated());
    assert!(info.restates || !restates, "an adapter of documents says that it restates");
}

fn reads_sessions_records_and_tool_pairs_in_order(slug: &str) {
    let (mut sessions, mut messages) = (BTreeSet::new(), 0);
    let (mut calls, mut results) = (BTreeSet::new(), BTreeSet::new());
    for source in sources(slug) {
        let mut last: BTreeMap<String, i64> = BTreeMap::new();
        read(slug, &source, None, |rows| {
            sessions.extend(rows.sessions.keys().cloned());
            for placed in &rows.claims {
                let counters = placed.claim.counters.to_array();
                assert!(
                    counters.iter().flatten().all(|&counter| counter >= 0),
                    "{}: {counters:?}",
                    source.path.display()
                );
            }
            let columns = rows.messages.finish();
            let session = columns[2].as_string::<i32>();
            let (seq, ts) =
                (columns[3].as_primitive::<Int64Type>(), columns[4].as_primitive::<TimestampMicrosecondType>());
            for row in 0..session.len() {
                let before = last.insert(session.value(row).to_owned(), seq.value(row));
                assert!(before.is_none_or(|before| before <= seq.value(row)), "{}: seq falls", source.path.display());
                assert!((0..7_258_118_400_000_000).contains(&ts.value(row)), "{}: a time", source.path.display());
            }
            messages += session.len();
            let id = |columns: &[arrow::array::ArrayRef]| -> Vec<String> {
                columns[5].as_string::<i32>().iter().flatten().map(str::to_owned).collect()
            };
            calls.extend(id(&rows.tool_calls.finish()));
            results.extend(id(&rows.tool_results.finish()));
        });
    }
    assert!(!sessions.is_empty() && messages > 0, "the fixtures of {slug} hold no session or no record");
    assert!(
        calls.intersection(&results).next().is_some(),
        "the fixtures of {slug} hold no pair of a call and its result"
    );
}

fn gives_nothing_new_when_nothing_is_new(slug: &str) {
    for source in sources(slug) {
        let checkpoint = read(slug, &source, None, |_| ());
        read(slug, &source, checkpoint, |rows| {
            let counts = (rows.messages.len(), rows.tool_calls.len(), rows.tool_results.len(), rows.claims.len());
            assert_eq!(counts, (0, 0, 0, 0), "{}", source.path.display());
            assert_eq!(rows.issues.len(), 0, "{}", source.path.display());
        });
    }
}

/// Each case grows in three runs, every file cut at other places, and gives what one run over the whole files gives.
fn gives_the_same_views_however_files_grow(slug: &str) {
    let cases = folders(&root().join(slug));
    let single = cases.iter().filter(|case| case.join("home").is_dir());
    for case in single.take(4) {
        let source = case.join("home");
        let (grown, whole) = (Home::new(), Home::new());
        let files = crate::home::copy_over(&source, &whole.home());
        files.iter().for_each(|file| age(file));
        whole.export();
        let growing = sources_below(&whole.home());
        for run in 1..=3 {
            for (at, file) in files.iter().enumerate() {
                let below = file.strip_prefix(whole.home()).unwrap().to_str().unwrap().to_owned();
                let bytes = fs_err::read(file).unwrap();
                let is_whole = run == 3 || below.ends_with(".zst") || !growing.contains(&below);
                let len = if is_whole { bytes.len() } else { bytes.len() * (run + at % 2) / 4 };
                let written = grown.write(&below, &bytes[..len]);
                if run == 3 {
                    age(&written);
                }
            }
            grown.export();
        }
        let rows = grown.rows().without_home(&grown.home());
        rows.assert_same_views(&whole.rows().without_home(&whole.home()), &case.display().to_string());
    }
}

fn survives_hostile_bytes(slug: &str) {
    fuzz(slug, &mut Random::new(20_261_130), |reads| reads < 200);
    // A file of noise is told, unless it may still be written to.
    let sample = sources(slug).remove(0);
    let home = tempfile::tempdir().unwrap();
    let below = sample.path.iter().skip_while(|part| *part != "home").skip(1).collect::<std::path::PathBuf>();
    let path = home.path().join(below);
    fs_err::create_dir_all(path.parent().unwrap()).unwrap();
    fs_err::write(&path, b"\0\xff{{{ noise\n[1,2\n").unwrap();
    let source = adapter(slug).enumerate(&Roots::at_home(home.path())).sources.remove(0);
    let mut issues = 0;
    read(slug, &source, None, |rows| issues += rows.issues.len());
    assert!(issues > 0, "{slug} says nothing of a file of noise");
}
