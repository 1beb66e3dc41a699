//! The schema `stored`: the lake's rows as they are, in the columns that the lake declares. What fills it differs between a
//! query (views over the parts) and the database for notebooks (tables); the views above see no difference.
//!
//! Promise: of a record that was written again with the same `event_id`, only the newest version is in `stored`.

use std::collections::BTreeSet;

use duckdb::Connection;

use crate::model::tables::{TABLES, TableSpec};

use super::objects::Needed;
use super::usage_parts::{UsageParts, partition};
use super::{LakeSnapshot, Part, Result, Trying, quoted};

/// Tables whose rows are records, which documents and databases write again when they changed. Rows of usage are never
/// replaced, since they add up, and of sessions the view takes the newest.
const REVISED: [&str; 4] = ["messages", "tool_calls", "tool_results", "issues"];

/// Makes the schema with every table of the lake, empty.
pub(super) fn create_tables(connection: &Connection) -> Result<()> {
    let tables = TABLES.iter().map(|table| {
        let columns =
            columns(table).map(|(name, sql_type)| format!("{name} {sql_type}")).collect::<Vec<_>>().join(", ");
        format!("CREATE TABLE stored.{} ({columns});", table.name)
    });
    let sql = format!("CREATE SCHEMA stored; {}", tables.collect::<String>());
    connection.execute_batch(&sql).trying("make the tables")
}

/// Puts views over the parts in the place of the empty tables of the same shape.
///
/// Done after the views above were made: making a view binds everything below it, and binding a scan of hundreds of parts
/// is what takes time.
pub(super) fn replace_by_views(
    connection: &Connection,
    needed: &Needed,
    lake: &LakeSnapshot,
    usage: &UsageParts,
) -> Result<()> {
    for table in needed.tables() {
        replace(connection, table, &rows(table, lake, |_| true).unwrap_or_else(|| nothing(table)))?;
    }
    // The halves of usage are told apart by whole partitions, so each is a list of parts.
    for (half, is_revised) in [("usage_single", false), ("usage_revised", true)] {
        if needed.contains(half) {
            let parts = rows("usage", lake, |part| usage.revised.contains(&partition(part)) == is_revised);
            replace(connection, half, &parts.unwrap_or_else(|| nothing("usage")))?;
        }
    }
    Ok(())
}

fn replace(connection: &Connection, name: &str, rows: &str) -> Result<()> {
    let sql = "SELECT count(*) > 0 FROM duckdb_views() WHERE schema_name = 'stored' AND view_name = ?";
    let is_view: bool = connection.query_row(sql, [name], |row| row.get(0)).trying("look for a view")?;
    let kind = if is_view { "VIEW" } else { "TABLE" };
    let sql = format!("DROP {kind} stored.{name}; CREATE VIEW stored.{name} AS {rows};");
    connection.execute_batch(&sql).trying(&format!("look into the parts of {name}"))
}

/// Adds the rows of `batches`; returns how many.
pub(super) fn load(connection: &Connection, lake: &LakeSnapshot, batches: &BTreeSet<i64>) -> Result<usize> {
    let mut loaded = 0;
    for table in TABLES {
        let name = table.name;
        let Some(mut rows) = rows(name, lake, |part| part.may_hold(batches)) else { continue };
        if lake.parts_of(name).any(|part| part.is_merged() && part.may_hold(batches)) {
            let numbers = batches.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
            rows = format!("SELECT * FROM ({rows}) WHERE batch IN ({numbers})");
        }
        let insert = format!("INSERT INTO stored.{name} BY NAME {rows}");
        loaded += connection.execute(&insert, []).trying(&format!("load the rows of {name}"))?;
        if REVISED.contains(&name) && !lake.revising_providers.is_empty() {
            let outdated = format!(
                "DELETE FROM stored.{name} AS old USING (
                     SELECT event_id, max(batch) AS batch FROM stored.{name} GROUP BY event_id HAVING count(*) > 1
                 ) AS newest
                 WHERE old.event_id = newest.event_id AND old.batch < newest.batch"
            );
            connection.execute(&outdated, []).trying(&format!("drop outdated rows of {name}"))?;
        }
    }
    Ok(loaded)
}

/// A SELECT of a table's rows in the parts that `is_wanted`; `None` if there are no such parts.
fn rows(table: &str, lake: &LakeSnapshot, is_wanted: impl Fn(&Part) -> bool) -> Option<String> {
    let spec = TABLES.iter().find(|spec| spec.name == table)?;
    let (revised, plain): (Vec<&Part>, Vec<&Part>) = lake
        .parts_of(table)
        .filter(|part| is_wanted(part))
        .partition(|part| REVISED.contains(&table) && lake.revising_providers.contains(&part.provider));
    let plain = scan(spec, &plain);
    let revised = scan(spec, &revised).map(|rows| {
        format!(
            "SELECT * FROM ({rows}) AS version
             ANTI JOIN ({rows}) AS newer ON newer.event_id = version.event_id AND newer.batch > version.batch"
        )
    });
    match (plain, revised) {
        (Some(plain), Some(revised)) => Some(format!("{plain} UNION ALL {revised}")),
        (plain, revised) => plain.or(revised),
    }
}

/// A SELECT of every declared column from parts; `None` without parts.
fn scan(spec: &TableSpec, parts: &[&Part]) -> Option<String> {
    if parts.is_empty() {
        return None;
    }
    let paths = parts.iter().map(|part| quoted(&part.path.to_string_lossy())).collect::<Vec<_>>().join(", ");
    let names = columns(spec).map(|(name, _)| name).collect::<Vec<_>>().join(", ");
    let hive = "hive_partitioning = true, hive_types = {'provider': 'VARCHAR', 'date': 'DATE'}";
    // Opening every part to compare schemas doubles the time; only older parts lack columns.
    if parts.iter().all(|part| part.is_current()) {
        return Some(format!("SELECT {names} FROM read_parquet([{paths}], {hive})"));
    }
    Some(format!(
        "SELECT {names} FROM (
             {} UNION ALL BY NAME SELECT * FROM read_parquet([{paths}], {hive}, union_by_name = true)
         )",
        nothing(spec.name)
    ))
}

/// A SELECT of no rows in the columns of a table.
fn nothing(table: &str) -> String {
    let columns = TABLES.iter().filter(|spec| spec.name == table).flat_map(|spec| columns(spec));
    let columns = columns.map(|(name, sql_type)| format!("NULL::{sql_type} AS {name}")).collect::<Vec<_>>().join(", ");
    format!("SELECT {columns} WHERE false")
}

/// The columns of a table with their types: those of its parts, then the partition's.
fn columns(spec: &TableSpec) -> impl Iterator<Item = (&'static str, &'static str)> {
    let partition = [("provider", "VARCHAR"), ("date", "DATE")];
    spec.all_columns().map(|column| (column.name, column.kind.sql_type())).chain(partition)
}
