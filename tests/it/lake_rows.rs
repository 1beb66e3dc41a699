//! A lake as plain rows, read with nothing but a Parquet reader over the glob that people use; and its totals.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use agentlake::lake::{Layout, State};
use agentlake::model::tables::TABLES;
use arrow::array::{Array, ArrayRef, AsArray as _};
use arrow::datatypes::{DataType, Decimal128Type, Int64Type, TimestampMicrosecondType};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Map, Value};

/// One row: column ⇒ value; `provider` and `date` are those of the path.
pub type Row = Map<String, Value>;

/// The counters that add.
pub const COUNTERS: [&str; 7] = [
    "input_tokens",
    "cache_read_tokens",
    "cache_write_5m_tokens",
    "cache_write_1h_tokens",
    "output_tokens",
    "web_search_requests",
    "reasoning_tokens",
];

/// The rows of a lake.
#[derive(Debug, Clone, Default)]
pub struct LakeRows {
    tables: BTreeMap<&'static str, Vec<Row>>,
}

impl LakeRows {
    /// Reads every part below the table folders, and makes sure that they are the ones that the state lists.
    pub fn read(lake: &Path) -> Self {
        let layout = Layout::new(lake);
        let files = layout.files().unwrap();
        let state = State::open_read_only(&layout).unwrap();
        let listed: BTreeSet<PathBuf> = state.parts().unwrap().iter().map(|part| lake.join(&part.path)).collect();
        assert_eq!(files.iter().cloned().collect::<BTreeSet<_>>(), listed, "parts on disk and parts in the state");
        assert_eq!(state.unpublished().unwrap(), Vec::<i64>::new(), "batches that are not published");
        let mut tables: BTreeMap<&'static str, Vec<Row>> =
            TABLES.into_iter().map(|table| (table.name, Vec::new())).collect();
        for file in files {
            let below = file.strip_prefix(lake).unwrap();
            let names: Vec<&str> = below.iter().map(|name| name.to_str().unwrap()).collect();
            let [table, provider, date, _] = names.as_slice() else {
                panic!("{} is at a strange place", file.display())
            };
            let (_, rows) = tables.iter_mut().find(|(name, _)| *name == table).unwrap();
            for mut row in read_part(&file) {
                row.insert("provider".to_owned(), provider.strip_prefix("provider=").unwrap().into());
                row.insert("date".to_owned(), date.strip_prefix("date=").unwrap().into());
                rows.push(row);
            }
        }
        Self { tables }
    }

    /// The same rows as if the home directory had stood at `~`, so that lakes of two homes can be compared.
    pub fn without_home(mut self, home: &Path) -> Self {
        for row in self.tables.values_mut().flatten() {
            if let Some(Value::String(path)) = row.get_mut("source_path") {
                *path = path.replace(&home.display().to_string(), "~");
            }
        }
        self
    }

    /// The same rows as if another machine had written them.
    pub fn with_host(mut self, host: &str) -> Self {
        for row in self.tables.values_mut().flatten() {
            row.insert("host".to_owned(), host.into());
        }
        self
    }

    /// Rows of a table.
    pub fn table(&self, name: &str) -> &[Row] {
        &self.tables[name]
    }

    /// One column of a table, sorted.
    pub fn column(&self, table: &str, column: &str) -> Vec<String> {
        let mut values: Vec<String> = self.table(table).iter().map(|row| text(&row[column])).collect();
        values.sort();
        values
    }

    /// Issues by kind.
    pub fn issues(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for kind in self.column("issues", "kind") {
            *counts.entry(kind).or_default() += 1;
        }
        counts
    }

