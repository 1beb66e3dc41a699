//! `export --rebuild`: the same lake from scratch, with the rows of sources that are gone; killed anywhere, a whole lake stands
//! there.

use std::collections::BTreeSet;

use agentlake::lake::{Layout, State};

use crate::damage::Sessions;
use crate::home::{Home, Run, run};
use crate::lake_rows::text;
use crate::transcript::Transcript;
use crate::verify::verify;

fn rebuild(home: &Home) -> Run {
    home.export_with(&["--rebuild"])
}

/// Everything beside the lake that is not the home.
fn beside(home: &Home) -> BTreeSet<String> {
    let entries = fs_err::read_dir(home.beside("")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_rebuilt_lake_has_the_same_views_and_keeps_vanished_rows() {
    let home = Home::new();
    let sessions = Sessions::export(&home);
    let before = home.rows();
    fs_err::write(home.lake().join("notes.txt"), "mine").unwrap();
    fs_err::create_dir_all(Layout::new(&home.lake()).quarantine().join("then")).unwrap();
    let summary = rebuild(&home).expect_code(0).summary();
    assert_eq!((&summary["vanished_rows"], &summary["vanished_sources"]), (&16.into(), &1.into()));
    let rows = home.rows();
    rows.assert_no_doubles();
    rows.assert_same_views(&before, "rebuilt");
    assert_eq!(rows.totals(), before.totals());
    let gone = home.path(&sessions.gone.path()).display().to_string();
    assert_eq!(rows.table("messages").iter().filter(|row| text(&row["source_path"]) == gone).count(), 10);
    assert_eq!(verify(&home, &["--against-sources"]).code, Some(0));
    assert_eq!(home.export().expect_code(0).summary()["batches"], 0);
    assert_eq!(beside(&home), BTreeSet::from(["home".to_owned(), "lake".to_owned()]));
    assert_eq!(
        fs_err::read_to_string(home.lake().join("notes.txt")).unwrap(),
        "mine",
        "what is not the lake's own stays"
    );
    assert!(Layout::new(&home.lake()).quarantine().join("then").is_dir());
}

#[test]
fn a_request_of_a_vanished_original_and_of_a_fork_counts_once() {
    let home = Home::new();
    let original = Transcript::with_turns(1, 3);
    let mut fork = original.fork(2);
    fork.turns(2);
    home.write_old(&original.path(), original.text());
    home.export().expect_code(0);
    home.write_old(&fork.path(), fork.text());
    home.export().expect_code(0);
    fs_err::remove_file(home.path(&original.path())).unwrap();
    let before = home.rows();
    rebuild(&home).expect_code(0);
    home.rows().assert_no_doubles();
    home.rows().assert_same_views(&before, "rebuilt");
    assert_eq!(home.rows().totals(), before.totals());
    assert_eq!(home.rows().totals()["requests"], 5);
    // The original comes back: nothing is new.
    home.write_old(&original.path(), original.text());
    home.export().expect_code(0);
    assert_eq!(home.rows().totals(), before.totals());
}

#[test]
fn rows_that_a_rewritten_source_lost_are_carried_over() {
    let home = Home::new();
    let claude = Transcript::with_turns(1, 4);
    home.write(&claude.path(), claude.text());
    home.export().expect_code(0);
    let text = claude.text();
    let third: usize = text.lines().take(4).map(|line| line.len() + 1).sum();
    home.write(&claude.path(), &text[..third]);
    home.export().expect_code(0);
    let before = home.rows();
    rebuild(&home).expect_code(0);
    home.rows().assert_no_doubles();
    home.rows().assert_same_views(&before, "rebuilt");
    assert_eq!(home.rows().issues(), before.issues());
    home.write(&claude.path(), &text);
    home.export().expect_code(0);
    home.rows().assert_no_doubles();
    home.rows().assert_same_views(&before, "whole again");
}

#[test]
fn a_provider_that_is_not_asked_for_keeps_its_rows() {
    let home = Home::new();
    let mut sessions = Sessions::export(&home);
    let before = home.rows();
    home.export_with(&["--rebuild", "--provider", "codex"]).expect_code(0);
    home.rows().assert_same_views(&before, "only codex was read again");
    sessions.claude[0].turns(1);
    sessions.write(&home);
    assert_eq!(home.export().expect_code(0).summary()["rows"]["messages"], 2, "claude goes on where it was");
}

#[test]
fn killed_anywhere_a_whole_lake_stands_there() {
    for place in [
        "carried",
        "handed_over",
        "written:2",
        "staged",
        "committed",
        "renamed:2",
        "published",
        "whole",
        "swapped",
        "cleared",
    ] {
        let home = Home::new();
        Sessions::export(&home);
        let before = home.rows();
        let old_id = State::open_read_only(&Layout::new(&home.lake())).unwrap().lake_id().to_owned();
        let mut command = home.export_command(&home.lake(), &["--rebuild"]);
        let killed = run(command.env("AGENTLAKE_CRASH_AT", place));
        assert_eq!(killed.signal, Some(9), "{place}: {killed:?}");
        home.rows().assert_same_views(&before, place);
        let id = State::open_read_only(&Layout::new(&home.lake())).unwrap().lake_id().to_owned();
        assert_eq!(
            id == old_id,
            !["swapped", "cleared"].contains(&place),
            "{place}: old until the swap, new from there on"
        );
        assert_eq!(verify(&home, &[]).code, Some(0), "{place}");
        home.export().expect_code(0);
        assert_eq!(
            beside(&home),
            BTreeSet::from(["home".to_owned(), "lake".to_owned()]),
            "{place}: nothing is left over"
        );
        rebuild(&home).expect_code(0);
        home.rows().assert_same_views(&before, place);
        assert_eq!(home.rows().totals(), before.totals(), "{place}");
    }
}

#[test]
fn a_lake_that_is_not_sound_is_repaired_first() {
    let home = Home::new();
    Sessions::export(&home);
    let part = crate::damage::part(&home.lake());
    fs_err::remove_file(&part).unwrap();
    let refused = rebuild(&home).expect_code(2);
    assert!(refused.stderr.contains("agentlake repair"), "{refused:?}");
    assert!(!part.exists() && beside(&home).len() == 2, "nothing was done");
}

#[test]
fn somebody_elses_folder_beside_the_lake_is_left_alone() {
    let home = Home::new();
    Sessions::export(&home);
    let other = home.beside("lake.rebuild");
    fs_err::create_dir(&other).unwrap();
    fs_err::write(other.join("thesis.txt"), "years of work").unwrap();
    let refused = rebuild(&home).expect_code(2);
    assert!(refused.stderr.contains("in the way"), "{refused:?}");
    assert!(other.join("thesis.txt").exists());
}

#[test]
fn without_a_lake_it_is_an_export() {
    let home = Home::new();
    home.write_old(&Transcript::new(1).path(), Transcript::with_turns(1, 2).text());
    assert_eq!(rebuild(&home).expect_code(0).summary()["requests_added"], 2);
}
