//! Input that is not as it should be: good rows stay good, what is lost is told once, nothing panics, nothing stops.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::json;

use crate::home::Home;
use crate::lake_rows::LakeRows;
use crate::rollout::Rollout;
use crate::transcript::Transcript;

/// Exports files of a day ago; then once more, where nothing may be told again. Returns the rows.
#[track_caller]
fn export(files: &[(String, Vec<u8>)], code: i32) -> LakeRows {
    let home = Home::new();
    for (path, bytes) in files {
        home.write_old(path, bytes);
    }
    home.export().expect_code(code);
    let again = home.export().expect_code(0).summary();
    assert_eq!(again["batches"], 0, "the second run added something: {again:#}");
    home.rows().assert_no_doubles();
    home.rows()
}

/// One Claude Code file between two good turns: what `middle` makes of the lines' bytes stands in the middle.
#[track_caller]
fn with_middle(middle: &[u8], code: i32) -> LakeRows {
    let mut claude = Transcript::with_turns(1, 1);
    let mut bytes = claude.text().into_bytes();
    let before = bytes.len();
    bytes.extend_from_slice(middle);
    claude.turns(1);
    bytes.extend_from_slice(&claude.text().as_bytes()[before..]);
    let rows = export(&[(claude.path(), bytes)], code);
    assert_eq!(
        rows.column("usage", "output_tokens").iter().filter(|output| *output == "20").count(),
        2,
        "the good turns"
    );
    rows
}

/// A line between two good turns whose answer has `output_tokens` as written.
#[track_caller]
fn with_output(output: &str, code: i32) -> (BTreeMap<&'static str, i64>, BTreeMap<String, usize>) {
    let mut line = Transcript::new(7);
    line.block(&json!({ "type": "text", "text": "x" }), json!("OUTPUT"));
    let line = line.lines()[0].replace("\"OUTPUT\"", output);
    let rows = with_middle(format!("{line}\n").as_bytes(), code);
    assert_eq!(rows.totals()["requests"], 3, "output_tokens {output}: the request is there whatever its counter is");
    (rows.totals(), rows.issues())
}

fn only(kind: &str) -> BTreeMap<String, usize> {
    BTreeMap::from([(kind.to_owned(), 1)])
}

#[test]
fn a_broken_middle_line() {
    let rows = with_middle(b"{\"type\":\"user\",\"mess\n", 1);
    assert_eq!((rows.issues(), rows.totals()["messages"]), (only("broken_line"), 4));
    let rows = with_middle(b"[1,2]\n\"text\"\n12\n", 1);
    assert_eq!(rows.issues(), BTreeMap::from([("broken_line".to_owned(), 3)]));
}

#[test]
fn a_half_line_before_a_whole_one() {
    let mut other = Transcript::new(7);
    other.answer("After a crash", 33);
    let line = format!("{{\"type\":\"assistant\",\"mess{}\n", other.lines()[0]);
    let rows = with_middle(line.as_bytes(), 1);
    assert_eq!((rows.issues(), rows.totals()["output"]), (only("broken_line"), 73));
}

#[test]
fn runs_of_nul() {
    // Before a record they are padding; where a record should be, something was lost.
    assert_eq!(with_middle(&[0; 300], 0).issues(), BTreeMap::new());
    let mut alone = vec![0; 300];
    alone.push(b'\n');
    assert_eq!(with_middle(&alone, 1).issues(), only("broken_line"));
}

#[test]
fn empty_lines_and_blanks_are_nothing() {
    assert_eq!(with_middle(b"\n  \n\t\n\r\n", 0).issues(), BTreeMap::new());
}

#[test]
fn byte_order_mark_and_crlf() {
    let claude = Transcript::with_turns(1, 2);
    let text = format!("\u{feff}{}", claude.text().replace('\n', "\r\n"));
    let rows = export(&[(claude.path(), text.into_bytes())], 0);
    assert_eq!((rows.totals()["requests"], rows.totals()["messages"], rows.issues()), (2, 4, BTreeMap::new()));
    let codex = Rollout::with_turns(1, 2);
    let text = format!("\u{feff}{}", codex.text().replace('\n', "\r\n"));
    let rows = export(&[(codex.path(), text.into_bytes())], 0);
    assert_eq!((rows.totals()["requests"], rows.issues()), (2, BTreeMap::new()));
}

