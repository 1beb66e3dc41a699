//! Lakes of several machines in one: every record once, every request once, whichever lake saw more of it.

use std::path::Path;
use std::process::Command;

use agentlake::lake::Layout;

use crate::home::{Home, Run, agentlake, run};
use crate::lake_rows::LakeRows;
use crate::rollout::Rollout;
use crate::transcript::Transcript;

/// Places at which a batch of a merge can die; the protocol is that of exports.
const PLACES: [&str; 7] = ["written", "staged", "committing", "committed", "renamed:2", "synced", "published"];

/// Exports a machine's home into its own lake beside it.
fn export(machine: &Home, host: &str) {
    machine.export_with(&["--host", host, "--no-compact"]).expect_code(0);
}

fn merge_command(into: &Path, others: &[&Home]) -> Command {
    let mut command = agentlake();
    command.args(["merge", "--no-duckdb", "--format", "json", "--lake"]).arg(into);
    command.args(others.iter().map(|other| other.lake())).env("HOME", into.parent().unwrap());
    command
}

fn merge(into: &Path, others: &[&Home]) -> Run {
    run(&mut merge_command(into, others)).expect_code(0)
}

/// Two machines: each has a session of its own, and both have one that was copied while it grew.
fn two_machines() -> (Home, Home, Home) {
    let (laptop, desktop, both) = (Home::new(), Home::new(), Home::new());
    let mut shared = Transcript::with_turns(1, 2);
    shared.block(&serde_json::json!({ "type": "text", "text": "Well" }), 1.into());
    laptop.write_old(&shared.path(), shared.text());
    let own = Transcript::with_turns(2, 3);
    laptop.write_old(&own.path(), own.text());
    both.write_old(&own.path(), own.text());
    export(&laptop, "laptop");
    // The response that was one token long goes on on the other machine.
    shared.answer("Well, done.", 90).turns(1).tool(50);
    desktop.write_old(&shared.path(), shared.text());
    both.write_old(&shared.path(), shared.text());
    let codex = Rollout::with_turns(1, 3);
    desktop.write_old(&codex.path(), codex.text());
    both.write_old(&codex.path(), codex.text());
    export(&desktop, "desktop");
    export(&both, "both");
    (laptop, desktop, both)
}

/// Same requests, records and totals, whoever read them.
#[track_caller]
fn assert_union(merged: &LakeRows, whole: &LakeRows, what: &str) {
    merged.assert_no_doubles();
    assert_eq!(merged.requests(), whole.requests(), "{what}");
    for table in ["messages", "tool_calls", "tool_results"] {
        assert_eq!(merged.column(table, "event_id"), whole.column(table, "event_id"), "{what}: {table}");
    }
    let sessions = |rows: &LakeRows| -> Vec<String> {
        rows.sessions()
            .into_values()
            .map(|mut row| {
                row.remove("host");
                serde_json::Value::Object(row).to_string()
            })
            .collect()
    };
    assert_eq!(sessions(merged), sessions(whole), "{what}: sessions");
}

#[test]
fn a_union_counts_every_request_once_in_any_order() {
    let (laptop, desktop, both) = two_machines();
    for order in [[&laptop, &desktop], [&desktop, &laptop]] {
        let lake = both.beside("merged");
        let summary = merge(&lake, &order).summary();
        assert_eq!(summary["requests_added"], both.rows().totals()["requests"]);
        let merged = both.rows_of("merged");
        assert_union(&merged, &both.rows(), "two lakes");
        let totals = merged.totals();
        assert_eq!(totals["output"], 2 * 20 + 90 + 20 + 50 + 3 * 20 + 3 * 30);
        for (session, hosts) in [(Transcript::new(2).session_id(), "laptop"), (Rollout::new(1).thread_id(), "desktop")]
        {
            let rows = merged.table("messages").iter().filter(|row| row["session_id"] == session.as_str());
            assert!(rows.clone().count() > 0 && rows.clone().all(|row| row["host"] == hosts), "{session}");
        }
        let again = merge(&lake, &order).summary();
        assert_eq!((&again["rows"], &again["requests_added"]), (&serde_json::json!({}), &0.into()), "merged again");
        merged.assert_same_rows(&both.rows_of("merged"), "merged again");
        fs_err::remove_dir_all(lake).unwrap();
    }
}

