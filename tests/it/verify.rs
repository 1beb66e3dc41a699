//! `verify` finds every damage, finds nothing in a sound lake, and changes nothing.

use std::path::Path;

use crate::damage::{DAMAGES, Sessions, edit, listed};
use crate::home::{Home, Run, agentlake, run};
use crate::transcript::Transcript;

/// Runs `verify --format json` with more arguments.
pub fn verify(home: &Home, arguments: &[&str]) -> Run {
    let mut command = agentlake();
    command.arg("verify").arg("--home").arg(home.home()).arg("--lake").arg(home.lake());
    command.args(["--threads", "2", "--format", "json"]).args(arguments).env("HOME", home.beside(""));
    run(&mut command)
}

/// Kinds of findings, each once.
fn kinds(run: &Run) -> Vec<String> {
    run.summary()["finding_counts"].as_object().unwrap().keys().cloned().collect()
}

/// Every file of the lake with its bytes, but for the lock.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs_err::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()));
        } else if !entry.path().ends_with("writer.lock") && !entry.path().to_str().unwrap().contains("state.db-") {
            found.push((entry.path().display().to_string(), fs_err::read(entry.path()).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn a_sound_lake_has_no_findings_and_stays_as_it_is() {
    let home = Home::new();
    Sessions::export(&home);
    let before = files(&home.lake());
    for arguments in [&[][..], &["--against-sources"]] {
        let verified = verify(&home, arguments).expect_code(0).summary();
        assert_eq!((&verified["ok"], &verified["findings"]), (&true.into(), &serde_json::json!([])));
        assert!(verified["requests"].as_i64().unwrap() > 10 && verified["rows"].as_i64().unwrap() > 30, "{verified:#}");
    }
    assert_eq!(before, files(&home.lake()));
}

#[test]
fn every_damage_is_found_and_comes_with_a_remedy() {
    for damage in DAMAGES {
        let home = Home::new();
        Sessions::export(&home);
        (damage.inflict)(&home.lake());
        let found = verify(&home, &[]).expect_code(1);
        assert!(kinds(&found).contains(&damage.finding.to_owned()), "{}: {found:#?}", damage.name);
        for finding in found.summary()["findings"].as_array().unwrap() {
            assert!(finding["remedy"].as_str().unwrap().contains("agentlake repair"), "{}: {finding}", damage.name);
        }
    }
}

#[test]
fn other_edits_of_the_state_are_found() {
    for (sql, kind) in [
        ("UPDATE requests SET input = 7 WHERE rowid_free()", "ledger_mismatch"),
        ("DELETE FROM requests WHERE request IN (SELECT min(request) FROM requests)", "ledger_mismatch"),
        ("DELETE FROM parts WHERE path IN (SELECT min(path) FROM parts)", "foreign_part"),
        ("UPDATE parts SET bytes = bytes - 1 WHERE path IN (SELECT min(path) FROM parts)", "damaged_part"),
        ("UPDATE parts SET xxh3 = zeroblob(16) WHERE path IN (SELECT min(path) FROM parts)", "damaged_part"),
        ("UPDATE lake SET lake_id = '00000000000000000000000000000000'", "part_contradiction"),
        ("DELETE FROM sources WHERE id IN (SELECT source_id FROM sessions)", "state_contradiction"),
        ("UPDATE sources SET read_offset = size + 1 WHERE id = 1", "state_contradiction"),
        ("DELETE FROM batches WHERE batch = 1", "foreign_part"),
    ] {
        let sql = sql.replace("rowid_free()", "request IN (SELECT max(request) FROM requests)");
        let home = Home::new();
        Sessions::export(&home);
        edit(&home.lake(), &sql);
        let found = verify(&home, &[]).expect_code(1);
        assert!(kinds(&found).contains(&kind.to_owned()), "{sql}: {found:#?}");
    }
}

#[test]
fn the_sources_tell_what_no_hash_can() {
    let home = Home::new();
    let sessions = Sessions::export(&home);
    let sound = verify(&home, &["--against-sources"]).expect_code(0).summary();
    let against = &sound["against_sources"];
    let gone = home.path(&sessions.gone.path()).display().to_string();
    assert_eq!(
        against["vanished_sources"],
        serde_json::json!({ gone: 10 }),
        "ten messages of five prompts and answers"
    );
    assert_eq!((&against["sources"], &against["rows_not_exported"]), (&5.into(), &0.into()));

    // A checkpoint that claims more than was exported: nothing else can tell that rows are missing.
    let mut grown = sessions.claude[0].clone();
    grown.turns(2);
    home.write_old(&grown.path(), grown.text());
    let later = verify(&home, &["--against-sources"]).expect_code(0).summary();
    assert_eq!(later["against_sources"]["rows_not_exported"], 4 + 2, "messages and claims that wait for an export");
}

#[test]
fn rows_that_the_lake_lacks_or_has_beyond_its_sources_are_told() {
    let home = Home::new();
    let claude = Transcript::with_turns(1, 6);
    let path = home.write_old(&claude.path(), claude.text());
    home.export().expect_code(0);
    // A part and every trace of it are gone: only the source can tell.
    let part = listed(&home.lake()).into_iter().find(|path| path.starts_with("messages/")).unwrap();
    let kept = fs_err::read(home.lake().join(&part)).unwrap();
    fs_err::remove_file(home.lake().join(&part)).unwrap();
    edit(&home.lake(), "CREATE TABLE kept AS SELECT * FROM parts WHERE table_name = 'messages'");
    edit(&home.lake(), "DELETE FROM parts WHERE table_name = 'messages'");
    verify(&home, &[]).expect_code(0);
    let found = verify(&home, &["--against-sources"]).expect_code(1);
    assert_eq!(kinds(&found), ["missing_rows"]);
    assert!(found.stdout.contains("12 rows of messages"), "{found:?}");
    fs_err::write(home.lake().join(&part), kept).unwrap();
    edit(&home.lake(), "INSERT INTO parts SELECT * FROM kept");
    verify(&home, &["--against-sources"]).expect_code(0);

    // A line in the middle was changed, and neither size nor the hashes of first and last lines tell.
    let changed = claude.text().replacen("aaaa-4000-8000-000000000005", "aaaa-4000-8000-00000000000f", 1);
    let changed = changed.replacen("\"output_tokens\":20", "\"output_tokens\":29", 1);
    home.write_old(&claude.path(), &changed);
    assert_eq!(fs_err::read(path).unwrap().len(), claude.text().len());
    let found = verify(&home, &["--against-sources"]).expect_code(1);
    assert_eq!(kinds(&found), ["missing_rows", "unknown_rows", "usage_mismatch"]);
}

#[test]
fn a_lake_that_does_not_exist_is_an_error() {
    let home = Home::new();
    let refused = verify(&home, &[]).expect_code(2);
    assert!(refused.stderr.contains("there is no lake"), "{refused:?}");
    assert!(!home.lake().exists(), "looking for a lake makes none");
}
