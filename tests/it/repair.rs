//! `repair` mends every damage that `verify` finds, loses no row of a source that is gone, and may be killed anywhere.

use std::collections::BTreeMap;

use agentlake::lake::{Layout, State};

use crate::damage::{DAMAGES, Damage, Sessions, edit, part};
use crate::home::{Home, Run, agentlake, run};
use crate::lake_rows::{LakeRows, text};
use crate::transcript::Transcript;
use crate::verify::verify;

/// The command, without DuckDB.
fn repair_command(home: &Home) -> std::process::Command {
    let mut command = agentlake();
    command.arg("repair").arg("--home").arg(home.home()).arg("--lake").arg(home.lake());
    command.args(["--no-duckdb", "--threads", "2", "--format", "json"]).env("HOME", home.beside(""));
    command
}

fn repair(home: &Home) -> Run {
    run(&mut repair_command(home))
}

/// A lake with a vanished source, and what it held when it was sound.
fn lake() -> (Home, Sessions, LakeRows) {
    let home = Home::new();
    let sessions = Sessions::export(&home);
    let sound = home.rows();
    (home, sessions, sound)
}

/// The lake is sound, holds what it held before, and what is on disk brings nothing new.
#[track_caller]
fn assert_mended(home: &Home, sound: &LakeRows, what: &str) {
    let verified = verify(home, &["--against-sources"]);
    assert_eq!(verified.code, Some(0), "{what}: {verified:#?}");
    let rows = home.rows();
    rows.assert_no_doubles();
    rows.assert_same_views(sound, what);
    assert_eq!(rows.totals(), sound.totals(), "{what}");
    let again = home.export().expect_code(0).summary();
    assert_eq!((&again["rows"], &again["batches"]), (&serde_json::json!({}), &0.into()), "{what}");
}

fn lake_id(home: &Home) -> String {
    State::open_read_only(&Layout::new(&home.lake())).unwrap().lake_id().to_owned()
}

#[test]
fn every_damage_is_mended_and_the_rows_of_a_vanished_source_stay() {
    for Damage { name, inflict, .. } in DAMAGES {
        let (home, sessions, sound) = lake();
        let id = lake_id(&home);
        inflict(&home.lake());
        let repaired = repair(&home).expect_code(0).summary();
        // Messages, usage and the session of five prompts with answers.
        assert_eq!((&repaired["vanished_sources"], &repaired["vanished_rows"]), (&1.into(), &16.into()), "{name}");
        assert_mended(&home, &sound, name);
        assert_eq!(lake_id(&home), id, "{name}: the lake is the same");
        let gone = home.path(&sessions.gone.path()).display().to_string();
        let kept = home.rows().table("messages").iter().filter(|row| text(&row["source_path"]) == gone).count();
        assert_eq!(kept, 10, "{name}");
        assert_eq!(repair(&home).expect_code(0).summary()["state_rebuilt"], false, "{name}: once is enough");
    }
}

#[test]
fn growth_after_a_repair_counts_as_if_there_had_been_none() {
    for name in ["deleted state", "deleted part", "flipped byte"] {
        let (home, mut sessions, _) = lake();
        let damage = DAMAGES.iter().find(|damage| damage.name == name).unwrap();
        (damage.inflict)(&home.lake());
        repair(&home).expect_code(0);
        sessions.claude[0].turns(1).tool(70);
        sessions.claude[3].turns(1);
        sessions.codex.turn(20);
        // The vanished file comes back, grown.
        sessions.gone.turns(1);
        home.write_old(&sessions.gone.path(), sessions.gone.text());
        sessions.write(&home);
        home.export().expect_code(0);
        home.export_into("at-once").expect_code(0);
        home.rows().assert_no_doubles();
        home.rows().assert_same_views(&home.rows_of("at-once"), name);
        assert_eq!(home.rows().totals(), home.rows_of("at-once").totals(), "{name}");
    }
}

