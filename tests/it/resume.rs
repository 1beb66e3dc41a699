//! Files that do not merely grow: rewritten, truncated, moved, compressed, copied, linked, deleted. No row is lost, none
//! lands twice.

use std::collections::BTreeMap;

use crate::home::Home;
use crate::rollout::Rollout;
use crate::transcript::Transcript;

fn counts(pairs: &[(&str, usize)]) -> BTreeMap<String, usize> {
    pairs.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect()
}

#[test]
fn a_removed_line_keeps_its_row_and_is_told() {
    let home = Home::new();
    let claude = Transcript::with_turns(1, 4);
    home.write(&claude.path(), claude.text());
    home.export().expect_code(0);
    let before = home.rows();
    // The second answer goes, as tools do that tidy up behind themselves.
    let kept: String =
        claude.lines().iter().enumerate().filter(|(at, _)| *at != 3).map(|(_, line)| format!("{line}\n")).collect();
    home.write(&claude.path(), &kept);
    home.export().expect_code(0);
    let rows = home.rows();
    rows.assert_no_doubles();
    rows.assert_same_views(&before, "after a line was removed");
    assert_eq!(rows.issues(), counts(&[("removed_from_source", 1), ("rewritten", 1)]));
    // Growth after that is growth.
    let mut longer = claude.clone();
    longer.turns(1);
    home.append(&claude.path(), longer.lines()[8..].iter().map(|line| format!("{line}\n")).collect::<String>());
    home.export().expect_code(0);
    let rows = home.rows();
    assert_eq!((rows.totals()["requests"], rows.totals()["messages"], rows.totals()["issues"]), (5, 10, 2));
}

#[test]
fn a_rewritten_file_in_small_slices_gives_no_double() {
    let home = Home::new();
    let mut claude = Transcript::with_turns(1, 20);
    home.write(&claude.path(), claude.text());
    home.export().expect_code(0);
    claude.turns(10);
    let changed = claude.text().replacen("Prompt after 2 lines", "Prompt after two lines", 1);
    home.write(&claude.path(), changed);
    home.export_with(&["--wave-bytes", "4096"]).expect_code(0);
    let rows = home.rows();
    rows.assert_no_doubles();
    let totals = rows.totals();
    assert_eq!((totals["requests"], totals["output"], totals["messages"]), (30, 600, 60));
    assert_eq!(rows.issues()["rewritten"], 1);
}

#[test]
fn a_truncated_file_keeps_its_rows_and_grows_again() {
    let home = Home::new();
    let claude = Transcript::with_turns(1, 6);
    let text = claude.text();
    home.write(&claude.path(), &text);
    home.export().expect_code(0);
    let before = home.rows();
    let third = text.lines().take(4).map(|line| line.len() + 1).sum::<usize>();
    home.write(&claude.path(), &text[..third]);
    home.export().expect_code(0);
    let rows = home.rows();
    rows.assert_same_views(&before, "after truncation");
    assert_eq!(rows.issues(), counts(&[("removed_from_source", 8), ("rewritten", 1)]));
    home.write(&claude.path(), &text);
    home.export().expect_code(0);
    let rows = home.rows();
    rows.assert_no_doubles();
    rows.assert_same_views(&before, "after it was whole again");
}

#[test]
fn a_file_truncated_to_nothing_keeps_its_rows() {
    let home = Home::new();
    let claude = Transcript::with_turns(1, 3);
    home.write(&claude.path(), claude.text());
    home.export().expect_code(0);
    let before = home.rows();
    home.write(&claude.path(), "");
    home.export().expect_code(0);
    home.export().expect_code(0);
    home.rows().assert_same_views(&before, "after it was emptied");
    home.write(&claude.path(), claude.text());
    home.export().expect_code(0);
    home.rows().assert_no_doubles();
    home.rows().assert_same_views(&before, "after it came back");
}

#[test]
fn a_moved_file_goes_on_where_it_was() {
    let home = Home::new();
    let mut claude = Transcript::with_turns(1, 3);
    home.write(&claude.path(), claude.text());
    home.export().expect_code(0);
    let moved = claude.path().replace("-w-app", "-w-renamed");
    fs_err::create_dir_all(home.path(&moved).parent().unwrap()).unwrap();
    fs_err::rename(home.path(&claude.path()), home.path(&moved)).unwrap();
    let before = claude.text().len();
    claude.turns(1);
    home.append(&moved, &claude.text()[before..]);
    let summary = home.export().expect_code(0).summary();
    assert_eq!((&summary["requests_added"], &summary["rows"]["messages"]), (&1.into(), &2.into()));
    let rows = home.rows();
    rows.assert_no_doubles();
    assert_eq!((rows.totals()["requests"], rows.issues().len()), (4, 0));
}

#[test]
fn an_archived_and_a_compressed_rollout_go_on_where_they_were() {
    for compressed in [false, true] {
        let home = Home::new();
        let mut codex = Rollout::with_turns(1, 4);
        let path = home.write(&codex.path(), codex.text());
        home.export().expect_code(0);
        let before = home.rows();
        fs_err::remove_file(path).unwrap();
        codex.turn(55);
        if compressed {
            home.write_old(&format!("{}.zst", codex.path()), zstd::encode_all(codex.text().as_bytes(), 3).unwrap());
        } else {
            home.write_old(&codex.archived_path(), codex.text());
        }
        home.export().expect_code(0);
        let rows = home.rows();
        rows.assert_no_doubles();
        assert_eq!(rows.totals()["output"], before.totals()["output"] + 55, "compressed: {compressed}");
        assert_eq!(rows.totals()["messages"], before.totals()["messages"] + 4, "compressed: {compressed}");
        assert_eq!(rows.issues().len(), 0, "compressed: {compressed}");
    }
}

