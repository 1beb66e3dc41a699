//! A run reads what is new and nothing else: growth, torn lines, nothing at all.

use crate::home::{Home, age};
use crate::rollout::Rollout;
use crate::transcript::Transcript;

#[test]
fn a_second_run_adds_no_row() {
    let home = Home::new();
    let (claude, codex) = (Transcript::with_turns(1, 5), Rollout::with_turns(1, 5));
    home.write_old(&claude.path(), claude.text());
    home.write(&codex.path(), codex.text());
    let first = home.export().expect_code(0).summary();
    assert_eq!(
        (&first["sources"], &first["sources_changed"], &first["requests_added"]),
        (&2.into(), &2.into(), &10.into())
    );
    let before = home.rows();
    assert_eq!(before.totals()["output"], 5 * 20 + 5 * 30);
    for _ in 0..2 {
        let again = home.export().expect_code(0).summary();
        assert_eq!((&again["batches"], &again["rows"]), (&0.into(), &serde_json::json!({})));
    }
    before.assert_same_rows(&home.rows(), "after two more runs");
}

#[test]
fn an_unchanged_old_file_is_not_opened() {
    let home = Home::new();
    let claude = Transcript::with_turns(1, 2);
    home.write_old(&claude.path(), claude.text());
    home.export().expect_code(0);
    assert_eq!(home.export().expect_code(0).summary()["sources_changed"], 0);
}

#[test]
fn appended_lines_are_added_and_nothing_else() {
    let home = Home::new();
    let (mut claude, mut codex) = (Transcript::with_turns(1, 3), Rollout::with_turns(1, 3));
    home.write(&claude.path(), claude.text());
    home.write(&codex.path(), codex.text());
    home.export().expect_code(0);
    let (claude_before, codex_before) = (claude.text().len(), codex.text().len());
    claude.turns(2).tool(50);
    codex.turn(70);
    home.append(&claude.path(), &claude.text()[claude_before..]);
    home.append(&codex.path(), &codex.text()[codex_before..]);
    let grown = home.export().expect_code(0).summary();
    assert_eq!(grown["requests_added"], 4);
    assert_eq!(grown["tokens_added"]["output_tokens"], 2 * 20 + 50 + 70);
    let bytes = claude.text().len() - claude_before + codex.text().len() - codex_before;
    assert_eq!(grown["bytes_read"], bytes, "only the new bytes are read");
    home.export_into("at-once").expect_code(0);
    home.rows().assert_same_views(&home.rows_of("at-once"), "two runs and one");
}

#[test]
fn a_torn_line_waits_until_it_is_whole() {
    for (path, text) in [
        (Transcript::new(1).path(), Transcript::with_turns(1, 2).text()),
        (Rollout::new(1).path(), Rollout::with_turns(1, 2).text()),
    ] {
        let home = Home::new();
        let torn = text.len() - 40;
        home.write(&path, &text[..torn]);
        home.export().expect_code(0);
        let before = home.rows();
        assert_eq!(before.totals()["requests"], 1);
        assert_eq!(before.issues().len(), 0, "a torn line is no issue: it waits");
        // Also when it is old: half a record is no record.
        age(&home.path(&path));
        home.export().expect_code(0);
        before.assert_same_rows(&home.rows(), "while the line is torn");
        home.append(&path, &text[torn..]);
        home.export().expect_code(0);
        assert_eq!(home.rows().totals()["requests"], 2);
        home.export_into("at-once").expect_code(0);
        home.rows().assert_same_views(&home.rows_of("at-once"), "torn and whole");
    }
}

#[test]
fn a_whole_last_line_without_a_newline_counts_once_it_is_old() {
    let home = Home::new();
    let claude = Transcript::with_turns(1, 2);
    let text = claude.text();
    home.write(&claude.path(), text.trim_end());
    home.export().expect_code(0);
    assert_eq!(home.rows().totals()["requests"], 1, "somebody may still write to the line");
    age(&home.path(&claude.path()));
    home.export().expect_code(0);
    assert_eq!(home.rows().totals()["requests"], 2);
    home.append(&claude.path(), "\n");
    home.export().expect_code(0);
    let rows = home.rows();
    assert_eq!((rows.totals()["requests"], rows.issues().len()), (2, 0));
    rows.assert_no_doubles();
}

#[test]
fn a_response_that_grows_between_runs_adds_the_difference() {
    let home = Home::new();
    let mut claude = Transcript::new(1);
    claude.prompt("Go").block(&serde_json::json!({ "type": "text", "text": "Well" }), 1.into());
    home.write(&claude.path(), claude.text());
    home.export().expect_code(0);
    assert_eq!(home.rows().totals()["output"], 1);
    claude.answer("Well, done.", 90);
    home.write(&claude.path(), claude.text());
    home.export().expect_code(0);
    let totals = home.rows().totals();
    assert_eq!((totals["requests"], totals["input"], totals["output"]), (1, 10, 90));
    let mut statuses = home.rows().column("usage", "status");
    statuses.sort();
    assert_eq!(statuses, ["counted", "growth"]);
}