#[test]
fn a_response_that_grew_is_mended_whichever_of_its_rows_is_lost() {
    for (lost, keeps_state) in
        [("b000001", true), ("b000002", true), ("b000001", false), ("b000002", false), ("none", false)]
    {
        let home = Home::new();
        let mut claude = Transcript::new(1);
        claude.prompt("Go").block(&serde_json::json!({ "type": "text", "text": "Well" }), 1.into());
        home.write_old(&claude.path(), claude.text());
        home.export().expect_code(0);
        claude.answer("Well, done.", 90);
        home.write_old(&claude.path(), claude.text());
        home.export().expect_code(0);
        let sound = home.rows();
        assert_eq!(sound.totals()["output"], 90);
        for file in Layout::new(&home.lake()).files().unwrap() {
            let path = file.to_str().unwrap();
            if path.contains("/usage/") && path.contains(lost) {
                fs_err::remove_file(&file).unwrap();
            }
        }
        if !keeps_state {
            fs_err::remove_file(Layout::new(&home.lake()).state_file()).unwrap();
        }
        let what = format!("{lost}, state kept: {keeps_state}");
        repair(&home).expect_code(0);
        assert_eq!(verify(&home, &["--against-sources"]).code, Some(0), "{what}");
        assert_eq!(home.rows().requests(), sound.requests(), "{what}");
        let again = home.export().expect_code(0).summary();
        assert_eq!(again["rows"], serde_json::json!({}), "{what}");
        // It grows on.
        claude.block(&serde_json::json!({ "type": "text", "text": "Really" }), 1.into());
        home.write_old(&claude.path(), claude.text());
        home.export().expect_code(0);
        home.export_into("at-once").expect_code(0);
        assert_eq!(home.rows().requests(), home.rows_of("at-once").requests(), "{what}");
    }
}

#[test]
fn killed_anywhere_it_is_mended_by_the_next() {
    let mut deaths: BTreeMap<&str, u32> = BTreeMap::new();
    for name in ["deleted state", "flipped byte", "state of another lake", "duplicated part"] {
        let damage = DAMAGES.iter().find(|damage| damage.name == name).unwrap();
        for place in [
            "quarantined",
            "salvaged",
            "rebuilding",
            "rebuilt",
            "written",
            "staged",
            "committed",
            "renamed",
            "published",
        ] {
            let (home, _, sound) = lake();
            (damage.inflict)(&home.lake());
            let killed = run(repair_command(&home).env("AGENTLAKE_CRASH_AT", place));
            *deaths.entry(place).or_default() += u32::from(killed.signal == Some(9));
            assert!(
                matches!((killed.code, killed.signal), (Some(0), None) | (None, Some(9))),
                "{name}, {place}: {killed:?}"
            );
            repair(&home).expect_code(0);
            assert_mended(&home, &sound, &format!("{name}, killed at {place}"));
        }
    }
    assert!(deaths.values().all(|&count| count > 0), "each place was passed: {deaths:?}");
}

#[test]
fn an_old_state_takes_in_what_was_committed_since() {
    let home = Home::new();
    let mut sessions = Sessions::new();
    sessions.write(&home);
    home.export().expect_code(0);
    let state_file = Layout::new(&home.lake()).state_file();
    let old = fs_err::read(&state_file).unwrap();
    sessions.claude[0].turns(3);
    sessions.write(&home);
    home.export().expect_code(0);
    fs_err::remove_file(home.path(&sessions.claude[0].path())).unwrap();
    let sound = home.rows();
    fs_err::write(&state_file, old).unwrap();
    let refused = home.export();
    assert!(refused.code == Some(0) || refused.stderr.contains("agentlake repair"), "{refused:?}");
    let repaired = repair(&home).expect_code(0).summary();
    assert!(repaired["parts_adopted"].as_i64().unwrap() > 0, "{repaired}");
    assert_mended(&home, &sound, "an old state");
}

#[test]
fn rows_of_a_vanished_source_are_taken_from_a_part_that_only_the_state_calls_damaged() {
    let (home, _, sound) = lake();
    edit(&home.lake(), "UPDATE parts SET xxh3 = zeroblob(16) WHERE date = '2026-05-10'");
    let repaired = repair(&home).expect_code(0).summary();
    assert_eq!((&repaired["rows_salvaged"], &repaired["vanished_rows"]), (&16.into(), &16.into()));
    assert_mended(&home, &sound, "wrong hashes in the state");
}

#[test]
fn a_state_that_is_no_database_goes_to_quarantine() {
    let (home, _, sound) = lake();
    fs_err::write(Layout::new(&home.lake()).state_file(), vec![7; 10_000]).unwrap();
    assert!(verify(&home, &[]).expect_code(1).stdout.contains("state_damaged"));
    repair(&home).expect_code(0);
    assert_mended(&home, &sound, "a state of sevens");
    let quarantine = Layout::new(&home.lake()).quarantine();
    assert_eq!(fs_err::read_dir(quarantine).unwrap().count(), 1, "nothing is deleted");
}

