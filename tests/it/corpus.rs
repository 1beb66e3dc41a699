//! Promise 3 on real sessions: the folder that `AGENTLAKE_CORPUS` names, which holds `home/` and
//! `growth/<provider>/<session>/NN.jsonl` (snapshots of one growing file). Without the variable nothing is run.

use std::path::{Path, PathBuf};

use crate::fixtures::folders;
use crate::home::{Home, age, copy_over};

fn corpus() -> Option<PathBuf> {
    let corpus = std::env::var_os("AGENTLAKE_CORPUS").map(PathBuf::from);
    if corpus.is_none() {
        eprintln!("skipped: AGENTLAKE_CORPUS names no folder of real sessions");
    }
    corpus
}

/// Where a session of a series stands below the home directory.
fn path_of(provider: &str, session: &str) -> String {
    match provider {
        "claude" => format!(".claude/projects/-series/{session}.jsonl"),
        "codex" => format!(".codex/sessions/2026/01/01/rollout-2026-01-01T00-00-00-{session}.jsonl"),
        other => panic!("no place is known for sessions of {other}"),
    }
}

fn snapshots(series: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs_err::read_dir(series).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn each_series_gives_the_views_of_its_last_snapshot() {
    let Some(corpus) = corpus() else { return };
    let mut series_seen = 0;
    for provider in folders(&corpus.join("growth")) {
        let slug = provider.file_name().unwrap().to_str().unwrap().to_owned();
        for series in folders(&provider) {
            let session = series.file_name().unwrap().to_str().unwrap().to_owned();
            let home = Home::new();
            let path = path_of(&slug, &session);
            for snapshot in snapshots(&series) {
                home.write(&path, fs_err::read(snapshot).unwrap());
                home.export();
            }
            age(&home.path(&path));
            home.export();
            home.export_into("at-once");
            let rows = home.rows();
            assert!(!rows.table("messages").is_empty(), "{slug}/{session} gives no message");
            rows.assert_same_views(&home.rows_of("at-once"), &format!("{slug}/{session}"));
            series_seen += 1;
        }
    }
    assert!(series_seen > 0, "the corpus holds no series");
}

#[test]
fn the_home_sample_gives_the_same_views_in_three_runs_and_in_one() {
    let Some(corpus) = corpus() else { return };
    let home = Home::new();
    let files = copy_over(&corpus.join("home"), &home.home());
    let lines: Vec<(PathBuf, Vec<u8>)> = files
        .into_iter()
        .filter(|file| file.extension().is_some_and(|extension| extension == "jsonl"))
        .map(|file| (file.clone(), fs_err::read(file).unwrap()))
        .collect();
    for part in 1..=3 {
        for (at, (file, bytes)) in lines.iter().enumerate() {
            // Another cut in every file; some appear in the second run only.
            let len = if part == 3 { bytes.len() } else { bytes.len() * (at % 7) * part / 14 };
            if len == 0 {
                let _ = fs_err::remove_file(file);
            } else {
                fs_err::write(file, &bytes[..len]).unwrap();
            }
            if part == 3 {
                age(file);
            }
        }
        home.export_with(&["--wave-bytes", "8M"]);
    }
    home.export_into("at-once");
    home.rows().assert_same_views(&home.rows_of("at-once"), "home");
    assert_eq!(home.export().expect_code(0).summary()["batches"], 0);
}