    /// Counters summed per request, with the model of its newest row: what the view `requests` shows of it, whoever it is
    /// credited to.
    pub fn requests(&self) -> BTreeMap<String, (Vec<i64>, String)> {
        let mut requests: BTreeMap<String, (Vec<i64>, i64, String)> = BTreeMap::new();
        for row in self.table("usage") {
            let (sums, newest, model) = requests
                .entry(format!("{}/{}", text(&row["provider"]), text(&row["request_key"])))
                .or_insert_with(|| (vec![0; COUNTERS.len()], -1, String::new()));
            for (sum, counter) in sums.iter_mut().zip(COUNTERS) {
                *sum += row[counter].as_i64().unwrap_or(0);
            }
            if row["rev"].as_i64().unwrap() > *newest {
                *newest = row["rev"].as_i64().unwrap();
                *model = text(&row["model"]);
            }
        }
        requests.into_iter().map(|(key, (sums, _, model))| (key, (sums, model))).collect()
    }

    /// Totals under the names of `expected.json`.
    pub fn totals(&self) -> BTreeMap<&'static str, i64> {
        let names = ["input", "cache_read", "cache_write_5m", "cache_write_1h", "output", "web_search", "reasoning"];
        let sum = |column| self.table("usage").iter().filter_map(|row| row[column].as_i64()).sum();
        let mut totals: BTreeMap<&'static str, i64> =
            names.into_iter().zip(COUNTERS).map(|(name, column)| (name, sum(column))).collect();
        totals.insert("requests", self.requests().len() as i64);
        for table in ["messages", "tool_calls", "tool_results", "issues", "usage_copies"] {
            totals.insert(table, self.table(table).len() as i64);
        }
        totals
    }

    /// The newest row of each session, without what says when and from which file it was written.
    pub fn sessions(&self) -> BTreeMap<String, Row> {
        let mut newest: HashMap<String, &Row> = HashMap::new();
        for row in self.table("sessions") {
            let kept = newest.entry(text(&row["event_id"])).or_insert(row);
            if row["batch"].as_i64() > kept["batch"].as_i64() {
                *kept = row;
            }
        }
        let without = |row: &Row| {
            let mut row = row.clone();
            for name in ["batch", "file_size", "source_path", "source_kind"] {
                row.remove(name);
            }
            row
        };
        newest.into_iter().map(|(id, row)| (id, without(row))).collect()
    }

    /// Rows of a table by event id, without the batch. Two rows of one id fail the test, unless the provider's records can
    /// change after they were written: then the newest batch holds, and two rows in one batch fail it.
    #[track_caller]
    pub fn by_id(&self, table: &str) -> BTreeMap<String, Row> {
        let restating: BTreeSet<&str> = agentlake::adapters::restating_slugs().collect();
        let mut rows: BTreeMap<String, (i64, Row)> = BTreeMap::new();
        for row in self.table(table) {
            let mut row = row.clone();
            let batch = row.remove("batch").and_then(|batch| batch.as_i64()).unwrap();
            let id = text(&row["event_id"]);
            match rows.get(&id) {
                Some((other, _)) if *other != batch && restating.contains(text(&row["provider"]).as_str()) => {
                    if batch > *other {
                        rows.insert(id, (batch, row));
                    }
                }
                Some((_, other)) => panic!("event_id {id} stands twice in {table}: {row:#?} and {other:#?}"),
                None => drop(rows.insert(id, (batch, row))),
            }
        }
        rows.into_iter().map(|(id, (_, row))| (id, row)).collect()
    }

    /// The same without the place, where a record of one session can stand in two files (a document and the log that goes on
    /// with it): which of them was read first is no part of what a record is.
    fn records(&self, table: &str) -> BTreeMap<String, Row> {
        let restating: BTreeSet<&str> = agentlake::adapters::restating_slugs().collect();
        let mut rows = self.by_id(table);
        for row in rows.values_mut().filter(|row| restating.contains(text(&row["provider"]).as_str())) {
            row.remove("seq");
            row.remove("source_path");
        }
        rows
    }

    /// Fails the test unless no event id stands twice, `sessions` apart, which has a row per change.
    #[track_caller]
    pub fn assert_no_doubles(&self) {
        for table in self.tables.keys().filter(|table| **table != "sessions") {
            self.by_id(table);
        }
    }

    /// Fails the test unless both lakes hold the same records, sums and newest facts; how they are spread over batches
    /// and files of copies does not matter.
    #[track_caller]
    pub fn assert_same_views(&self, other: &Self, what: &str) {
        same(&self.requests(), &other.requests(), &format!("{what}: requests"));
        for table in ["messages", "tool_calls", "tool_results"] {
            same(&self.records(table), &other.records(table), &format!("{what}: {table}"));
        }
        same(&self.sessions(), &other.sessions(), &format!("{what}: sessions"));
    }

    /// Fails the test unless both lakes hold the same rows in all tables, apart from `batch`.
    #[track_caller]
    pub fn assert_same_rows(&self, other: &Self, what: &str) {
        if let Some(difference) = self.difference(other) {
            panic!("{what}: {difference}");
        }
    }

    /// Says in which rows two lakes differ, apart from `batch`.
    pub fn difference(&self, other: &Self) -> Option<String> {
        TABLES.into_iter().find_map(|table| {
            let rows = |lake: &Self| -> BTreeMap<String, usize> {
                let mut rows = BTreeMap::new();
                for row in lake.table(table.name) {
                    let mut row = row.clone();
                    row.remove("batch");
                    // An issue about a path is dated by the run.
                    if table.name == "issues" && row["session_id"].is_null() {
                        row.remove("ts");
                    }
                    *rows.entry(Value::Object(row).to_string()).or_default() += 1;
                }
                rows
            };
            difference(&rows(self), &rows(other)).map(|difference| format!("{}: {difference}", table.name))
        })
    }
}