#[test]
fn what_goes_to_quarantine_is_whole() {
    let (home, ..) = lake();
    let foreign = part(&home.lake()).with_file_name("notes.parquet");
    fs_err::write(&foreign, "mine").unwrap();
    let repaired = repair(&home).expect_code(0).summary();
    assert_eq!(repaired["quarantined"][0]["path"], foreign.display().to_string());
    assert_eq!(repaired["state_rebuilt"], false, "a foreign file is no reason to read anything again");
    let below = foreign.strip_prefix(home.lake()).unwrap().to_owned();
    let folder = fs_err::read_dir(Layout::new(&home.lake()).quarantine()).unwrap().next().unwrap().unwrap().path();
    assert_eq!(fs_err::read_to_string(folder.join(below)).unwrap(), "mine");
}

#[test]
fn batch_numbers_are_not_used_again() {
    let (home, ..) = lake();
    let newest = || State::open_read_only(&Layout::new(&home.lake())).unwrap().next_batch().unwrap();
    let before = newest();
    fs_err::remove_file(Layout::new(&home.lake()).state_file()).unwrap();
    repair(&home).expect_code(0);
    assert!(newest() > before);
}

#[test]
fn where_there_is_no_lake_none_is_made() {
    let home = Home::new();
    assert!(repair(&home).expect_code(2).stderr.contains("there is no lake"));
    assert!(!home.lake().exists());
}

#[test]
fn a_compacted_lake_is_verified_and_made_anew_like_another() {
    for name in ["deleted state", "deleted part", "flipped byte", "none"] {
        let (home, mut sessions, _) = lake();
        home.compact().expect_code(0);
        sessions.claude[0].turns(1);
        sessions.write(&home);
        home.export().expect_code(0);
        let sound = home.rows();
        assert_eq!(verify(&home, &["--against-sources"]).code, Some(0), "{name}");
        if let Some(damage) = DAMAGES.iter().find(|damage| damage.name == name) {
            (damage.inflict)(&home.lake());
        }
        repair(&home).expect_code(0);
        assert_mended(&home, &sound, name);
        home.compact().expect_code(0);
        assert_mended(&home, &sound, &format!("{name}, compacted again"));
    }
}

/// Runs another command on the lake.
fn on_lake(home: &Home, arguments: &[&str]) -> Run {
    let mut command = agentlake();
    command.args(arguments).arg("--lake").arg(home.lake()).env("HOME", home.beside(""));
    run(&mut command)
}

#[test]
fn a_compaction_that_died_and_lost_its_parts_is_mended() {
    for place in ["committed", "compaction-committed", "compaction-swapped", "compaction-synced"] {
        let (home, _, sound) = lake();
        let mut command = agentlake();
        command.arg("compact").arg("--lake").arg(home.lake()).env("AGENTLAKE_CRASH_AT", place);
        if run(&mut command).signal.is_none() {
            continue;
        }
        let verified = verify(&home, &[]);
        assert_eq!(verified.code, Some(0), "{place}: {verified:#?}");
        let staging = Layout::new(&home.lake()).staging();
        for leftover in fs_err::read_dir(&staging).unwrap() {
            fs_err::remove_dir_all(leftover.unwrap().path()).unwrap();
        }
        repair(&home).expect_code(0);
        assert_mended(&home, &sound, place);
    }
}

#[test]
fn a_merged_lake_without_a_state_keeps_the_rows_of_the_other_machine() {
    let (home, _, _) = lake();
    let other = Home::new();
    let far = Transcript::with_turns(15, 4);
    other.write_old(&far.path(), far.text());
    other.export_with(&["--host", "far"]).expect_code(0);
    fs_err::remove_dir_all(other.home()).unwrap();
    on_lake(&home, &["merge", other.lake().to_str().unwrap(), "--no-duckdb"]).expect_code(0);
    assert_eq!(verify(&home, &["--against-sources"]).code, Some(0), "merged");
    let sound = home.rows();
    fs_err::remove_file(Layout::new(&home.lake()).state_file()).unwrap();
    repair(&home).expect_code(0);
    assert_mended(&home, &sound, "a merged lake");
    assert_eq!(home.rows().table("messages").iter().filter(|row| text(&row["host"]) == "far").count(), 8);
    home.export_with(&["--rebuild"]).expect_code(0);
    home.rows().assert_same_views(&sound, "rebuilt");
}
