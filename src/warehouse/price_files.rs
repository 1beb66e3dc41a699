//! `<lake>/prices/`: what the database was priced with, as Parquet files for other engines.
//!
//! `prices.parquet` holds the cells, `aliases.parquet` what each recorded use of a model means, `hours.parquet` the hours of
//! vendors that bill by the hour. docs/prices.md documents the join, and a test runs it. The files are replaced one by one,
//! each by a rename, before the transaction of the refresh commits: a refresh that dies leaves files that are at most newer
//! than the database, and the next one writes them again.

use std::path::Path;

use duckdb::Connection;

use crate::pricing::PriceTable;

use super::{Result, Trying, quoted};

/// The files, and the rows of each. Times are UTC-adjusted as everywhere in the lake.
const FILES: [(&str, &str); 3] = [
    (
        "prices",
        "SELECT * REPLACE (valid_from::TIMESTAMPTZ AS valid_from, valid_to::TIMESTAMPTZ AS valid_to)
         FROM prices ORDER BY price_key, channel, mode, valid_from, prompt_over",
    ),
    (
        "aliases",
        "SELECT * REPLACE (valid_from::TIMESTAMPTZ AS valid_from, valid_to::TIMESTAMPTZ AS valid_to)
         FROM model_prices ORDER BY provider, vendor, model, speed, service_tier, valid_from",
    ),
    (
        "hours",
        "SELECT * REPLACE (valid_from::TIMESTAMPTZ AS valid_from, valid_to::TIMESTAMPTZ AS valid_to)
         FROM price_hours ORDER BY price_key, valid_from, from_minute",
    ),
];

/// Writes the files from the tables of a database.
pub(super) fn write(connection: &Connection, table: &PriceTable, folder: &Path, scratch: &Path) -> Result<()> {
    fs_err::create_dir_all(folder)?;
    restrict(folder, 0o700)?;
    for (name, rows) in FILES {
        let fresh = scratch.join(format!("{name}.parquet"));
        let sql = format!(
            "COPY ({rows}) TO {} (FORMAT parquet, COMPRESSION zstd, KV_METADATA {{price_basis: {}}})",
            quoted(&fresh.to_string_lossy()),
            quoted(&table.basis().to_string()),
        );
        connection.execute_batch(&sql).trying(&format!("write {name}.parquet"))?;
        restrict(&fresh, 0o600)?;
        fs_err::rename(&fresh, folder.join(format!("{name}.parquet")))?;
    }
    Ok(())
}

#[cfg(unix)]
fn restrict(path: &Path, mode: u32) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    Ok(fs_err::set_permissions(path, std::fs::Permissions::from_mode(mode))?)
}

#[cfg(not(unix))]
fn restrict(_path: &Path, _mode: u32) -> Result<()> {
    Ok(())
}