/// Compares two maps and tells the first differences only.
#[track_caller]
fn same<V: PartialEq + std::fmt::Debug>(left: &BTreeMap<String, V>, right: &BTreeMap<String, V>, what: &str) {
    if let Some(difference) = difference(left, right) {
        panic!("{what}: {difference}");
    }
}

fn difference<V: PartialEq + std::fmt::Debug>(
    left: &BTreeMap<String, V>,
    right: &BTreeMap<String, V>,
) -> Option<String> {
    if left == right {
        return None;
    }
    let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    let differing: Vec<String> = keys
        .into_iter()
        .filter(|key| left.get(*key) != right.get(*key))
        .map(|key| format!("{key}:\n  left  {:?}\n  right {:?}", left.get(key), right.get(key)))
        .collect();
    let shown = &differing[..differing.len().min(4)];
    let all = left.len().max(right.len());
    Some(format!("{} of {all} differ, the first:\n{}", differing.len(), shown.join("\n")))
}

/// A value as text; NULL is empty.
pub fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Every row of a Parquet file.
pub fn read_part(path: &Path) -> Vec<Row> {
    let file = fs_err::File::open(path).unwrap().into_parts().0;
    let mut rows = Vec::new();
    for batch in ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap() {
        let batch = batch.unwrap();
        let schema = batch.schema();
        for at in 0..batch.num_rows() {
            let cells = schema.fields().iter().zip(batch.columns());
            rows.push(cells.map(|(field, column)| (field.name().clone(), value(column, at))).collect());
        }
    }
    rows
}

fn value(column: &ArrayRef, row: usize) -> Value {
    if column.is_null(row) {
        return Value::Null;
    }
    match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().value(row).into(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).into(),
        DataType::Boolean => column.as_boolean().value(row).into(),
        DataType::Timestamp(..) => column.as_primitive::<TimestampMicrosecondType>().value(row).into(),
        DataType::Decimal128(..) => column.as_primitive::<Decimal128Type>().value(row).to_string().into(),
        DataType::List(_) => {
            let list = column.as_list::<i32>().value(row);
            let texts = list.as_string::<i32>();
            texts.iter().map(|text| text.map_or(Value::Null, Value::from)).collect()
        }
        other => panic!("a column of the unexpected type {other}"),
    }
}
