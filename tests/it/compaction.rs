//! Compaction: fewer parts and the same rows, whenever it dies, and an export after it finds nothing to add.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use agentlake::lake::state::Part;
use agentlake::lake::{Layout, State};
use agentlake::model::tables::{MESSAGES, SCHEMA_VERSION, TABLES};
use arrow::array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;

use crate::home::{Home, Run, agentlake, run};
use crate::lake_rows::{LakeRows, text};
use crate::rollout::Rollout;
use crate::transcript::Transcript;

/// Every named place of a compaction, some at a later pass.
const PLACES: [&str; 8] = [
    "compaction-written",
    "compaction-staged",
    "compaction-committing",
    "compaction-committed",
    "compaction-swapped:1",
    "compaction-swapped:3",
    "compaction-synced",
    "compaction-published",
];

/// Sessions that grow from run to run.
struct Sessions {
    claude: Vec<Transcript>,
    codex: Rollout,
}

impl Sessions {
    fn new() -> Self {
        Self {
            claude: (1..=2).map(|number| Transcript::with_turns(number, 1)).collect(),
            codex: Rollout::with_turns(1, 1),
        }
    }

    fn grow(&mut self) {
        for transcript in &mut self.claude {
            transcript.turns(1).tool(50);
        }
        self.codex.turn(70);
    }

    fn write(&self, home: &Home) {
        for transcript in &self.claude {
            home.write_old(&transcript.path(), transcript.text());
        }
        home.write_old(&self.codex.path(), self.codex.text());
    }

    /// So many runs, each with something new in every session.
    fn run(&mut self, home: &Home, times: usize) {
        for _ in 0..times {
            self.write(home);
            home.export_with(&["--no-compact"]).expect_code(0);
            self.grow();
        }
    }
}

fn parts(lake: &Path) -> Vec<Part> {
    State::open_read_only(&Layout::new(lake)).unwrap().parts().unwrap()
}

/// Parts per folder.
fn crowds(lake: &Path) -> BTreeMap<PathBuf, usize> {
    let mut crowds = BTreeMap::new();
    for part in parts(lake) {
        *crowds.entry(Path::new(&part.path).parent().unwrap().to_owned()).or_default() += 1;
    }
    crowds
}

/// The same rows with the same batches, apart from older rows of sessions, of which the newest is left.
#[track_caller]
fn assert_compacted(before: &LakeRows, after: &LakeRows, what: &str) {
    for table in TABLES.into_iter().filter(|table| table.name != "sessions") {
        let rows = |lake: &LakeRows| -> BTreeSet<String> {
            lake.table(table.name).iter().map(|row| Value::Object(row.clone()).to_string()).collect()
        };
        assert_eq!(rows(before), rows(after), "{what}: {}", table.name);
        assert_eq!(before.table(table.name).len(), after.table(table.name).len(), "{what}: {}", table.name);
    }
    assert_eq!(before.sessions(), after.sessions(), "{what}: sessions");
    assert_eq!(before.totals(), after.totals(), "{what}: totals");
}

fn crash(home: &Home, place: &str) -> Run {
    let killed = run(home.compact_command(&[]).env("AGENTLAKE_CRASH_AT", place));
    assert_eq!(killed.signal, Some(9), "the compaction was to die at {place}: {killed:?}");
    killed
}

#[test]
fn parts_become_one_per_partition_and_rows_stay() {
    let home = Home::new();
    Sessions::new().run(&home, 4);
    let before = home.rows();
    let crowded: usize = crowds(&home.lake()).values().sum();
    let summary = home.compact().expect_code(0).summary();
    let after = home.rows();
    assert_compacted(&before, &after, "four runs");
    assert_eq!(crowds(&home.lake()).values().max(), Some(&1));
    assert_eq!(summary["parts_before"].as_u64().unwrap() as usize, crowded - once_written(&before));
    assert!(summary["bytes_after"].as_u64() < summary["bytes_before"].as_u64(), "{summary}");
    assert_eq!(after.table("sessions").len(), 3, "only the newest row of each session is left");
    assert_eq!(summary["rows_dropped"].as_u64().unwrap() as usize, before.table("sessions").len() - 3);
    assert_eq!(home.compact().expect_code(0).summary()["partitions"], 0, "nothing is left to merge");
    assert_eq!(home.export().expect_code(0).summary()["batches"], 0, "nothing is left to read");
    assert_compacted(&before, &home.rows(), "after an export");
}

