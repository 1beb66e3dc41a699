//! The tables `prices` and `model_prices`: what the pricers answer, as rows that SQL can join.

use std::collections::BTreeSet;

use arrow::array::{Array, AsArray, StringArray};
use duckdb::Connection;
use fs_err::File;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::errors::ParquetError;

use crate::model::time;
use crate::pricing::{self, ModelUse, PriceTable};

use super::{LakeSnapshot, Part, Result, Trying, WarehouseError};

const CREATE: &str = "
CREATE OR REPLACE TABLE prices (
    price_key VARCHAR, channel VARCHAR, mode VARCHAR, valid_from TIMESTAMP, valid_to TIMESTAMP,
    prompt_over BIGINT, prompt_upto BIGINT,
    input DECIMAL(18, 6), cache_read DECIMAL(18, 6), cache_write_5m DECIMAL(18, 6), cache_write_1h DECIMAL(18, 6),
    output DECIMAL(18, 6), web_search_per_1k DECIMAL(18, 6), geo_us_mult DECIMAL(9, 6), basis VARCHAR, source VARCHAR
);
CREATE OR REPLACE TABLE model_prices (
    provider VARCHAR, vendor VARCHAR, model VARCHAR, speed VARCHAR, service_tier VARCHAR,
    price_key VARCHAR, channel VARCHAR, mode VARCHAR, match_kind VARCHAR, valid_from TIMESTAMP, valid_to TIMESTAMP
);";

/// What chooses a price, as columns of `usage`; a missing value is an empty text in `model_prices`.
const USE_COLUMNS: [&str; 4] = ["vendor", "model", "speed", "service_tier"];

/// Makes both tables, empty.
pub(super) fn create(connection: &Connection) -> Result<()> {
    connection.execute_batch(CREATE).trying("make the tables of prices")
}

/// Fills `prices` with every cell.
pub(super) fn fill_prices(connection: &Connection, table: &PriceTable) -> Result<()> {
    let trying = "fill the table of prices";
    let mut appender = connection.appender("prices").trying(trying)?;
    for cell in table.cells() {
        let row = duckdb::params![
            cell.price_key,
            cell.channel,
            cell.mode,
            sql_time(cell.valid_from),
            sql_time(cell.valid_to),
            cell.prompt_over,
            cell.prompt_upto,
            sql_decimal(cell.input),
            sql_decimal(cell.cache_read),
            sql_decimal(cell.cache_write_5m),
            sql_decimal(cell.cache_write_1h),
            sql_decimal(cell.output),
            sql_decimal(cell.web_search_per_1k),
            sql_decimal(cell.geo_us_mult),
            cell.basis,
            cell.source,
        ];
        appender.append_row(row).trying(trying)?;
    }
    appender.flush().trying(trying)
}

/// Fills `model_prices` with the meaning of every use.
pub(super) fn fill_model_prices(
    connection: &Connection,
    table: &PriceTable,
    uses: impl IntoIterator<Item = ModelUse>,
) -> Result<()> {
    let trying = "fill the table of model prices";
    let mut appender = connection.appender("model_prices").trying(trying)?;
    for row in uses.into_iter().flat_map(|model_use| pricing::resolve(table, &model_use)) {
        let row = duckdb::params![
            row.model_use.provider,
            row.model_use.vendor,
            row.model_use.model,
            row.model_use.speed,
            row.model_use.service_tier,
            row.price_key,
            row.channel,
            row.mode,
            row.match_kind,
            sql_time(row.valid_from),
            sql_time(row.valid_to),
        ];
        appender.append_row(row).trying(trying)?;
    }
    appender.flush().trying(trying)
}

/// The uses in the table `stored.usage`.
pub(super) fn uses_in_database(connection: &Connection) -> Result<BTreeSet<ModelUse>> {
    let trying = "list the models in use";
    let columns = USE_COLUMNS.map(|column| format!("coalesce({column}, '')")).join(", ");
    let sql = format!("SELECT DISTINCT provider, {columns} FROM stored.usage");
    let mut statement = connection.prepare(&sql).trying(trying)?;
    let rows = statement.query_map([], |row| {
        Ok(ModelUse {
            provider: row.get(0)?,
            vendor: row.get(1)?,
            model: row.get(2)?,
            speed: row.get(3)?,
            service_tier: row.get(4)?,
        })
    });
    rows.trying(trying)?.collect::<duckdb::Result<_>>().trying(trying)
}

/// The uses in the parts of `usage`, read from them directly: for four columns of many small parts that takes a fraction of
/// what a scan by DuckDB does.
pub(super) fn uses_in_parts(lake: &LakeSnapshot) -> Result<BTreeSet<ModelUse>> {
    let mut uses = BTreeSet::new();
    for part in lake.parts_of("usage") {
        let file = File::open(&part.path)?;
        add_uses(part, file, &mut uses).map_err(|source| WarehouseError::Part { path: part.path.clone(), source })?;
    }
    Ok(uses)
}

fn add_uses(part: &Part, file: File, uses: &mut BTreeSet<ModelUse>) -> Result<(), ParquetError> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(file.into_parts().0)?;
    let wanted = ProjectionMask::columns(builder.parquet_schema(), USE_COLUMNS);
    let mut last: Option<[String; 4]> = None;
    for batch in builder.with_projection(wanted).build()? {
        let batch = batch?;
        let columns =
            USE_COLUMNS.map(|name| batch.column_by_name(name).and_then(|column| column.as_string_opt::<i32>()));
        for row in 0..batch.num_rows() {
            let values = columns.map(|column| text_at(column, row));
            // Neighbours are mostly alike, so most rows cost four comparisons.
            if last.as_ref().is_some_and(|last| last.iter().zip(values).all(|(last, value)| last == value)) {
                continue;
            }
            let [vendor, model, speed, service_tier] = values.map(str::to_owned);
            last = Some([vendor.clone(), model.clone(), speed.clone(), service_tier.clone()]);
            uses.insert(ModelUse { provider: part.provider.clone(), vendor, model, speed, service_tier });
        }
    }
    Ok(())
}

fn text_at(column: Option<&StringArray>, row: usize) -> &str {
    column.filter(|column| column.is_valid(row)).map_or("", |column| column.value(row))
}

fn sql_time(micros: i64) -> String {
    time::text(micros).trim_end_matches('Z').to_owned()
}

/// Millionths as decimal text, which DuckDB casts exactly.
fn sql_decimal(millionths: i64) -> String {
    format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000)
}
