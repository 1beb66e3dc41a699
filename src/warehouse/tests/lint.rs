//! All SQL that ships must mean the same without ICU and in any session time zone.

use std::collections::BTreeSet;

use crate::model::columns::ColumnKind;
use crate::model::tables::{BATCH_COLUMNS, RECORD_COLUMNS, TABLES};
use crate::warehouse::objects::OBJECTS;
use crate::warehouse::statements::code;
use crate::warehouse::{BUNDLED, connection};

/// What depends on the session's time zone, needs ICU, or reads the clock. Compared without spaces, in lower case.
const FORBIDDEN: [&str; 22] = [
    "attimezone",
    "timezone(",
    "timestamptz",
    "withtimezone",
    "now()",
    "today()",
    "current_timestamp",
    "current_date",
    "current_time",
    "get_current",
    "localtimestamp",
    "localtime",
    "transaction_timestamp",
    "::time",
    "strftime(ts,",
    "date_trunc('',ts)",
    "date_part('',ts)",
    "to_timestamp(",
    "timetz",
    "age(",
    "make_timestamptz",
    "date_diff('',ts",
];

/// Names of the columns whose type is TIMESTAMPTZ.
fn zoned_columns() -> BTreeSet<&'static str> {
    let own = TABLES.iter().flat_map(|table| table.columns);
    RECORD_COLUMNS
        .iter()
        .chain(BATCH_COLUMNS)
        .chain(own)
        .filter(|column| column.kind == ColumnKind::Time)
        .map(|column| column.name)
        .collect()
}

/// What is wrong with an SQL text.
fn complaints(sql: &str) -> Vec<String> {
    let code = code(sql).to_lowercase();
    let dense: String = code.split_whitespace().collect();
    let mut complaints: Vec<String> =
        FORBIDDEN.iter().filter(|pattern| dense.contains(**pattern)).map(|pattern| format!("uses {pattern}")).collect();
    // A column with a zone may only be the argument of epoch_us.
    let spaced = code.split_whitespace().collect::<Vec<_>>().join(" ");
    let used = without_exclusions(&spaced);
    let safe = zoned_columns().iter().fold(used, |code, column| code.replace(&format!("epoch_us({column})"), ""));
    for word in safe.split(|letter: char| !letter.is_alphanumeric() && letter != '_') {
        if zoned_columns().contains(word) {
            complaints.push(format!("uses {word} outside of epoch_us"));
        }
    }
    complaints
}

/// Leaves out `EXCLUDE (…)`: what is left out of a result is not used.
fn without_exclusions(code: &str) -> String {
    let mut parts = code.split("exclude (");
    let kept = parts.next().unwrap_or_default().to_owned();
    parts.fold(kept, |kept, part| kept + part.split_once(')').map_or("", |(_, rest)| rest))
}

#[test]
fn no_sql_depends_on_time_zones() {
    for (name, sql) in OBJECTS
        .iter()
        .map(|object| (object.name, object.sql))
        .chain(BUNDLED.iter().map(|query| (query.name, query.sql)))
    {
        assert_eq!(complaints(sql), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn the_lint_sees_what_it_must() {
    for sql in [
        "SELECT ts::DATE FROM usage",
        "SELECT date_trunc('day', ts) FROM usage",
        "SELECT strftime(ts, '%Y') FROM usage",
        "SELECT started_at FROM sessions",
        "SELECT * EXCLUDE (seq), ts FROM usage",
        "SELECT max(u.ts) FROM usage AS u",
        "SELECT ts_utc AT TIME ZONE 'UTC' FROM usage",
        "SELECT now() - INTERVAL 1 DAY",
        "SELECT current_date",
        "SELECT epoch_us(ts)::TIMESTAMP WITH TIME ZONE FROM usage",
    ] {
        assert_ne!(complaints(sql), Vec::<String>::new(), "{sql}");
    }
    assert_eq!(complaints("SELECT make_timestamp(epoch_us(ts))::DATE FROM usage -- now()"), Vec::<String>::new());
}

/// The functions that the views lean on, in the engine that this build links: with or without ICU.
#[test]
fn the_engine_reads_utc_without_icu() {
    let connection = connection::in_memory().unwrap();
    let text: String = connection
        .query_row(
            "SELECT make_timestamp(epoch_us(TIMESTAMPTZ '2026-07-01 00:30:00+02:00'))::DATE::VARCHAR",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(text, "2026-06-30");
}
