//! Tables as Arrow schemas, and how Parquet encodes each column.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;

use crate::model::tables::{SCHEMA_VERSION, TableSpec};

/// zstd level of parts: higher levels cost several times the CPU for a percent of the size.
pub const DEFAULT_ZSTD_LEVEL: i32 = 1;
/// Rows of a row group; DuckDB reads row groups of this size in parallel.
pub const DEFAULT_ROW_GROUP_ROWS: usize = 122_880;

/// Parts with fewer rows are small: there, columns with a dictionary go without compression. Each compressed column costs a
/// zstd context, which for a dozen distinct values is most of the cost of the column.
pub const SMALL_PART_ROWS: usize = 16_384;

/// Columns whose values never repeat: a dictionary would be built and thrown away.
const UNIQUE: &[&str] =
    &["event_id", "record_key", "uuid", "message_uuid", "tool_use_id", "request_key", "response_id"];
/// Columns of free text, where minima and maxima help nobody.
const FREE_TEXT: &[&str] =
    &["content_text", "thinking_text", "blocks", "attributes", "raw", "input", "output", "reported", "detail"];
/// Columns that grow slowly from row to row.
const ASCENDING: &[&str] = &["seq", "ts"];

/// The Arrow schema of a table's parts.
#[must_use]
pub fn schema_of(table: &TableSpec) -> SchemaRef {
    let fields: Vec<Field> = table
        .all_columns()
        .map(|column| {
            let required = matches!(column.name, "event_id" | "record_key" | "ts" | "batch" | "seq");
            Field::new(column.name, column.kind.data_type(), !required)
        })
        .collect();
    Arc::new(Schema::new(fields))
}

/// How a part of `rows` rows is written. `is_blank` tells of a column (by position among the table's own) that it has no
/// value in this part.
#[must_use]
pub fn properties_of(
    table: &TableSpec,
    lake_id: &str,
    batch: i64,
    rows: usize,
    is_blank: impl Fn(usize) -> bool,
) -> WriterProperties {
    let metadata = [
        ("app", "agentlake".to_owned()),
        ("app_version", env!("CARGO_PKG_VERSION").to_owned()),
        ("schema_version", SCHEMA_VERSION.to_string()),
        ("lake_id", lake_id.to_owned()),
        ("batch", batch.to_string()),
    ];
    let position =
        |name: &str| table.all_columns().position(|column| column.name == name).and_then(|at| i32::try_from(at).ok());
    let sorting = ["session_id", "ts", "seq"]
        .iter()
        .filter_map(|name| position(name))
        .map(|column_idx| SortingColumn { column_idx, descending: false, nulls_first: true });
    let mut builder = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(DEFAULT_ZSTD_LEVEL).unwrap_or_default()))
        .set_max_row_group_row_count(Some(DEFAULT_ROW_GROUP_ROWS))
        .set_created_by(concat!("agentlake ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_sorting_columns(Some(sorting.collect()))
        .set_key_value_metadata(Some(
            metadata.into_iter().map(|(key, value)| KeyValue::new(key.to_owned(), value)).collect(),
        ));
    for column in table.all_columns() {
        let path = || ColumnPath::from(column.name);
        if UNIQUE.contains(&column.name) || FREE_TEXT.contains(&column.name) {
            builder = builder.set_column_dictionary_enabled(path(), false);
        } else if rows < SMALL_PART_ROWS && !ASCENDING.contains(&column.name) {
            builder = builder.set_column_compression(path(), Compression::UNCOMPRESSED);
        }
        if FREE_TEXT.contains(&column.name) {
            builder = builder.set_column_statistics_enabled(path(), EnabledStatistics::None);
        } else if column.name != "ts" && column.name != "session_id" {
            builder = builder.set_column_statistics_enabled(path(), EnabledStatistics::Chunk);
        }
        if ASCENDING.contains(&column.name) {
            builder = builder
                .set_column_dictionary_enabled(path(), false)
                .set_column_encoding(path(), Encoding::DELTA_BINARY_PACKED);
        }
    }
    // A compressed page costs a zstd context, whatever is in it: pages that hold nothing, or one value, go without.
    let blank = table.columns.iter().enumerate().filter(|(at, _)| is_blank(*at)).map(|(_, column)| column.name);
    for name in blank.chain(["batch", "host"]) {
        let path = || ColumnPath::from(name);
        builder = builder.set_column_compression(path(), Compression::UNCOMPRESSED);
        if name != "batch" && name != "host" {
            builder = builder.set_column_dictionary_enabled(path(), false);
        }
    }
    builder.build()
}
