//! The tables of prices: what the price table and the pricers say, as rows that SQL can join.
//!
//! `prices` holds cells, `price_hours` the hours of vendors that bill by the hour of day, `model_prices` what each recorded
//! use means, `price_basis` what all of it was made from. For a single question only the cells of models in use are parsed
//! and filled in; the database for notebooks and the files for other engines get all.

use std::collections::BTreeSet;

use duckdb::Connection;

use crate::model::time;
use crate::pricing::{self, ModelPrice, ModelUse, PriceTable};

use super::usage_parts::USE_COLUMNS;
use super::{Result, Trying, quoted};

const CREATE: &str = "
CREATE OR REPLACE TABLE prices (
    price_key VARCHAR, channel VARCHAR, mode VARCHAR, valid_from TIMESTAMP, valid_to TIMESTAMP,
    prompt_over BIGINT, prompt_upto BIGINT,
    input DECIMAL(18, 6), cache_read DECIMAL(18, 6), cache_write_5m DECIMAL(18, 6), cache_write_1h DECIMAL(18, 6),
    output DECIMAL(18, 6), web_search_per_1k DECIMAL(18, 6), geo_us_mult DECIMAL(9, 6), basis VARCHAR, source VARCHAR
);
CREATE OR REPLACE TABLE price_hours (
    price_key VARCHAR, mode VARCHAR, valid_from TIMESTAMP, valid_to TIMESTAMP,
    weekdays VARCHAR, from_minute BIGINT, to_minute BIGINT, except_days DATE[]
);
CREATE OR REPLACE TABLE price_basis (version VARCHAR, date DATE, hash VARCHAR, over VARCHAR);
CREATE OR REPLACE TABLE model_prices (
    provider VARCHAR, vendor VARCHAR, model VARCHAR, speed VARCHAR, service_tier VARCHAR,
    price_key VARCHAR, billing VARCHAR, channel VARCHAR, mode VARCHAR, match_kind VARCHAR,
    valid_from TIMESTAMP, valid_to TIMESTAMP
);";

/// Makes all tables, empty.
pub(super) fn create(connection: &Connection) -> Result<()> {
    connection.execute_batch(CREATE).trying("make the tables of prices")
}

/// What every use means.
pub(super) fn meanings(table: &PriceTable, uses: impl IntoIterator<Item = ModelUse>) -> Vec<ModelPrice> {
    uses.into_iter().flat_map(|model_use| pricing::resolve(table, &model_use)).collect()
}

/// The price keys of some meanings.
pub(super) fn keys_of(meanings: &[ModelPrice]) -> BTreeSet<&str> {
    meanings.iter().filter_map(|row| row.price_key.as_deref()).collect()
}

/// Fills the tables but `model_prices` with what is known of `keys`.
pub(super) fn fill_prices(connection: &Connection, table: &PriceTable, keys: &BTreeSet<&str>) -> Result<()> {
    let trying = "fill the table of prices";
    let mut appender = connection.appender("prices").trying(trying)?;
    let mut hours = Vec::new();
    for key in keys {
        for cell in table.cells_of(key)? {
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
        hours.extend(table.schedules_of(key).map(|schedule| {
            let days = table.holidays().of(schedule.calendar.as_deref());
            let days = days.map(|day| format!("DATE {}", quoted(&time::day_text(day)))).collect::<Vec<_>>().join(", ");
            format!(
                "INSERT INTO price_hours VALUES ({}, {}, {}, {}, {}, {}, {}, [{days}]::DATE[]);",
                quoted(&schedule.price_key),
                quoted(&schedule.mode),
                quoted(&sql_time(schedule.valid_from)),
                quoted(&sql_time(schedule.valid_to)),
                quoted(&schedule.weekdays),
                schedule.from_minute,
                schedule.to_minute,
            )
        }));
    }
    appender.flush().trying(trying)?;
    let basis = table.basis();
    let over = if basis.over.is_empty() { "NULL".to_owned() } else { quoted(&basis.over.join(" + ")) };
    hours.push(format!(
        "INSERT INTO price_basis VALUES ({}, {}, {}, {over});",
        quoted(basis.version),
        quoted(&basis.date),
        quoted(&basis.hash)
    ));
    connection.execute_batch(&hours.concat()).trying("fill the tables of hours and basis")
}

/// Fills `model_prices` anew.
pub(super) fn fill_model_prices(connection: &Connection, meanings: &[ModelPrice]) -> Result<()> {
    let trying = "fill the table of model prices";
    connection.execute_batch("DELETE FROM model_prices").trying(trying)?;
    let mut appender = connection.appender("model_prices").trying(trying)?;
    for row in meanings {
        let row = duckdb::params![
            row.model_use.provider,
            row.model_use.vendor,
            row.model_use.model,
            row.model_use.speed,
            row.model_use.service_tier,
            row.price_key,
            row.billing.name(),
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
