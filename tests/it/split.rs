//! Promise 3 as a property: however session files are cut into runs, in whatever order they appear and however large a
//! wave is, the views are those of one run over the whole files.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use proptest::prelude::*;

use crate::fixtures::{folders, root, sources_below, steps};
use crate::home::{Home, age};
use crate::lake_rows::LakeRows;
use crate::rollout::Rollout;
use crate::transcript::Transcript;

/// Files of a home: path below it and content.
type Files = Vec<(String, Vec<u8>)>;

/// A named set of files, and those of them that are cut up: notes beside sessions are written at once.
type Corpus = (String, Files, HashSet<String>);

/// Everything that is cut up.
fn corpora() -> &'static Vec<Corpus> {
    static CORPORA: OnceLock<Vec<Corpus>> = OnceLock::new();
    CORPORA.get_or_init(|| {
        let files = hand_made();
        let all = files.iter().map(|(path, _)| path.clone()).collect();
        let mut corpora = vec![("hand-made".to_owned(), files, all)];
        for case in folders(&root()).iter().flat_map(|provider| folders(provider)) {
            let homes = steps(&case);
            let [home] = homes.as_slice() else { continue };
            let mut files = Vec::new();
            collect(home, home, &mut files);
            // A compressed file is written as a whole; it cannot be cut.
            if files.iter().all(|(path, _)| !path.ends_with(".zst")) {
                let name = case.strip_prefix(root()).unwrap().display().to_string();
                corpora.push((name, files, sources_below(home)));
            }
        }
        corpora
    })
}

fn collect(home: &Path, folder: &Path, files: &mut Files) {
    let mut entries: Vec<PathBuf> = fs_err::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(home, &path, files);
        } else {
            files.push((path.strip_prefix(home).unwrap().display().to_string(), fs_err::read(&path).unwrap()));
        }
    }
}

/// Sessions of both tools: responses of several lines, tools, a fork that repeats its original, a second original.
fn hand_made() -> Files {
    let mut original = Transcript::new(1);
    original.turns(4).tool(70).tool(80).turns(2);
    let mut fork = original.fork(2);
    fork.turns(3).tool(33);
    original.tool(44).turns(5);
    let files = [
        (original.path(), original.text()),
        (fork.path(), fork.text()),
        (Transcript::new(3).path(), Transcript::with_turns(3, 9).text()),
        (Rollout::new(1).path(), Rollout::with_turns(1, 6).text()),
        (Rollout::new(2).path(), Rollout::with_turns(2, 3).text()),
    ];
    files.into_iter().map(|(path, text)| (path, text.into_bytes())).collect()
}

/// The lake of one run over whole files. `source_path` names the home, so it is taken out.
fn at_once(corpus: usize) -> &'static LakeRows {
    static LAKES: OnceLock<Vec<OnceLock<LakeRows>>> = OnceLock::new();
    let lakes = LAKES.get_or_init(|| corpora().iter().map(|_| OnceLock::new()).collect());
    lakes[corpus].get_or_init(|| {
        let home = Home::new();
        for (path, bytes) in &corpora()[corpus].1 {
            home.write_old(path, bytes);
        }
        home.export();
        home.rows().without_home(&home.home())
    })
}

/// How one corpus is cut: for each file where, in which run it grows to there; and the size of waves.
#[derive(Debug, Clone)]
struct Cuts {
    corpus: usize,
    runs: usize,
    /// For file `n` and run `m`, which share of the file is there: a missing file has none.
    shares: Vec<u16>,
    wave_bytes: u32,
    last_is_old: bool,
}

fn cuts() -> impl Strategy<Value = Cuts> {
    let shares = proptest::collection::vec(any::<u16>(), 64);
    (0..corpora().len() * 2, 2..=5_usize, shares, 1..40_000_u32, any::<bool>()).prop_map(
        |(corpus, runs, shares, wave_bytes, last_is_old)| Cuts {
            // Half of the cases are the hand-made corpus, which is the largest.
            corpus: corpus.saturating_sub(corpora().len()),
            runs,
            shares,
            wave_bytes,
            last_is_old,
        },
    )
}

fn feed(cuts: &Cuts) -> Home {
    let home = Home::new();
    let files = &corpora()[cuts.corpus].1;
    let mut reached = vec![0; files.len()];
    for run in 1..=cuts.runs {
        for (at, (path, bytes)) in files.iter().enumerate() {
            let share = usize::from(cuts.shares[(at * 5 + run) % cuts.shares.len()]);
            // A quarter of the draws leaves the file as it is.
            let wanted = if share % 4 == 0 { 0 } else { bytes.len() * share / usize::from(u16::MAX) };
            let is_note = !corpora()[cuts.corpus].2.contains(path);
            let len = if run == cuts.runs || is_note { bytes.len() } else { wanted.max(reached[at]) };
            if len > reached[at] || run == cuts.runs {
                let file = home.write(path, &bytes[..len]);
                if run == cuts.runs && cuts.last_is_old {
                    age(&file);
                }
                reached[at] = len;
            }
        }
        let run = home.export_with(&["--wave-bytes", &cuts.wave_bytes.to_string()]);
        assert!(matches!(run.code, Some(0 | 1)), "{run:?}");
    }
    if !cuts.last_is_old {
        for (path, _) in files {
            age(&home.path(path));
        }
        home.export();
    }
    home
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, max_shrink_iters: 60, ..ProptestConfig::default() })]

    #[test]
    fn any_split_into_runs_gives_the_same_views(cuts in cuts()) {
        let home = feed(&cuts);
        let rows = home.rows().without_home(&home.home());
        rows.assert_same_views(at_once(cuts.corpus), &format!("{} in {} runs", corpora()[cuts.corpus].0, cuts.runs));
    }
}

/// Cases of the property; `AGENTLAKE_SPLIT_CASES` asks for more.
fn cases() -> u32 {
    std::env::var("AGENTLAKE_SPLIT_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(40)
}