/// Parts that a compaction leaves alone because they are the only ones of their partition.
fn once_written(rows: &LakeRows) -> usize {
    let mut batches: BTreeMap<(String, String, String), BTreeSet<String>> = BTreeMap::new();
    for table in TABLES {
        for row in rows.table(table.name) {
            let key = (table.name.to_owned(), text(&row["provider"]), text(&row["date"]));
            batches.entry(key).or_default().insert(text(&row["batch"]));
        }
    }
    batches.values().filter(|batches| batches.len() == 1).count()
}

#[test]
fn merged_parts_are_sorted_private_and_alone_in_their_folders() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    Sessions::new().run(&home, 3);
    home.compact().expect_code(0);
    let staging = Layout::new(&home.lake()).staging();
    assert_eq!(fs_err::read_dir(staging).unwrap().count(), 0);
    for part in parts(&home.lake()) {
        let path = home.lake().join(&part.path);
        assert_eq!(fs_err::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs_err::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
        let rows = crate::lake_rows::read_part(&path);
        let keys: Vec<(String, i64, i64)> = rows
            .iter()
            .map(|row| (text(&row["session_id"]), row["ts"].as_i64().unwrap(), row["seq"].as_i64().unwrap()))
            .collect();
        assert!(keys.is_sorted(), "{}: {keys:?}", part.path);
        let batches: BTreeSet<i64> = rows.iter().map(|row| row["batch"].as_i64().unwrap()).collect();
        assert_eq!((batches.first(), batches.last()), (Some(&part.first_batch), Some(&part.last_batch)));
    }
}

#[test]
fn a_compaction_killed_anywhere_is_made_good() {
    for repeated in [false, true] {
        for place in PLACES {
            let home = Home::new();
            let mut sessions = Sessions::new();
            sessions.run(&home, 3);
            if repeated {
                home.compact().expect_code(0);
                sessions.run(&home, 2);
            }
            let before = home.rows();
            crash(&home, place);
            // Whoever goes by the state sees all rows at any time, wherever the files are.
            let listed = agentlake_query(&home, "SELECT count(*) AS rows FROM messages");
            assert_eq!(listed, before.table("messages").len().to_string(), "while dead at {place}");
            assert_eq!(home.export().expect_code(0).summary()["rows"], serde_json::json!({}), "{place}");
            let staging = Layout::new(&home.lake()).staging();
            assert_eq!(fs_err::read_dir(staging).unwrap().count(), 0, "{place}");
            assert_compacted(&before, &home.rows(), place);
            home.compact().expect_code(0);
            assert_compacted(&before, &home.rows(), place);
            assert_eq!(crowds(&home.lake()).values().max(), Some(&1), "{place}");
        }
    }
}

/// One value of one row, asked of the real binary.
fn agentlake_query(home: &Home, sql: &str) -> String {
    let mut command = agentlake();
    command.args(["query", "--format", "csv", "--sql", sql, "--lake"]).arg(home.lake());
    let answer = run(command.env("HOME", home.home())).expect_code(0);
    answer.stdout.lines().nth(1).unwrap_or_default().to_owned()
}

#[test]
fn a_committed_compaction_whose_staging_is_lost_is_taken_back() {
    for place in ["compaction-committed", "compaction-swapped:2"] {
        let home = Home::new();
        Sessions::new().run(&home, 3);
        let before = home.rows();
        crash(&home, place);
        let staging = Layout::new(&home.lake()).staging();
        for leftover in fs_err::read_dir(&staging).unwrap() {
            fs_err::remove_dir_all(leftover.unwrap().path()).unwrap();
        }
        assert_eq!(home.export().expect_code(0).summary()["rows"], serde_json::json!({}), "{place}");
        assert_compacted(&before, &home.rows(), place);
        home.compact().expect_code(0);
        assert_compacted(&before, &home.rows(), place);
    }
}

