//! `agentlake.duckdb`: the database for notebooks, brought up to date with the lake.
//!
//! Invariants
//! - It holds exactly the rows of the batches it lists in `stored.batches`: rows and list change in one transaction.
//! - It was filled from one lake and one generation (`stored.contents`). Another lake, another generation, a batch that the
//!   lake no longer has, or tables of another shape: it is built anew.
//! - Views, macros and prices are those of the build that refreshed it last, in the same transaction.
//! - Whoever has it open keeps what he sees. If it is in use, or cannot be opened at all, a new file is built beside and
//!   renamed over it; the old one lives on until its readers close it. Everything in it can be had again from the parts.
//!
//! The caller holds the lake's writer lock, so there is never more than one refresh.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use duckdb::Connection;

use crate::model::tables::SCHEMA_VERSION;

use super::bundled::BUNDLED;
use super::objects::{self, OBJECTS, macro_and_view};
use super::{LakeSnapshot, Result, Trying, WarehouseError, connection, price_files, prices, stored, time_zones};

/// Where the database is.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The database file.
    pub database: &'a Path,
    /// A private folder on the same file system, where a new file is built.
    pub scratch: &'a Path,
    /// Where the prices are written for other engines.
    pub prices: &'a Path,
}

impl Target<'_> {
    fn spill(&self) -> PathBuf {
        self.scratch.join("spill")
    }
}

/// What a refresh did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refreshed {
    /// Nothing was missing.
    UpToDate,
    /// Rows of new batches were added to the file.
    Added {
        /// Batches added.
        batches: usize,
        /// Rows added.
        rows: usize,
    },
    /// The file was made anew.
    Built {
        /// Rows in it.
        rows: usize,
        /// Why, for people.
        reason: String,
    },
}

/// Brings the database up to date.
///
/// # Errors
/// If parts cannot be read or the file cannot be written; the database is then as it was.
pub fn refresh(target: Target<'_>, lake: &LakeSnapshot) -> Result<Refreshed> {
    if !fs_err::exists(target.database)? {
        return build(target, lake, "there was none");
    }
    let connection = match connection::file(target.database, &target.spill()) {
        Ok(connection) => connection,
        Err(error @ WarehouseError::WrongDuckDb { .. }) => return Err(error),
        Err(error) => return build(target, lake, &cannot_open(&error)),
    };
    match missing(&connection, lake) {
        Ok(missing) => add(target, &connection, lake, &missing),
        Err(reason) => {
            drop(connection);
            build(target, lake, &reason)
        }
    }
}

fn cannot_open(error: &WarehouseError) -> String {
    let words = match error {
        WarehouseError::DuckDb { source, .. } => source.to_string(),
        other => other.to_string(),
    };
    if words.contains("lock") {
        "another program has it open".to_owned()
    } else {
        format!("it could not be opened: {words}")
    }
}

/// Which batches the database lacks, or why it must be built anew.
fn missing(connection: &Connection, lake: &LakeSnapshot) -> Result<BTreeSet<i64>, String> {
    let contents: duckdb::Result<(String, i64, i64)> =
        connection.query_row("SELECT lake_id, generation, schema_version FROM stored.contents", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        });
    let Ok((lake_id, generation, schema_version)) = contents else {
        return Err("it is not one of agentlake's".to_owned());
    };
    if lake_id != lake.lake_id {
        return Err("it was filled from another lake".to_owned());
    }
    if generation != lake.generation {
        return Err("parts of the lake were replaced".to_owned());
    }
    if schema_version != SCHEMA_VERSION {
        return Err("its tables have another shape".to_owned());
    }
    let loaded = loaded_batches(connection).map_err(|error| error.to_string())?;
    let batches = lake.batches();
    if loaded.is_subset(&batches) {
        Ok(batches.difference(&loaded).copied().collect())
    } else {
        Err("it has a batch that the lake has not".to_owned())
    }
}