#[test]
fn invalid_utf8_and_lone_surrogates_are_mended() {
    let mut other = Transcript::new(7);
    other.answer("HERE", 33);
    let line = &other.lines()[0];
    let (before, after) = line.split_once("HERE").unwrap();
    let mut invalid = before.as_bytes().to_vec();
    invalid.extend_from_slice(b"caf\xe9 \xff\xfe");
    invalid.extend_from_slice(after.as_bytes());
    invalid.push(b'\n');
    let rows = with_middle(&invalid, 0);
    assert_eq!((rows.issues(), rows.totals()["output"]), (only("repaired_line"), 73));
    for surrogate in ["\\ud83d", "\\ude00 and more", "\\ud83d\\ud83d\\ude00"] {
        let rows = with_middle(format!("{before}{surrogate}{after}\n").as_bytes(), 0);
        assert_eq!((rows.issues(), rows.totals()["output"]), (only("repaired_line"), 73), "{surrogate}");
        assert!(rows.column("messages", "content_text").iter().all(|text| !text.contains('\0')), "{surrogate}");
    }
    assert_eq!(with_middle(format!("{before}\\ud83d\\ude00{after}\n").as_bytes(), 0).issues(), BTreeMap::new());
}

#[test]
fn of_duplicate_keys_the_last_wins() {
    let (totals, issues) = with_output("5,\"output_tokens\":9", 0);
    assert_eq!((totals["output"], issues), (49, BTreeMap::new()));
}

#[test]
fn counters_of_other_forms() {
    assert_eq!(with_output("12.0", 0).0["output"], 52, "a whole number");
    for (bad, kinds) in [
        ("-1", &["bad_counter"][..]),
        ("12.5", &["bad_counter"]),
        ("1152921504606846976", &["bad_counter"]),
        ("123456789012345678901234567890", &["bad_counter", "repaired_line"]),
        ("1e999", &["bad_counter", "repaired_line"]),
        ("[]", &["bad_counter"]),
        ("true", &["bad_counter"]),
    ] {
        let (totals, issues) = with_output(bad, 0);
        assert_eq!(totals["output"], 40, "{bad} is NULL");
        assert!(issues.contains_key("bad_counter"), "{bad}: {issues:?}");
        assert!(issues.keys().all(|kind| kinds.contains(&kind.as_str())), "{bad}: {issues:?}");
    }
    assert_eq!(with_output("null", 0).0["output"], 40);
    let (totals, _) = with_output("\"12\"", 0);
    assert!(matches!(totals["output"], 40 | 52), "a number in quotes is read or NULL, never something else");
}

#[test]
fn nesting_ten_thousand_deep() {
    let deep = format!("{{\"type\":\"user\",\"a\":{}1{}}}\n", "[".repeat(10_000), "]".repeat(10_000));
    assert_eq!(with_middle(deep.as_bytes(), 1).issues(), only("broken_line"));
    let unclosed = format!("{{\"a\":{}\n", "[".repeat(100_000));
    assert_eq!(with_middle(unclosed.as_bytes(), 1).issues(), only("broken_line"));
    let objects = format!("{}1{}\n", "{\"a\":".repeat(10_000), "}".repeat(10_000));
    assert_eq!(with_middle(objects.as_bytes(), 1).issues(), only("broken_line"));
}

#[test]
fn a_line_beyond_the_bound_is_skipped_and_told() {
    for wave in ["4096", "16K", "48M"] {
        let home = Home::new();
        let mut claude = Transcript::with_turns(1, 1);
        claude.prompt(&"long ".repeat(20_000)).turns(2);
        home.write_old(&claude.path(), claude.text());
        let arguments = ["--max-line-bytes", "16K", "--wave-bytes", wave];
        home.export_with(&arguments).expect_code(1);
        let rows = home.rows();
        assert_eq!(rows.issues(), only("line_too_long"), "--wave-bytes {wave}");
        assert_eq!((rows.totals()["requests"], rows.totals()["messages"]), (3, 6), "--wave-bytes {wave}");
        assert_eq!(home.export_with(&arguments).expect_code(0).summary()["batches"], 0);
    }
}