/// Where folders cannot be exchanged, one is moved aside and the other into its place; death can come between the two.
#[test]
fn a_folder_that_was_moved_aside_gets_its_successor() {
    let home = Home::new();
    Sessions::new().run(&home, 3);
    let before = home.rows();
    crash(&home, "compaction-committed");
    let batch = parts(&home.lake()).iter().map(|part| part.batch).max().unwrap();
    let folder = "messages/provider=claude/date=2026-05-02";
    let aside = Layout::new(&home.lake()).staging_of(batch).join("replaced").join(folder);
    fs_err::create_dir_all(aside.parent().unwrap()).unwrap();
    fs_err::rename(home.lake().join(folder), &aside).unwrap();
    let messages = agentlake_query(&home, "SELECT count(*) FROM messages");
    assert_eq!(messages, before.table("messages").len().to_string(), "while a folder is missing");
    assert_eq!(home.export().expect_code(0).summary()["rows"], serde_json::json!({}));
    assert_compacted(&before, &home.rows(), "moved aside");
}

#[test]
fn a_rewritten_or_copied_source_finds_its_rows_in_merged_parts() {
    let home = Home::new();
    let mut sessions = Sessions::new();
    sessions.run(&home, 4);
    home.compact().expect_code(0);
    let before = home.rows();
    // Cut short and written anew with one more prompt: everything else is known.
    let (first, second) = (&sessions.claude[0], &sessions.claude[1]);
    let head = first.lines()[0].clone() + "\n";
    home.write_old(&first.path(), &head);
    home.export().expect_code(0);
    home.write_old(&format!(".claude/projects/-w-copy/{}.jsonl", second.session_id()), second.text());
    sessions.claude[0].turns(1);
    sessions.write(&home);
    home.export().expect_code(0);
    home.export_into("undisturbed").expect_code(0);
    let rows = home.rows();
    rows.assert_no_doubles();
    assert_eq!(rows.requests(), home.rows_of("undisturbed").requests());
    assert!(rows.table("messages").len() > before.table("messages").len());
    home.compact().expect_code(0);
    assert_compacted(&rows, &home.rows(), "after everything");
}

#[test]
fn damage_is_refused_and_not_passed_on() {
    let home = Home::new();
    Sessions::new().run(&home, 2);
    let path = home.lake().join(&parts(&home.lake())[0].path);
    let whole = fs_err::read(&path).unwrap();
    let mut bytes = whole.clone();
    bytes[20] ^= 1;
    fs_err::write(&path, bytes).unwrap();
    let refused = home.compact().expect_code(2);
    assert!(refused.stderr.contains(path.file_name().unwrap().to_str().unwrap()), "{refused:?}");
    fs_err::write(&path, whole).unwrap();
    let stranger = path.with_file_name("mine.parquet");
    fs_err::write(&stranger, "mine").unwrap();
    let refused = home.compact().expect_code(2);
    assert!(refused.stderr.contains("mine.parquet"), "{refused:?}");
    assert_eq!(fs_err::read_to_string(&stranger).unwrap(), "mine");
    fs_err::remove_file(stranger).unwrap();
    home.compact().expect_code(0);
}

#[test]
fn an_export_merges_crowded_partitions_by_itself() {
    let home = Home::new();
    let mut sessions = Sessions::new();
    for number in 1..=12 {
        sessions.write(&home);
        let summary = home.export().expect_code(0).summary();
        let most = crowds(&home.lake()).into_values().max().unwrap();
        assert!(most <= 3, "run {number}: {most} parts in a partition of a closed day: {summary}");
        sessions.grow();
    }
    home.export_into("undisturbed").expect_code(0);
    let rows = home.rows();
    rows.assert_no_doubles();
    rows.assert_same_views(&home.rows_of("undisturbed"), "twelve runs");
}

#[test]
fn choices_are_by_provider_and_day() {
    let home = Home::new();
    Sessions::new().run(&home, 2);
    let codex = run(&mut home.compact_command(&["--provider", "codex"])).expect_code(0).summary();
    assert!(codex["partitions"].as_u64().unwrap() > 0);
    let messages = |date: &str| {
        let folder = format!("messages/provider=claude/date={date}");
        crowds(&home.lake())[Path::new(&folder)]
    };
    assert!(crowds(&home.lake()).iter().all(|(path, &count)| !path.to_str().unwrap().contains("codex") || count == 1));
    assert_eq!((messages("2026-05-02"), messages("2026-05-03")), (2, 2));
    let early = run(&mut home.compact_command(&["--before", "2026-05-03"])).expect_code(0).summary();
    assert!(early["partitions"].as_u64().unwrap() > 0);
    assert_eq!((messages("2026-05-02"), messages("2026-05-03")), (1, 2));
    let nowhere = run(agentlake().args(["compact", "--lake"]).arg(home.beside("none"))).expect_code(2);
    assert!(nowhere.stderr.contains("no lake"), "{nowhere:?}");
    assert!(!home.beside("none").exists());
}

