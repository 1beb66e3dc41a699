//! The commit protocol, killed at each of its named places: the next run ends with exactly the rows of an undisturbed one.

use std::path::Path;

use agentlake::lake::lock::WriterLock;
use agentlake::lake::{Layout, State};

use crate::home::{Home, Run, run};
use crate::lake_rows::LakeRows;
use crate::rollout::Rollout;
use crate::transcript::Transcript;

/// Every named place, some at a later pass.
const PLACES: [&str; 8] =
    ["written", "staged", "committing", "committed", "renamed:1", "renamed:3", "synced", "published"];
const SIGKILL: i32 = 9;

/// Sessions on several days, so that a batch has many parts.
struct Sessions {
    claude: Vec<Transcript>,
    codex: Rollout,
}

impl Sessions {
    fn new() -> Self {
        Self {
            claude: (1..=3).map(|number| Transcript::with_turns(number, 3)).collect(),
            codex: Rollout::with_turns(1, 3),
        }
    }

    fn grow(&mut self) {
        for (transcript, turns) in self.claude.iter_mut().zip(1..) {
            transcript.turns(turns).tool(50);
        }
        self.claude.push(Transcript::with_turns(4, 2));
        self.codex.turn(70);
    }

    fn write(&self, home: &Home) {
        for transcript in &self.claude {
            home.write_old(&transcript.path(), transcript.text());
        }
        home.write_old(&self.codex.path(), self.codex.text());
    }
}

fn crash(home: &Home, place: &str) -> Run {
    let run = run(home.export_command(&home.lake(), &[]).env("AGENTLAKE_CRASH_AT", place));
    assert_eq!(run.signal, Some(SIGKILL), "the run was to die at {place}: {run:?}");
    run
}

/// No leftovers, and parts and state agree (which reading checks).
#[track_caller]
fn clean_rows(home: &Home) -> LakeRows {
    let staging = Layout::new(&home.lake()).staging();
    assert_eq!(fs_err::read_dir(staging).unwrap().count(), 0, "staging is empty after a run");
    let rows = home.rows();
    rows.assert_no_doubles();
    rows
}

/// Batches that a reader sees who goes by the state.
fn published(lake: &Path) -> Option<i64> {
    let layout = Layout::new(lake);
    if !layout.state_file().exists() {
        return None;
    }
    let state = State::open_read_only(&layout).unwrap();
    state.newest_batch().unwrap().map(|batch| batch.batch)
}

#[test]
fn a_first_run_killed_anywhere_is_made_good() {
    let home = Home::new();
    Sessions::new().write(&home);
    home.export_into("undisturbed").expect_code(0);
    let undisturbed = home.rows_of("undisturbed");
    for place in PLACES {
        crash(&home, place);
        let expected = if place == "published" { Some(1) } else { None };
        assert_eq!(published(&home.lake()), expected, "what readers see after a death at {place}");
        home.export().expect_code(0);
        clean_rows(&home).assert_same_rows(&undisturbed, place);
        assert_eq!(home.export().expect_code(0).summary()["batches"], 0, "{place}");
        fs_err::remove_dir_all(home.lake()).unwrap();
    }
}

#[test]
fn an_incremental_run_killed_anywhere_is_made_good() {
    for place in PLACES {
        let home = Home::new();
        let mut sessions = Sessions::new();
        sessions.write(&home);
        home.export_into("undisturbed").expect_code(0);
        home.export().expect_code(0);
        sessions.grow();
        sessions.write(&home);
        home.export_into("undisturbed").expect_code(0);
        crash(&home, place);
        home.export().expect_code(0);
        clean_rows(&home).assert_same_rows(&home.rows_of("undisturbed"), place);
    }
}

#[test]
fn killed_again_while_recovering() {
    let home = Home::new();
    Sessions::new().write(&home);
    home.export_into("undisturbed").expect_code(0);
    crash(&home, "committed");
    crash(&home, "renamed:2");
    crash(&home, "synced");
    let recovered = home.export().expect_code(0).summary();
    assert_eq!(recovered["recovered_batches"], serde_json::json!([1]));
    clean_rows(&home).assert_same_rows(&home.rows_of("undisturbed"), "three deaths");
}

#[test]
fn killed_in_the_second_wave_keeps_the_first() {
    let home = Home::new();
    Sessions::new().write(&home);
    home.export_into("undisturbed").expect_code(0);
    let mut command = home.export_command(&home.lake(), &["--wave-bytes", "4096"]);
    let killed = run(command.env("AGENTLAKE_CRASH_AT", "written:2"));
    assert_eq!(killed.signal, Some(SIGKILL));
    assert_eq!(published(&home.lake()), Some(1));
    home.export().expect_code(0);
    let (rows, undisturbed) = (clean_rows(&home), home.rows_of("undisturbed"));
    rows.assert_same_views(&undisturbed, "a death in the second wave");
    assert_eq!(rows.totals(), undisturbed.totals());
}

#[test]
fn a_committed_batch_whose_staging_is_lost_is_undone_and_read_again() {
    for grown in [false, true] {
        let home = Home::new();
        let mut sessions = Sessions::new();
        sessions.write(&home);
        if grown {
            home.export().expect_code(0);
            home.export_into("undisturbed").expect_code(0);
            sessions.grow();
            sessions.write(&home);
        }
        home.export_into("undisturbed").expect_code(0);
        for place in ["committed", "renamed:2"] {
            crash(&home, place);
            let staging = Layout::new(&home.lake()).staging();
            for leftover in fs_err::read_dir(&staging).unwrap() {
                fs_err::remove_dir_all(leftover.unwrap().path()).unwrap();
            }
        }
        home.export().expect_code(0);
        clean_rows(&home).assert_same_rows(&home.rows_of("undisturbed"), &format!("grown: {grown}"));
    }
}

#[test]
fn a_part_that_was_damaged_between_death_and_recovery_is_refused() {
    let home = Home::new();
    Sessions::new().write(&home);
    crash(&home, "renamed:1");
    let part = Layout::new(&home.lake()).files().unwrap().pop().expect("one part was moved");
    let mut bytes = fs_err::read(&part).unwrap();
    bytes[10] ^= 1;
    fs_err::write(&part, bytes).unwrap();
    let refused = home.export().expect_code(2);
    assert!(refused.stderr.contains(part.file_name().unwrap().to_str().unwrap()), "{refused:?}");
}

#[test]
fn a_held_lock_is_told_with_its_holder() {
    let home = Home::new();
    Sessions::new().write(&home);
    let layout = Layout::new(&home.lake());
    layout.create().unwrap();
    let lock = WriterLock::take(&layout).unwrap();
    let refused = home.export().expect_code(3);
    assert!(refused.stderr.contains(&format!("process {}", std::process::id())), "{refused:?}");
    assert!(refused.stderr.contains("another run"), "{refused:?}");
    drop(lock);
    home.export().expect_code(0);
}