fn loaded_batches(connection: &Connection) -> duckdb::Result<BTreeSet<i64>> {
    let mut statement = connection.prepare("SELECT batch FROM stored.batches")?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// Whether a database holds just what this build would put into it for the lake.
pub(super) fn is_current(connection: &Connection, lake: &LakeSnapshot) -> Result<bool> {
    Ok(missing(connection, lake).is_ok_and(|missing| missing.is_empty()) && has_our_definitions(connection, lake)?)
}

fn has_our_definitions(connection: &Connection, lake: &LakeSnapshot) -> Result<bool> {
    let stored: String = connection
        .query_row("SELECT definitions FROM stored.contents", [], |row| row.get(0))
        .trying("read what the database holds")?;
    Ok(stored == definitions(lake)?)
}

fn add(target: Target<'_>, connection: &Connection, lake: &LakeSnapshot, missing: &BTreeSet<i64>) -> Result<Refreshed> {
    if missing.is_empty() && has_our_definitions(connection, lake)? {
        return Ok(Refreshed::UpToDate);
    }
    let rows = in_transaction(connection, || fill(target, connection, lake, missing))?;
    restrict(target.database)?;
    Ok(Refreshed::Added { batches: missing.len(), rows })
}

fn build(target: Target<'_>, lake: &LakeSnapshot, reason: &str) -> Result<Refreshed> {
    let fresh = target.scratch.join("agentlake.duckdb");
    // What a killed run left behind.
    remove_with_log(&fresh)?;
    let connection = connection::file(&fresh, &target.spill())?;
    restrict(&fresh)?;
    let rows = in_transaction(&connection, || {
        stored::create_tables(&connection)?;
        create_lists(&connection, lake)?;
        fill(target, &connection, lake, &lake.batches())
    })?;
    connection.close().map_err(|(_, error)| error).trying("close the new database")?;
    // A log beside the file belongs to the old one; DuckDB would replay it into the new.
    remove_if_there(&log_of(target.database))?;
    fs_err::rename(&fresh, target.database)?;
    Ok(Refreshed::Built { rows, reason: reason.to_owned() })
}

fn create_lists(connection: &Connection, lake: &LakeSnapshot) -> Result<()> {
    let sql = "CREATE TABLE stored.batches (batch BIGINT);
               CREATE TABLE stored.contents (lake_id VARCHAR, generation BIGINT, schema_version BIGINT, definitions VARCHAR);";
    connection.execute_batch(sql).trying("make the list of batches")?;
    let contents = duckdb::params![lake.lake_id, lake.generation, SCHEMA_VERSION];
    connection.execute("INSERT INTO stored.contents VALUES (?, ?, ?, '')", contents).trying("note the lake")?;
    time_zones::create(connection)?;
    time_zones::fill(connection, time_zones::all())
}

/// Adds rows, notes their batches, and renews what is computed from all rows.
fn fill(target: Target<'_>, connection: &Connection, lake: &LakeSnapshot, batches: &BTreeSet<i64>) -> Result<usize> {
    let rows = stored::load(connection, lake, batches)?;
    for batch in batches {
        connection.execute("INSERT INTO stored.batches VALUES (?)", [batch]).trying("note a batch")?;
    }
    let table = lake.price_table()?;
    let meanings = prices::meanings(table, prices::uses_in_database(connection)?);
    if !has_our_definitions(connection, lake)? {
        prices::create(connection)?;
        prices::fill_prices(connection, table, &table.keys())?;
        for object in OBJECTS {
            connection.execute_batch(object.sql).trying(&format!("make {}", object.name))?;
        }
        for query in BUNDLED {
            connection.execute_batch(&macro_and_view(query)).trying(&format!("make {}", query.name))?;
        }
        connection
            .execute("UPDATE stored.contents SET definitions = ?", [definitions(lake)?])
            .trying("note the definitions")?;
    }
    prices::fill_model_prices(connection, &meanings)?;
    price_files::write(connection, table, target.prices, target.scratch)?;
    Ok(rows)
}

/// Tells builds apart whose views, macros or prices differ.
fn definitions(lake: &LakeSnapshot) -> Result<String> {
    Ok(format!("{} {}", objects::definitions(), lake.price_table()?.fingerprint()))
}

fn in_transaction<T>(connection: &Connection, work: impl FnOnce() -> Result<T>) -> Result<T> {
    connection.execute_batch("BEGIN").trying("begin a transaction")?;
    match work() {
        Ok(done) => {
            // The checkpoint moves all of it into the file itself, so that no log is left beside it.
            connection.execute_batch("COMMIT; CHECKPOINT;").trying("commit the rows")?;
            Ok(done)
        }
        Err(error) => {
            // Closing would undo it as well; the first error is the one to tell.
            let _ = connection.execute_batch("ROLLBACK");
            Err(error)
        }
    }
}

fn log_of(database: &Path) -> PathBuf {
    let mut name = OsString::from(database);
    name.push(".wal");
    PathBuf::from(name)
}

fn remove_with_log(database: &Path) -> Result<()> {
    remove_if_there(database)?;
    remove_if_there(&log_of(database))
}

fn remove_if_there(path: &Path) -> Result<()> {
    match fs_err::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Only for its owner: it holds what was said in sessions.
#[cfg(unix)]
fn restrict(database: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    Ok(fs_err::set_permissions(database, std::fs::Permissions::from_mode(0o600))?)
}

#[cfg(not(unix))]
fn restrict(_database: &Path) -> Result<()> {
    Ok(())
}