#[test]
fn the_database_needs_no_reload() {
    let home = Home::new();
    let mut sessions = Sessions::new();
    sessions.run(&home, 3);
    let mut export = home.export_command(&home.lake(), &["--no-compact"]);
    let with_database = |command: &mut std::process::Command| {
        let arguments: Vec<_> =
            command.get_args().filter(|argument| *argument != "--no-duckdb").map(ToOwned::to_owned).collect();
        run(agentlake().args(arguments).env("HOME", home.home())).expect_code(0)
    };
    with_database(&mut export);
    let database = Layout::new(&home.lake()).database();
    let asked = "SELECT sum(output_tokens) AS tokens FROM usage";
    let tokens = agentlake_query(&home, asked);
    let written = fs_err::metadata(&database).unwrap().modified().unwrap();
    home.compact().expect_code(0);
    assert_eq!(agentlake_query(&home, asked), tokens);
    with_database(&mut home.export_command(&home.lake(), &["--no-compact"]));
    assert_eq!(fs_err::metadata(&database).unwrap().modified().unwrap(), written, "the database was touched");
    // Batches that come later are added, also from merged parts.
    sessions.run(&home, 2);
    home.compact().expect_code(0);
    with_database(&mut home.export_command(&home.lake(), &["--no-compact"]));
    let daily = |command: &[&str]| {
        let mut ask = agentlake();
        ask.arg("query").args(command).args(["--format", "csv", "--lake"]).arg(home.lake());
        run(ask.env("HOME", home.home())).expect_code(0).stdout
    };
    let from_database = daily(&["daily_cost"]);
    fs_err::remove_file(&database).unwrap();
    assert_eq!(from_database, daily(&["daily_cost"]), "from the database and from the parts");
}

/// Writes a part anew without its last column, as an older schema version had it, and tells the state so.
fn make_old(lake: &Path, part: &Part) {
    let path = lake.join(&part.path);
    let reader = ParquetRecordBatchReaderBuilder::try_new(fs_err::File::open(&path).unwrap().into_parts().0).unwrap();
    let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
    let kept: Vec<usize> = (0..batches[0].num_columns() - 1).collect();
    let old: Vec<RecordBatch> = batches.iter().map(|batch| batch.project(&kept).unwrap()).collect();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, old[0].schema(), None).unwrap();
    old.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.close().unwrap();
    fs_err::write(&path, &bytes).unwrap();
    let state = rusqlite::Connection::open(Layout::new(lake).state_file()).unwrap();
    let hash = xxhash_rust::xxh3::xxh3_128(&bytes).to_le_bytes();
    let sql = "UPDATE parts SET bytes = ?2, xxh3 = ?3, schema_version = ?4 WHERE path = ?1";
    state.execute(sql, rusqlite::params![part.path, bytes.len() as i64, hash, SCHEMA_VERSION - 1]).unwrap();
}

#[test]
fn parts_of_an_older_schema_are_read_and_brought_up_to_date() {
    let home = Home::new();
    Sessions::new().run(&home, 1);
    let before = home.rows();
    let old: Vec<Part> = parts(&home.lake()).into_iter().filter(|part| part.table == MESSAGES.name).collect();
    old.iter().for_each(|part| make_old(&home.lake(), part));
    let last = MESSAGES.columns.last().unwrap().name;
    let messages = before.table("messages").len().to_string();
    assert_eq!(agentlake_query(&home, &format!("SELECT count(*) - count({last}) FROM messages")), messages);
    let summary = home.compact().expect_code(0).summary();
    assert_eq!(summary["parts_upgraded"].as_u64().unwrap() as usize, old.len(), "{summary}");
    assert!(parts(&home.lake()).iter().all(|part| part.schema_version == SCHEMA_VERSION));
    assert_compacted(&before, &home.rows(), "the last column was empty before, too");
}
