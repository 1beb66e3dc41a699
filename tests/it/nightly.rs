//! A job that runs every night: parts, time and answers after hundreds of nights, and readers meanwhile.
//!
//! Forty nights with the other tests; `AGENTLAKE_NIGHTS=400` for more, and `AGENTLAKE_NIGHTS_CSV=FILE` writes what was measured
//! each night.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use agentlake::adapters;
use agentlake::ingest::{self, RunOptions};
use agentlake::lake::compact::{self, Choice};
use agentlake::lake::{Lake, Layout, State};
use agentlake::model::time::{DAY, day, day_text};
use agentlake::source::Roots;

use crate::home::{Home, agentlake, run};
use crate::lake_rows::LakeRows;
use crate::transcript::Transcript;

/// What an export of the binary does, at a time of the test's choosing: read, then merge crowded partitions.
fn export(home: &Path, lake: &Path, now: i64) -> compact::Compacted {
    let mut lake = Lake::open(lake).unwrap();
    let options = RunOptions {
        wave_bytes: ingest::run::DEFAULT_WAVE_BYTES,
        max_line_bytes: ingest::run::DEFAULT_MAX_LINE_BYTES,
        keep_raw: false,
        host: "here".to_owned(),
        now,
    };
    let before = lake.state.newest_batch().unwrap();
    ingest::run(&mut lake, adapters::all(), &Roots::at_home(home), &options, &|_| {}, &|_| {}).unwrap();
    let due = compact::choose::choose(&lake.state, &Choice::AfterExport { before }, now).unwrap();
    compact::compact(&mut lake, &due, now, &|_| {}).unwrap()
}

/// Most parts in a partition of a day before `today`, most in any other, and all.
fn crowds(lake: &Path, today: &str) -> (usize, usize, usize) {
    let parts = State::open_read_only(&Layout::new(lake)).unwrap().parts().unwrap();
    let mut counts: BTreeMap<(String, String, String), usize> = BTreeMap::new();
    for part in &parts {
        *counts.entry((part.date.clone(), part.table.clone(), part.provider.clone())).or_default() += 1;
    }
    let most = |is_closed: bool| {
        let wanted = counts.iter().filter(|((date, ..), _)| (date.as_str() < today) == is_closed);
        wanted.map(|(_, &count)| count).max().unwrap_or(0)
    };
    (most(true), most(false), parts.len())
}

/// A session that goes on: one prompt a night, and a long-lived one beside it.
struct Night {
    number: usize,
    now: i64,
}

/// Writes the sessions of a night: yesterday's evening and this night's small hours, a session that lives for twenty nights, and
/// now and then a late line in an old session.
fn write(home: &Home, night: &Night) {
    let stamp = |ts: i64| agentlake::model::time::text(ts);
    let mut lines: BTreeMap<String, String> = BTreeMap::new();
    let mut say = |session: usize, at: i64, key: usize| {
        let id = format!("{session:08x}-2222-4222-8222-222222222222");
        let text = lines.entry(id.clone()).or_default();
        for (role, part) in [("user", 0), ("assistant", 1)] {
            let uuid = format!("{session:08x}-bbbb-4000-8000-{key:08}{part:04}");
            let message = if part == 0 {
                serde_json::json!({ "role": "user", "content": "Go on, please." })
            } else {
                serde_json::json!({ "id": format!("msg_{session:08}{key:08}"), "type": "message", "role": "assistant",
                    "model": "claude-sonnet-4-6", "content": [{ "type": "text", "text": "Done, and what next?" }],
                    "usage": { "input_tokens": 10, "output_tokens": 20 } })
            };
            let line = serde_json::json!({ "type": role, "uuid": uuid, "sessionId": id, "cwd": "/w/app", "version": "2.1.200",
                "timestamp": stamp(at + part), "requestId": (part == 1).then(|| format!("req_{session:08}{key:08}")),
                "message": message });
            writeln!(text, "{line}").unwrap();
        }
    };
    let hour = DAY / 24;
    for turn in 0..4 {
        say(1000 + night.number, night.now - 6 * hour + turn as i64 * 1_000_000, turn);
        say(1000 + night.number, night.now - hour + turn as i64 * 1_000_000, 100 + turn);
    }
    say(1 + night.number / 20, night.now - 4 * hour, night.number);
    if night.number % 7 == 6 {
        // Somebody went on with a session of last week, whose day was closed long ago.
        say(1000 + night.number - 6, night.now - 7 * DAY, 5000);
    }
    for (id, text) in lines {
        let path = format!(".claude/projects/-w-app/{id}.jsonl");
        let held = fs_err::read_to_string(home.path(&path)).unwrap_or_default();
        let file = home.write(&path, held + &text);
        // Else the files would be of a time after the run's, which no run trusts: all of them would be opened every night.
        let written = SystemTime::UNIX_EPOCH + Duration::from_micros(u64::try_from(night.now - hour / 2).unwrap());
        fs_err::OpenOptions::new().write(true).open(file).unwrap().file().set_modified(written).unwrap();
    }
}

