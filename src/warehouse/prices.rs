//! The tables `prices` and `model_prices`: what the pricers answer, as rows that SQL can join.

use std::collections::BTreeSet;

use duckdb::Connection;

use crate::model::time;
use crate::pricing::{self, ModelUse, PriceTable};

use super::usage_parts::USE_COLUMNS;
use super::{Result, Trying};

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

fn sql_time(micros: i64) -> String {
    time::text(micros).trim_end_matches('Z').to_owned()
}

/// Millionths as decimal text, which DuckDB casts exactly.
fn sql_decimal(millionths: i64) -> String {
    format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000)
}
