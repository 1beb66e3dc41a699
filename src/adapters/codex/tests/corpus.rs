//! Real session files, where `AGENTLAKE_CORPUS` names a folder of them: the totals of `home`, the snapshots of growing
//! files in `growth`, and what other tools keep as test inputs in `fixtures`.

use std::path::PathBuf;

use super::{Codex, Read, limits, read_grown, read_source, sources_at_home, sources_below};
use crate::adapters::SourceAdapter;
use crate::model::Rows;

fn corpus() -> Option<PathBuf> {
    let corpus = std::env::var_os("AGENTLAKE_CORPUS").map(PathBuf::from);
    if corpus.is_none() {
        println!("AGENTLAKE_CORPUS is not set: real files were not read");
    }
    corpus
}

#[test]
fn home_has_its_known_totals() {
    let Some(corpus) = corpus() else { return };
    let mut all = Read::default();
    for source in sources_at_home(&corpus.join("home")) {
        let mut rows = Rows::new("codex", false);
        Codex.read(&source, None, &limits(1 << 30), &mut rows).unwrap();
        all.absorb(rows);
    }
    let (requests, sum) = all.counted();
    assert_eq!(requests, 765);
    assert_eq!(sum.input, Some(3_734_809));
    assert_eq!(sum.output, Some(282_350));
    assert_eq!(sum.cache_read, Some(61_549_184));
    assert_eq!(sum.cache_write_5m.unwrap_or(0), 0);
    assert!(all.issues.is_empty(), "{:?}", all.issues);
    assert!(all.messages.len() > 3000 && all.tool_calls.len() > 1000 && all.tool_results.len() > 1000);
}

#[test]
fn snapshots_give_what_the_last_one_gives() {
    let Some(corpus) = corpus() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut series = 0;
    for entry in fs_err::read_dir(corpus.join("growth/codex")).unwrap() {
        let mut snapshots: Vec<PathBuf> =
            fs_err::read_dir(entry.unwrap().path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        snapshots.sort();
        let last = fs_err::read(snapshots.last().unwrap()).unwrap();
        let mut cuts: Vec<usize> = snapshots.iter().map(|path| fs_err::read(path).unwrap().len()).collect();
        cuts.pop();
        let path = folder.path().join("grown.jsonl");
        let whole = read_grown(&path, &last, &[]);
        assert!(!whole.claims.is_empty());
        assert_eq!(read_grown(&path, &last, &cuts), whole);
        for cut in (0..last.len()).step_by(last.len() / 7 + 1) {
            assert_eq!(read_grown(&path, &last, &[cut, cut + (last.len() - cut) / 2]), whole, "cut at {cut}");
        }
        series += 1;
    }
    assert!(series > 0);
}

#[test]
fn fixtures_of_other_tools_are_read_with_few_unknowns() {
    let Some(corpus) = corpus() else { return };
    let sources = sources_below(&corpus.join("fixtures/codex"));
    assert!(!sources.is_empty());
    for source in sources {
        let read = read_source(&source, 1 << 20);
        let (requests, sum) = read.counted();
        println!("{}: {} messages, {requests} requests, {sum:?}", source.path.display(), read.messages.len());
        for issue in &read.issues {
            println!("    {}: {:.90}", issue["kind"], issue["detail"]);
        }
        assert!(!read.messages.is_empty(), "{}", source.path.display());
    }
}