fn nights() -> usize {
    std::env::var("AGENTLAKE_NIGHTS").ok().and_then(|nights| nights.parse().ok()).unwrap_or(40)
}

#[test]
fn nights_do_not_add_up() {
    let home = Home::new();
    let begin = agentlake::model::time::parse("2025-10-01T02:00:00Z").unwrap();
    let mut measured = String::from("night,parts,most_parts_closed,most_parts_open,export_ms,daily_cost_ms\n");
    let mut spans = Vec::new();
    for number in 0..nights() {
        let night = Night { number, now: begin + number as i64 * DAY };
        write(&home, &night);
        let started = Instant::now();
        export(&home.home(), &home.lake(), night.now);
        let export_ms = started.elapsed().as_secs_f64() * 1000.0;
        let (closed, open, parts) = crowds(&home.lake(), &day_text(day(night.now)));
        assert!(closed <= 2, "night {number}: {closed} parts in a partition of a closed day");
        assert!(open <= 8, "night {number}: {open} parts in a partition of an open day");
        let mut query = agentlake();
        query.args(["query", "daily_cost", "--format", "csv", "--lake"]).arg(home.lake()).env("HOME", home.home());
        let started = Instant::now();
        let answer = run(&mut query).expect_code(0);
        let query_ms = started.elapsed().as_secs_f64() * 1000.0;
        assert!(answer.stdout.lines().count() > 1);
        writeln!(measured, "{number},{parts},{closed},{open},{export_ms:.1},{query_ms:.1}").unwrap();
        spans.push((export_ms, query_ms));
    }
    if let Some(file) = std::env::var_os("AGENTLAKE_NIGHTS_CSV") {
        fs_err::write(Path::new(&file), &measured).unwrap();
    }
    home.export_into("undisturbed").expect_code(0);
    let rows = home.rows();
    rows.assert_no_doubles();
    rows.assert_same_views(&home.rows_of("undisturbed").with_host("here"), "every night and at once");
}

/// Runs `work` while `look` is repeated in another thread; returns how often it looked.
fn while_looking(work: impl FnOnce(), look: impl Fn() + Sync) -> usize {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let looking = scope.spawn(|| {
            let mut looks = 0;
            while !done.load(Ordering::SeqCst) {
                look();
                looks += 1;
            }
            looks
        });
        work();
        done.store(true, Ordering::SeqCst);
        looking.join().unwrap()
    })
}

