//! What people type and read: help, errors, exit codes, and the forms of answers.

use std::path::Path;

use serde_json::Value;

use crate::home::{Home, Run, agentlake, run};
use crate::transcript::Transcript;

fn help(command: &[&str]) -> String {
    let help = run(agentlake().args(command).arg("--help")).expect_code(0).stdout;
    help.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Runs a command that must be refused as wrong usage.
#[track_caller]
fn refused(arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut command = agentlake();
    command.args(arguments).env("HOME", folder.path()).env("AGENTLAKE_LAKE", folder.path().join("lake"));
    let refused = run(&mut command).expect_code(2);
    assert_eq!(refused.stdout, "", "errors are no output");
    assert!(!folder.path().join("lake").exists(), "{arguments:?} made a lake");
    refused.stderr
}

#[test]
fn help_of_the_program() {
    insta::assert_snapshot!(help(&[]), @r#"
    Session files of AI coding agents, as a lake of Parquet files and a DuckDB database with priced
    rollups

    Usage: agentlake <COMMAND>

    Commands:
      export   Bring everything new from this machine's agents into the lake
      query    Ask a bundled question, or one of your own, over the lake
      compact  Merge the parts of days that are over, and of days with many parts
      merge    Bring the rows of other lakes, from other machines, into this one
      sources  Show what was found where, and how much of it is new
      schema   Describe the tables: columns, types, units, meaning
      prices   Look at prices, find models without one, check and update your own
      help     Print this message or the help of the given subcommand(s)

    Options:
      -h, --help     Print help
      -V, --version  Print version
    "#);
}

#[test]
fn help_of_export() {
    insta::assert_snapshot!(help(&["export"]), @r#"
    Bring everything new from this machine's agents into the lake

    Usage: agentlake export [OPTIONS]

    Options:
          --lake <DIR>
              The lake's folder [default: agentlake/ in the XDG data directory]

              [env: AGENTLAKE_LAKE]

          --home <DIR>
              Look into this home directory instead of your own; environment variables of agents are
              then ignored

          --source <PROVIDER=PATH>
              Add a file or folder of a provider

          --provider <SLUG>
              Only these providers

          --raw
              Keep each line as it stood, in the column `raw` of `messages`

          --no-duckdb
              Do not refresh agentlake.duckdb

          --prices <FILE>
              Your own prices [default: agentlake/prices.toml in the XDG config directory, if there is
              one]

              [env: AGENTLAKE_PRICES]

          --threads <N>
              Threads that read and write [default: one per processor]

          --wave-bytes <BYTES>
              Source bytes per batch: bounds memory, and what a killed run must read again. Accepts K, M
              and G

              [default: 32M]

          --max-line-bytes <BYTES>
              A longer line becomes an issue. Accepts K, M and G

              [default: 128M]

          --dry-run
              Only say what would be read

          --format <FORMAT>
              Form of the summary

              Possible values:
              - table: For people
              - json:  For programs

              [default: table]

          --report <FILE>
              Write the summary, as JSON, to this file too

      -q, --quiet
              No progress and no summary; errors only

          --no-compact
              Leave the parts as they are, also where a day has many

          --host <NAME>
              Name of this machine in the column `host`, from now on [default: the name it had when it
              first wrote to the lake]

              [env: AGENTLAKE_HOST]

      -h, --help
              Print help (see a summary with '-h')

    Examples:
      agentlake export
      agentlake export --lake /data/lake --provider claude --quiet
      agentlake export --source claude=/backup/projects --format json
    "#);
}

#[cfg(feature = "duckdb")]
#[test]
fn help_of_query() {
    insta::assert_snapshot!(help(&["query"]), @r#"
    Ask a bundled question, or one of your own, over the lake

    Usage: agentlake query [OPTIONS] [NAME]

    Arguments:
      [NAME]
              A bundled query; without a name, lists what there is

    Options:
          --sql <SQL>
              SQL to run instead

          --file <FILE>
              File with SQL to run instead

          --since <YYYY-MM-DD>
              First day

          --until <YYYY-MM-DD>
              Last day, included

          --tz <ZONE>
              Time zone whose days count, of the IANA database [default: the system's]

          --week-start <DAY>
              Day that weeks begin with [default: monday]

          --provider <SLUG>
              Only these providers

          --project <PATH>
              Only this project: its directory, or the end of it

          --cost <COST>
              Where costs come from

              Possible values:
              - auto:     What the tool reported, where it reported more than zero; else computed
              - computed: From counters and prices alone
              - reported: What the tool reported alone

              [default: auto]

          --prices-at <YYYY-MM-DD>
              Price all history as if on this day

          --param <NAME=VALUE>
              Another parameter of the query, such as top=10

          --queries <DIR>
              Folder with queries of your own, one SQL file each, listed and named like the bundled ones

              [env: AGENTLAKE_QUERIES]

          --prices <FILE>
              Your own prices [default: agentlake/prices.toml in the XDG config directory, if there is
              one]

              [env: AGENTLAKE_PRICES]

          --format <FORMAT>
              Form of the answer [default: by the name of --output, else table]

              Possible values:
              - table:    Aligned columns
              - csv:      Comma-separated values with a header
              - json:     One JSON array
              - ndjson:   One JSON object per line
              - markdown: A Markdown table
              - parquet:  A Parquet file (needs --output)

      -o, --output <FILE>
              Write the answer to this file

          --lake <DIR>
              The lake's folder [default: agentlake/ in the XDG data directory]

              [env: AGENTLAKE_LAKE]

      -h, --help
              Print help (see a summary with '-h')

    Examples:
      agentlake query
      agentlake query daily_cost --since 2026-11-01 --provider claude
      agentlake query --sql "select model, sum(output_tokens) from usage group by 1" --format csv
    "#);
}

#[test]
fn help_of_sources() {
    insta::assert_snapshot!(help(&["sources"]), @r#"
    Show what was found where, and how much of it is new

    Usage: agentlake sources [OPTIONS]

    Options:
          --lake <DIR>
              The lake's folder [default: agentlake/ in the XDG data directory]

              [env: AGENTLAKE_LAKE]

          --home <DIR>
              Look into this home directory instead of your own; environment variables of agents are
              then ignored

          --source <PROVIDER=PATH>
              Add a file or folder of a provider

          --provider <SLUG>
              Only these providers

          --format <FORMAT>
              Form of the answer

              Possible values:
              - table: For people
              - json:  For programs

              [default: table]

      -h, --help
              Print help (see a summary with '-h')

    Examples:
      agentlake sources
      agentlake sources --home /mnt/old-laptop/home/me --format json
    "#);
}

#[test]
fn help_of_schema() {
    insta::assert_snapshot!(help(&["schema"]), @r#"
    Describe the tables: columns, types, units, meaning

    Usage: agentlake schema [OPTIONS] [TABLE]

    Arguments:
      [TABLE]
              Only this table

    Options:
          --format <FORMAT>
              Form of the answer

              Possible values:
              - table:    For a terminal
              - markdown: For docs
              - json:     For programs

              [default: table]

      -h, --help
              Print help (see a summary with '-h')

    Examples:
      agentlake schema usage
      agentlake schema --format markdown > docs/schema.md
    "#);
}

#[test]
fn wrong_usage_names_the_flag_and_the_remedy() {
    let cases: [(&[&str], &[&str]); 11] = [
        (&["export", "--wave-bytes", "many"], &["--wave-bytes", "4096, 64M or 1G"]),
        (&["export", "--wave-bytes", "0"], &["--wave-bytes"]),
        (&["export", "--threads", "0"], &["--threads", "1"]),
        (&["export", "--provider", "clawd"], &["--provider clawd", "claude"]),
        (&["export", "--source", "claude"], &["--source", "PROVIDER=PATH"]),
        (&["export", "--source", "clawd=/tmp"], &["--source clawd", "claude"]),
        (&["export", "--source", "claude=/nowhere/at/all"], &["--source claude=/nowhere/at/all"]),
        (&["export", "--home", "/nowhere/at/all"], &["--home /nowhere/at/all"]),
        (&["export", "--format", "xml"], &["--format", "json"]),
        (&["schema", "usages"], &["usages", "usage"]),
        (&["exprot"], &["exprot", "export"]),
    ];
    for (arguments, wanted) in cases {
        let text = refused(arguments);
        for words in wanted {
            assert!(text.contains(words), "{arguments:?} does not say {words}: {text}");
        }
        assert!(!text.contains("panicked"), "{text}");
    }
    assert!(refused(&[]).contains("Usage: agentlake <COMMAND>"));
}

#[test]
fn a_dry_run_says_what_it_would_read_and_writes_nothing() {
    let home = Home::new();
    let claude = Transcript::with_turns(1, 2);
    let path = home.write_old(&claude.path(), claude.text());
    let told = home.export_with(&["--dry-run"]).expect_code(0).summary();
    assert_eq!(told["would_read"], serde_json::json!([path.display().to_string()]));
    assert_eq!(told["bytes"], claude.text().len());
    assert!(!home.lake().exists(), "a dry run made a lake");
    home.export().expect_code(0);
    let again = home.export_with(&["--dry-run"]).expect_code(0).summary();
    assert_eq!((&again["sources"], &again["bytes"]), (&1.into(), &0.into()));
}

#[test]
fn a_reader_that_closes_the_pipe_is_no_error() {
    let home = Home::new();
    home.write_old(&Transcript::new(1).path(), Transcript::with_turns(1, 2).text());
    let mut sources = agentlake();
    sources.arg("sources").arg("--home").arg(home.home()).arg("--lake").arg(home.lake());
    let mut schema = agentlake();
    schema.args(["schema", "--format", "markdown"]);
    let export = home.export_command(&home.lake(), &[]);
    for mut command in [schema, sources, export] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        command.stdout(writer).stderr(std::process::Stdio::piped());
        let ended = Run::of(command.spawn().unwrap().wait_with_output().unwrap());
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{command:?}");
    }
    assert_eq!(home.rows().totals()["requests"], 2, "the work was done");
}

#[test]
fn sources_of_an_empty_home_say_why() {
    let home = Home::new();
    let mut command = agentlake();
    command.arg("sources").arg("--home").arg(home.home()).arg("--lake").arg(home.lake());
    let told = run(&mut command).expect_code(0).stdout;
    assert!(told.contains("Claude Code (claude)") && told.contains("Codex CLI (codex)"), "{told}");
    assert!(
        told.contains(".claude/projects  (not there)") && told.contains("nothing found: none of the places exists"),
        "{told}"
    );
    assert!(!home.lake().exists());
    let list: Value = serde_json::from_str(&run(command.args(["--format", "json"])).expect_code(0).stdout).unwrap();
    for provider in list.as_array().unwrap() {
        assert_eq!(provider["files"], 0);
        assert!(provider["why_empty"].is_string(), "{provider:#}");
    }
}

#[test]
fn sources_count_what_is_new_and_what_is_gone() {
    let home = Home::new();
    let claude = Transcript::with_turns(1, 2);
    let path = home.write_old(&claude.path(), claude.text());
    let ask = || -> Value {
        let mut command = agentlake();
        command.args(["sources", "--provider", "claude", "--format", "json"]);
        command.arg("--home").arg(home.home()).arg("--lake").arg(home.lake());
        serde_json::from_str::<Value>(&run(&mut command).expect_code(0).stdout).unwrap()[0].clone()
    };
    assert_eq!((&ask()["files"], &ask()["bytes_to_read"]), (&1.into(), &claude.text().len().into()));
    home.export().expect_code(0);
    assert_eq!(
        (&ask()["files"], &ask()["bytes_to_read"], &ask()["sessions_in_lake"]),
        (&1.into(), &0.into(), &1.into())
    );
    fs_err::remove_file(path).unwrap();
    assert_eq!((&ask()["files"], &ask()["files_gone"], &ask()["sessions_in_lake"]), (&0.into(), &1.into(), &1.into()));
}

#[test]
fn the_summary_has_these_keys() {
    let home = Home::new();
    home.write_old(&Transcript::new(1).path(), Transcript::with_turns(1, 2).text());
    let report = home.beside("report.json");
    let summary = home.export_with(&["--report", report.to_str().unwrap()]).expect_code(0).summary();
    let keys: Vec<&String> = summary.as_object().unwrap().keys().collect();
    insta::assert_snapshot!(keys.iter().map(|key| key.as_str()).collect::<Vec<_>>().join(" "), @"batches bytes_read compacted cost_added_usd issues lake part_bytes parts price_basis query recovered_batches requests_added rows sources sources_changed tokens_added tokens_without_price warnings");
    let reported: Value = serde_json::from_slice(&fs_err::read(report).unwrap()).unwrap();
    assert_eq!(reported, summary);
    assert_eq!(summary["tokens_added"]["output_tokens"], 40);
    assert_eq!(summary["query"], format!("{}/usage/**/*.parquet", home.lake().display()));
    assert_eq!(home.export_with(&["--quiet"]).expect_code(0).stdout, "");
}

#[test]
fn the_summary_for_people() {
    let home = Home::new();
    home.write_old(&Transcript::new(1).path(), Transcript::with_turns(1, 2).text());
    let mut command = agentlake();
    command.args(["export", "--no-duckdb"]).arg("--home").arg(home.home()).arg("--lake").arg(home.lake());
    let told = run(&mut command).expect_code(0).stdout.replace(&home.lake().display().to_string(), "[lake]");
    let told: Vec<&str> =
        told.lines().filter(|line| !line.contains(" parts, ") && !line.starts_with("warning")).collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    1 sources, 1 changed, 2.0 kB read
    rows: messages 4, sessions 1, usage 2
    2 requests: input 20, cache write 0, cache read 200, output 40
    query: [lake]/usage/**/*.parquet
    ");
}

#[test]
fn the_lake_is_found_by_argument_environment_and_data_directory() {
    let home = Home::new();
    home.write_old(&Transcript::new(1).path(), Transcript::with_turns(1, 1).text());
    let command = || {
        let mut command = agentlake();
        command.args(["export", "--quiet"]).arg("--home").arg(home.home()).env("HOME", home.beside("user"));
        if cfg!(feature = "duckdb") {
            command.arg("--no-duckdb");
        }
        command
    };
    run(command().env("AGENTLAKE_LAKE", home.beside("by-environment"))).expect_code(0);
    run(command().env("XDG_DATA_HOME", home.beside("data"))).expect_code(0);
    run(&mut command()).expect_code(0);
    run(command().env("AGENTLAKE_LAKE", home.beside("never")).arg("--lake").arg(home.beside("by-argument")))
        .expect_code(0);
    for lake in ["by-environment", "data/agentlake", "user/.local/share/agentlake", "by-argument"] {
        assert!(home.beside(lake).join("usage").is_dir(), "{lake}");
    }
    assert!(!home.beside("never").exists());
}

#[test]
fn the_schema_of_one_table_and_of_all() {
    let usage = run(agentlake().args(["schema", "usage"])).expect_code(0).stdout;
    assert!(usage.starts_with("usage: ") && usage.contains("  cache_read_tokens      BIGINT"), "{usage}");
    let all: Value =
        serde_json::from_str(&run(agentlake().args(["schema", "--format", "json"])).expect_code(0).stdout).unwrap();
    let names: Vec<&str> = all.as_array().unwrap().iter().map(|table| table["table"].as_str().unwrap()).collect();
    assert_eq!(names, ["sessions", "messages", "usage", "usage_copies", "tool_calls", "tool_results", "issues"]);
}

#[test]
fn the_page_on_tables_is_current() {
    let made = run(agentlake().args(["schema", "--format", "markdown"])).expect_code(0).stdout;
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema.md");
    let kept = fs_err::read_to_string(&page).unwrap();
    assert!(kept == made, "docs/schema.md is old: run `agentlake schema --format markdown > docs/schema.md`");
}