#[test]
fn things_that_are_no_files() {
    let home = Home::new();
    let claude = Transcript::with_turns(1, 1);
    home.write_old(&claude.path(), claude.text());
    let folder = home.path(".claude/projects/-w-app");
    fs_err::create_dir(folder.join("folder.jsonl")).unwrap();
    fs_err::write(folder.join("empty.jsonl"), "").unwrap();
    let made = std::process::Command::new("mkfifo").arg(folder.join("pipe.jsonl")).status().unwrap();
    assert!(made.success());
    fs_err::os::unix::fs::symlink(&folder, folder.join("loop")).unwrap();
    fs_err::os::unix::fs::symlink(folder.join("two.jsonl"), folder.join("one.jsonl")).unwrap();
    fs_err::os::unix::fs::symlink(folder.join("one.jsonl"), folder.join("two.jsonl")).unwrap();
    fs_err::os::unix::fs::symlink(folder.join("missing"), folder.join("dangling.jsonl")).unwrap();
    home.export().expect_code(1);
    let rows = home.rows();
    assert_eq!(rows.totals()["requests"], 1);
    assert_eq!(rows.issues()["not_a_file"], 2, "a folder and a pipe: {:?}", rows.issues());
    assert_eq!(home.export().expect_code(0).summary()["batches"], 0);
}

#[test]
fn an_unreadable_file_is_told_once_and_read_later() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    let (good, hidden) = (Transcript::with_turns(1, 1), Transcript::with_turns(2, 1));
    home.write_old(&good.path(), good.text());
    let path = home.write_old(&hidden.path(), hidden.text());
    fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    if fs_err::File::open(&path).is_ok() {
        eprintln!("skipped: this user may read everything");
        return;
    }
    home.export().expect_code(1);
    assert_eq!((home.rows().totals()["requests"], home.rows().issues()), (1, only("unreadable")));
    home.export().expect_code(0);
    fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    home.export().expect_code(0);
    assert_eq!(home.rows().totals()["requests"], 2);
}

#[test]
fn damaged_compression_is_told_and_stops_nothing() {
    let codex = Rollout::with_turns(1, 40);
    let whole = zstd::encode_all(codex.text().as_bytes(), 3).unwrap();
    let good = Rollout::with_turns(2, 1);
    for (what, bytes) in [("cut", whole[..whole.len() / 2].to_vec()), ("no zstd at all", b"plain text\n".to_vec())] {
        let home = Home::new();
        home.write_old(&format!("{}.zst", codex.path()), bytes);
        home.write_old(&good.path(), good.text());
        let run = home.export().expect_code(1);
        assert!(home.rows().totals()["requests"] >= 1, "{what}: {run:?}");
        assert_eq!(home.rows().issues()["unreadable"], 1, "{what}");
        home.export().expect_code(0);
        home.write_old(&format!("{}.zst", codex.path()), &whole);
        home.export().expect_code(0);
        assert_eq!(home.rows().totals()["requests"], 41, "{what}, then whole");
        home.rows().assert_no_doubles();
    }
}

#[test]
fn the_same_trouble_in_rollouts() {
    let codex = Rollout::with_turns(1, 3);
    let lines: Vec<&str> = codex.text().leak().lines().collect();
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        if at == 5 {
            text.push_str(
                "{\"timestamp\":\"2026-05-20T08:00:00Z\",\"type\":\"event_msg\",\"payload\":{\"type\":\"tok\n",
            );
            text.push_str("{\"timestamp\":12,\"type\":[],\"payload\":\"\"}\n{}\n{\"payload\":null}\n");
            let deep = "[".repeat(10_000);
            writeln!(
                text,
                "{{\"type\":\"response_item\",\"payload\":{{\"type\":\"message\",\"content\":{deep}{}}}}}",
                "]".repeat(10_000)
            )
            .unwrap();
        }
        writeln!(text, "{line}").unwrap();
    }
    let rows = export(&[(codex.path(), text.into_bytes())], 1);
    assert_eq!((rows.totals()["requests"], rows.totals()["output"]), (3, 90));
    assert_eq!(rows.issues()["broken_line"], 2, "the torn line and the deep one");
}