#[test]
fn machines_go_on_after_a_merge() {
    let (laptop, desktop, both) = two_machines();
    merge(&laptop.lake(), &[&desktop]);
    assert_union(&laptop.rows(), &both.rows(), "merged into a lake that is in use");
    assert_eq!(laptop.export().expect_code(0).summary()["batches"], 0);
    // The session comes back grown, so the laptop reads lines that the merge has brought already.
    let mut shared = Transcript::with_turns(1, 2);
    shared.block(&serde_json::json!({ "type": "text", "text": "Well" }), 1.into());
    shared.answer("Well, done.", 90).turns(1).tool(50).turns(1);
    for home in [&laptop, &desktop, &both] {
        home.write_old(&shared.path(), shared.text());
        home.export_with(&["--no-compact"]).expect_code(0);
    }
    assert_union(&laptop.rows(), &both.rows(), "grown on the laptop");
    merge(&laptop.lake(), &[&desktop]);
    assert_union(&laptop.rows(), &both.rows(), "and merged again");
    laptop.compact().expect_code(0);
    assert_union(&laptop.rows(), &both.rows(), "and compacted");
    merge(&desktop.lake(), &[&laptop]);
    assert_union(&desktop.rows(), &both.rows(), "and back");
    let again = merge(&laptop.lake(), &[&desktop]).summary();
    assert_eq!((&again["rows"]["usage"], &again["requests_added"]), (&serde_json::Value::Null, &0.into()));
    assert_union(&laptop.rows(), &both.rows(), "and forth");
}

#[test]
fn a_merge_killed_anywhere_is_made_good() {
    let (laptop, desktop, both) = two_machines();
    for into_used in [false, true] {
        for place in PLACES {
            let lake = both.beside("merged");
            if into_used {
                merge(&lake, &[&laptop]);
            }
            let killed = run(merge_command(&lake, &[&laptop, &desktop]).env("AGENTLAKE_CRASH_AT", place));
            assert_eq!(killed.signal, Some(9), "the merge was to die at {place}: {killed:?}");
            merge(&lake, &[&laptop, &desktop]);
            assert_eq!(fs_err::read_dir(Layout::new(&lake).staging()).unwrap().count(), 0, "{place}");
            assert_union(&both.rows_of("merged"), &both.rows(), place);
            fs_err::remove_dir_all(lake).unwrap();
        }
    }
}

#[test]
fn what_is_no_other_lake_is_refused() {
    let (laptop, desktop, _) = two_machines();
    let itself = run(&mut merge_command(&laptop.lake(), &[&laptop])).expect_code(2);
    assert!(itself.stderr.contains("it is this lake, or a copy of it"), "{itself:?}");
    let nothing = run(&mut merge_command(&laptop.lake(), &[&Home::new()])).expect_code(2);
    assert!(nothing.stderr.contains("there is no lake"), "{nothing:?}");
    let before = laptop.rows();
    let part = Layout::new(&desktop.lake()).files().unwrap().remove(0);
    let mut bytes = fs_err::read(&part).unwrap();
    bytes[20] ^= 1;
    fs_err::write(&part, bytes).unwrap();
    let damaged = run(&mut merge_command(&laptop.lake(), &[&desktop])).expect_code(2);
    assert!(damaged.stderr.contains(part.file_name().unwrap().to_str().unwrap()), "{damaged:?}");
    before.assert_no_doubles();
}

#[test]
fn issues_outside_of_any_session_come_once() {
    let (laptop, desktop) = (Home::new(), Home::new());
    for (home, host, number) in [(&laptop, "laptop", 1), (&desktop, "desktop", 2)] {
        let transcript = Transcript::with_turns(number, 1);
        home.write_old(&transcript.path(), transcript.text());
        // A pipe where a transcript should be.
        let pipe = home.path(".claude/projects/-w-app/11111111-1111-4111-8111-00000000000a.jsonl");
        let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        home.export_with(&["--host", host]);
    }
    assert!(laptop.rows().table("issues").iter().any(|row| row["session_id"].is_null()));
    for _ in 0..2 {
        merge(&laptop.lake(), &[&desktop]);
        let rows = laptop.rows();
        rows.assert_no_doubles();
        assert_eq!(rows.table("issues").len(), 2);
    }
}

#[test]
fn a_machine_keeps_its_name() {
    let home = Home::new();
    let mut transcript = Transcript::with_turns(1, 1);
    let hosts = |home: &Home| {
        let mut hosts = home.rows().column("messages", "host");
        hosts.dedup();
        hosts
    };
    home.write_old(&transcript.path(), transcript.text());
    home.export().expect_code(0);
    let first = hosts(&home);
    assert_eq!(first.len(), 1);
    for arguments in [&["--host", "workbench"][..], &[]] {
        transcript.turns(1);
        home.write_old(&transcript.path(), transcript.text());
        home.export_with(arguments).expect_code(0);
    }
    let mut expected = [first[0].clone(), "workbench".to_owned()];
    expected.sort();
    assert_eq!(hosts(&home), expected);
    let named = home.rows().column("messages", "host").iter().filter(|host| *host == "workbench").count();
    assert_eq!(named, 4, "the name given once holds for the run after it");
}