#[test]
fn a_session_in_two_roots_counts_once() {
    let home = Home::new();
    let mut claude = Transcript::with_turns(1, 3);
    home.write(&claude.path(), claude.text());
    home.write(&claude.path().replace(".claude", ".config/claude"), claude.text());
    home.export().expect_code(0);
    let rows = home.rows();
    rows.assert_no_doubles();
    assert_eq!((rows.totals()["requests"], rows.totals()["messages"], rows.totals()["output"]), (3, 6, 60));
    // A copy that turns up later adds only what the lake has not.
    claude.turns(1);
    let backup = home.beside("backup");
    fs_err::create_dir(&backup).unwrap();
    fs_err::write(backup.join("copy.jsonl"), claude.text()).unwrap();
    home.export_with(&["--source", &format!("claude={}", backup.display())]).expect_code(0);
    let rows = home.rows();
    rows.assert_no_doubles();
    assert_eq!((rows.totals()["requests"], rows.totals()["messages"]), (4, 8));
}

#[test]
fn a_vanished_file_keeps_its_rows_and_may_come_back() {
    let home = Home::new();
    let (mut gone, stays) = (Transcript::with_turns(1, 3), Transcript::with_turns(2, 1));
    home.write(&gone.path(), gone.text());
    home.write(&stays.path(), stays.text());
    home.export().expect_code(0);
    let before = home.rows();
    fs_err::remove_file(home.path(&gone.path())).unwrap();
    home.export().expect_code(0);
    before.assert_same_rows(&home.rows(), "after a file vanished");
    gone.turns(1);
    home.write(&gone.path(), gone.text());
    home.export().expect_code(0);
    let rows = home.rows();
    rows.assert_no_doubles();
    assert_eq!((rows.totals()["requests"], rows.issues().len()), (5, 0));
}

#[test]
fn another_session_under_an_old_name_is_read_from_its_start() {
    let home = Home::new();
    let (old, new) = (Transcript::with_turns(1, 3), Transcript::with_turns(2, 5));
    home.write(&old.path(), old.text());
    home.export().expect_code(0);
    fs_err::remove_file(home.path(&old.path())).unwrap();
    home.write(&old.path(), new.text());
    home.export().expect_code(0);
    let rows = home.rows();
    rows.assert_no_doubles();
    assert_eq!((rows.totals()["requests"], rows.totals()["messages"]), (8, 16));
    assert_eq!(rows.issues()["rewritten"], 1);
}

#[test]
fn links_to_a_file_are_the_file() {
    let home = Home::new();
    let mut claude = Transcript::with_turns(1, 3);
    let path = home.write(&claude.path(), claude.text());
    let (hard, soft) = (claude.path().replace("-w-app", "-hard"), claude.path().replace("-w-app", "-soft"));
    for link in [&hard, &soft] {
        fs_err::create_dir_all(home.path(link).parent().unwrap()).unwrap();
    }
    fs_err::hard_link(&path, home.path(&hard)).unwrap();
    fs_err::os::unix::fs::symlink(&path, home.path(&soft)).unwrap();
    let summary = home.export().expect_code(0).summary();
    assert_eq!(summary["sources"], 1);
    let before = claude.text().len();
    claude.turns(1);
    home.append(&hard, &claude.text()[before..]);
    home.export().expect_code(0);
    let rows = home.rows();
    rows.assert_no_doubles();
    assert_eq!((rows.totals()["requests"], rows.totals()["messages"], rows.totals()["issues"]), (4, 8, 0));
}

#[test]
fn a_fork_counts_what_is_its_own() {
    let home = Home::new();
    let mut original = Transcript::with_turns(1, 3);
    let mut fork = original.fork(2);
    fork.turns(2);
    original.turns(1);
    home.write(&original.path(), original.text());
    home.write(&fork.path(), fork.text());
    home.export().expect_code(0);
    let rows = home.rows();
    assert_eq!(rows.totals()["requests"], 3 + 2 + 1);
    assert_eq!(rows.totals()["messages"], 8 + 10);
}

#[test]
fn a_lake_whose_state_or_parts_were_touched_is_refused() {
    let home = Home::new();
    let mut claude = Transcript::with_turns(1, 2);
    home.write(&claude.path(), claude.text());
    home.export().expect_code(0);
    let grow = |claude: &mut Transcript| {
        claude.turns(1);
        home.write(&claude.path(), claude.text());
    };
    let usage = home.lake().join("usage");
    fs_err::write(usage.join("notes.parquet"), "x").unwrap();
    grow(&mut claude);
    let refused = home.export().expect_code(2);
    assert!(refused.stderr.contains("notes.parquet"), "{refused:?}");
    fs_err::remove_file(usage.join("notes.parquet")).unwrap();
    home.export().expect_code(0);

    let moved = home.beside("state");
    fs_err::rename(home.lake().join(".agentlake"), &moved).unwrap();
    grow(&mut claude);
    let refused = home.export().expect_code(2);
    assert!(refused.stderr.contains("state"), "{refused:?}");
    fs_err::remove_dir_all(home.lake().join(".agentlake")).unwrap();
    fs_err::rename(&moved, home.lake().join(".agentlake")).unwrap();
    home.export().expect_code(0);
    assert_eq!(home.rows().totals()["requests"], 4);
}
