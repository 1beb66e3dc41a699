//! A lake of a few rows. Rows are given as SQL, with the columns that matter; the others are NULL.

use std::path::PathBuf;

use chrono::NaiveDate;
use duckdb::Connection;
use tempfile::TempDir;

use crate::model::tables::{SCHEMA_VERSION, TABLES};
use crate::warehouse::{Filters, Format, LakeSnapshot, Part, Question, connection, run};

/// A lake in a temporary folder.
pub struct MockLake {
    pub folder: TempDir,
    pub snapshot: LakeSnapshot,
}

impl MockLake {
    pub fn new() -> Self {
        let snapshot = LakeSnapshot { lake_id: "mock".to_owned(), generation: 1, ..LakeSnapshot::default() };
        Self { folder: TempDir::new().unwrap(), snapshot }
    }

    /// Writes a part of what `select` returns. `ts` may be given as a text in UTC; its day is the partition.
    pub fn part(&mut self, table: &str, provider: &str, date: &str, batch: i64, select: &str) -> &mut Self {
        self.merged_part(table, provider, date, &[(batch, select.to_owned())])
    }

    /// Writes a part of rows of several batches, the oldest first, as compaction does.
    pub fn merged_part(&mut self, table: &str, provider: &str, date: &str, rows: &[(i64, String)]) -> &mut Self {
        let batch = rows.last().unwrap().0;
        let of_batch = |(batch, select): &(i64, String)| format!("SELECT {batch} AS batch, * FROM ({select})");
        let select = union(&rows.iter().map(of_batch).collect::<Vec<_>>());
        let spec = TABLES.iter().find(|spec| spec.name == table).unwrap();
        let columns: Vec<_> = spec.all_columns().collect();
        let nothing: Vec<_> =
            columns.iter().map(|column| format!("NULL::{} AS {}", column.kind.sql_type(), column.name)).collect();
        let cast: Vec<_> = columns
            .iter()
            .map(|column| format!("{}::{} AS {}", column.name, column.kind.sql_type(), column.name))
            .collect();
        let folder = self.folder.path().join(table).join(format!("provider={provider}")).join(format!("date={date}"));
        fs_err::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("part-mock-b{batch:06}-{:04}.parquet", self.snapshot.parts.len()));
        let sql = format!(
            "COPY (
                 SELECT {} FROM (
                     SELECT {} WHERE false UNION ALL BY NAME {select}
                 )
             ) TO '{}' (FORMAT parquet, COMPRESSION zstd)",
            cast.join(", "),
            nothing.join(", "),
            path.display(),
        );
        connection::in_memory().unwrap().execute_batch(&sql).unwrap();
        if rows.len() > 1 {
            self.snapshot.merged_batches.extend(rows.iter().map(|(batch, _)| *batch));
        }
        self.snapshot.parts.push(Part {
            table: table.to_owned(),
            provider: provider.to_owned(),
            path,
            batch,
            first_batch: rows.first().unwrap().0,
            schema_version: SCHEMA_VERSION,
        });
        self
    }

    /// What a question returns, as CSV lines without the header.
    pub fn rows(&self, question: Question<'_>, filters: &Filters) -> Vec<String> {
        let text = self.text(question, filters, Format::Csv);
        text.lines().skip(1).map(str::to_owned).collect()
    }

    pub fn sql(&self, sql: &str) -> Vec<String> {
        self.rows(Question::Sql(sql), &Filters::default())
    }

    pub fn text(&self, question: Question<'_>, filters: &Filters, format: Format) -> String {
        let mut out = Vec::new();
        run(&self.snapshot, question, filters, format, None, &mut out).unwrap_or_else(|error| {
            panic!("{error}: {:?}", std::error::Error::source(&error).map(ToString::to_string))
        });
        String::from_utf8(out).unwrap()
    }

    pub fn database(&self) -> PathBuf {
        self.folder.path().join("agentlake.duckdb")
    }

    pub fn prices(&self) -> PathBuf {
        self.folder.path().join("prices")
    }

    pub fn scratch(&self) -> PathBuf {
        let folder = self.folder.path().join("scratch");
        fs_err::create_dir_all(&folder).unwrap();
        folder
    }
}

/// A day for a filter, which may be absent.
pub fn day(text: &str) -> Option<NaiveDate> {
    NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()
}

/// All rows of a query as CSV-like texts.
pub fn texts(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(&format!("SELECT row::VARCHAR FROM ({sql}) AS row")).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().collect::<duckdb::Result<_>>().unwrap()
}

/// Several SELECTs as one; a column that one of them lacks is NULL there.
pub fn union(selects: &[String]) -> String {
    selects.join(" UNION ALL BY NAME ")
}

/// A row of usage: the columns that tests set most often, then others as `, x AS column`.
pub struct Usage {
    pub ts: &'static str,
    pub model: &'static str,
    pub rest: &'static str,
}

impl Usage {
    pub fn select(&self, key: &str) -> String {
        let Self { ts, model, rest } = self;
        let vendor = if model.starts_with("claude") {
            "anthropic"
        } else if model.starts_with("gemini") {
            "google"
        } else {
            "openai"
        };
        let grain = if rest.contains("AS grain") { "" } else { ", 'request' AS grain" };
        format!(
            "SELECT '{key}' AS event_id, '{key}' AS record_key, 's1' AS session_id, '{ts}Z' AS ts, '{key}' AS request_key,
                    0 AS rev, 'counted' AS status, '{model}' AS model, '{vendor}' AS vendor,
                    'exact' AS count_basis, '/home/u/app' AS project {grain} {rest}"
        )
    }
}