/// Each batch brings as many prompts as answers, so half a batch shows.
#[test]
fn readers_see_whole_batches_only() {
    let home = Home::new();
    let rounds = nights() / 4;
    let mut transcripts: Vec<Transcript> = (1..=6).map(|number| Transcript::with_turns(number, 1)).collect();
    let write = |transcripts: &[Transcript]| {
        for transcript in transcripts {
            home.write_old(&transcript.path(), transcript.text());
        }
    };
    write(&transcripts);
    let database = |command: &mut std::process::Command| {
        let arguments: Vec<_> =
            command.get_args().filter(|argument| *argument != "--no-duckdb").map(ToOwned::to_owned).collect();
        run(agentlake().args(arguments).env("HOME", home.home())).expect_code(0)
    };
    database(&mut home.export_command(&home.lake(), &[]));
    // Six sessions on six days, each with as many requests as prompts: a count that six does not divide is half a batch.
    let ask = |arguments: &[&str]| {
        let mut query = agentlake();
        query.arg("query").args(arguments).args(["--format", "csv", "--lake"]).arg(home.lake());
        run(query.env("HOME", home.home())).expect_code(0).stdout
    };
    let sql = "SELECT (SELECT count(*) FROM messages WHERE kind = 'human') AS prompts, (SELECT count(*) FROM requests) AS answers";
    let looks = while_looking(
        || {
            for round in 0..rounds {
                for transcript in &mut transcripts {
                    transcript.turns(1);
                }
                write(&transcripts);
                database(&mut home.export_command(&home.lake(), &["--no-compact"]));
                if round % 2 == 1 {
                    home.compact().expect_code(0);
                }
            }
        },
        || {
            let answer = ask(&["--sql", sql]);
            let counts: Vec<u64> =
                answer.lines().nth(1).unwrap().split(',').map(|count| count.parse().unwrap()).collect();
            assert!(counts[0] == counts[1] && counts[0].is_multiple_of(6), "half a batch: {answer}");
            let daily = ask(&["daily_cost"]);
            let requests: u64 =
                daily.lines().skip(1).map(|line| line.split(',').nth(2).unwrap().parse::<u64>().unwrap()).sum();
            assert_eq!(requests % 6, 0, "half a batch: {daily}");
        },
    );
    eprintln!("{rounds} exports and {} compactions: {looks} looks, each of whole batches", rounds / 2);
    assert!(looks > rounds / 4, "{looks} looks");
    home.rows().assert_no_doubles();
}

/// A plain glob knows nothing of batches: what it sees is counted, and told. It must never see a row twice.
#[test]
fn a_plain_glob_sees_no_row_twice() {
    let home = Home::new();
    let rounds = nights() as u32 / 4;
    let mut transcript = Transcript::with_turns(1, 1);
    home.write_old(&transcript.path(), transcript.text());
    home.export().expect_code(0);
    let glob = Layout::new(&home.lake()).glob("usage");
    let seen = std::sync::Mutex::new(BTreeMap::<&str, usize>::new());
    let looks = while_looking(
        || {
            for round in 0..rounds {
                transcript.turns(1);
                home.write_old(&transcript.path(), transcript.text());
                home.export_with(&["--no-compact"]).expect_code(0);
                if round % 2 == 1 {
                    home.compact().expect_code(0);
                }
            }
        },
        || {
            let duckdb = duckdb::Connection::open_in_memory().unwrap();
            let sql = format!("SELECT count(*), count(DISTINCT event_id) FROM read_parquet('{glob}')");
            let looked: duckdb::Result<(i64, i64)> = duckdb.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?)));
            let what = match looked {
                Ok((rows, ids)) if rows > ids => "rows twice",
                Ok(_) => "right",
                Err(_) => "an error that names a file",
            };
            *seen.lock().unwrap().entry(what).or_default() += 1;
        },
    );
    let seen = seen.into_inner().unwrap();
    eprintln!("{rounds} exports and {} compactions, {looks} looks of a plain glob: {seen:?}", rounds / 2);
    assert_eq!(seen.get("rows twice"), None, "{seen:?}");
    assert!(seen.get("right").is_some_and(|&right| right > 0), "{seen:?}");
    let rows: LakeRows = home.rows();
    rows.assert_no_doubles();
}
