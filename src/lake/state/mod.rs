//! The state of a lake: one SQLite file with checkpoints, the usage ledger, sessions, parts and batches.
//!
//! It decides what counts: a Parquet file that the state does not list is not part of the lake. Changes of a batch are one
//! transaction, whose commit is the commit point of the protocol, and each keeps the rows it replaced until the batch is
//! published (`undo_*`).

mod audit;
mod batches;
mod rebuild;
mod requests;
mod sources;

use std::path::PathBuf;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension as _};

use super::layout::Layout;
use super::{LakeError, Result};

pub use audit::SourceMark;
pub use batches::{BatchSummary, Part};
pub use sources::{KnownSource, SourceRow};

/// Version of the tables below.
const STATE_VERSION: i64 = 1;

const TABLES: &str = include_str!("tables.sql");

/// An open state database.
#[derive(Debug)]
pub struct State {
    connection: Connection,
    path: PathBuf,
    lake_id: String,
}

impl State {
    /// Opens the state of a lake for writing, creating it where there is none.
    ///
    /// # Errors
    /// SQLite refuses, or the state was written by a newer version.
    pub fn open(layout: &Layout) -> Result<Self> {
        let path = layout.state_file();
        let is_new = !path.exists();
        let fail = |source| LakeError::State { path: path.clone(), source };
        let connection = Connection::open(&path).map_err(fail)?;
        if is_new {
            make_private(&path)?;
        }
        connection.pragma_update(None, "journal_mode", "WAL").map_err(fail)?;
        connection.pragma_update(None, "synchronous", "FULL").map_err(fail)?;
        connection.pragma_update(None, "cache_size", -32_000).map_err(fail)?;
        // Without this, SQLite plans a statement anew for every value it is asked with, which cost a sixth of a cold run.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(fail)?;
        connection.set_prepared_statement_cache_capacity(64);
        let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(fail)?;
        if version > STATE_VERSION {
            return Err(LakeError::NewerState { found: version, known: STATE_VERSION });
        }
        if version == 0 {
            let now = chrono::Utc::now().timestamp_micros();
            let seed = format!("{}-{now}-{}", layout.root().display(), std::process::id());
            let lake_id = crate::model::identity::id_of(&[seed.as_bytes()]).as_str().to_owned();
            connection
                .execute_batch(&format!("BEGIN IMMEDIATE; {TABLES} PRAGMA user_version = {STATE_VERSION};"))
                .map_err(fail)?;
            connection
                .execute("INSERT INTO lake (lake_id, generation, created_at) VALUES (?1, 1, ?2)", (&lake_id, now))
                .map_err(fail)?;
            connection.execute_batch("COMMIT").map_err(fail)?;
        }
        Self::with(connection, path)
    }

    /// Opens the state of a lake to read from it; the lake is not changed and no lock is needed.
    ///
    /// # Errors
    /// There is no state, or SQLite refuses.
    pub fn open_read_only(layout: &Layout) -> Result<Self> {
        let path = layout.state_file();
        let fail = |source| LakeError::State { path: path.clone(), source };
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY | rusqlite::OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&path, flags).map_err(fail)?;
        connection.busy_timeout(std::time::Duration::from_secs(5)).map_err(fail)?;
        let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(fail)?;
        if version > STATE_VERSION {
            return Err(LakeError::NewerState { found: version, known: STATE_VERSION });
        }
        Self::with(connection, path)
    }

    /// A state in a private temporary file, for work that leaves no trace.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn scratch() -> Result<Self> {
        let path = PathBuf::from("scratch");
        let fail = |source| LakeError::State { path: path.clone(), source };
        let connection = Connection::open("").map_err(fail)?;
        connection.pragma_update(None, "journal_mode", "OFF").map_err(fail)?;
        connection.pragma_update(None, "synchronous", "OFF").map_err(fail)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(fail)?;
        connection.execute_batch(TABLES).map_err(fail)?;
        connection
            .execute_batch("INSERT INTO lake (lake_id, generation, created_at) VALUES ('scratch', 1, 0)")
            .map_err(fail)?;
        Self::with(connection, path)
    }

    fn with(connection: Connection, path: PathBuf) -> Result<Self> {
        let lake_id = connection
            .query_row("SELECT lake_id FROM lake", (), |row| row.get(0))
            .map_err(|source| LakeError::State { path: path.clone(), source })?;
        Ok(Self { connection, path, lake_id })
    }

    /// The lake's own id, 32 hex digits.
    #[must_use]
    pub fn lake_id(&self) -> &str {
        &self.lake_id
    }

    /// The number that grows whenever published parts are replaced.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn generation(&self) -> Result<i64> {
        self.one("SELECT generation FROM lake", ())
    }

    /// Does `change` in one transaction: all of it lands, or nothing.
    ///
    /// # Errors
    /// What `change` returns, or SQLite's refusal.
    pub fn transaction<T>(&mut self, change: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        self.execute("BEGIN IMMEDIATE", ())?;
        match change(self) {
            Ok(value) => {
                self.execute("COMMIT", ())?;
                Ok(value)
            }
            Err(error) => {
                let _ = self.execute("ROLLBACK", ());
                Err(error)
            }
        }
    }

    /// Reads many things at once: `read` sees the state as of one moment, and SQLite takes its locks once, not per statement.
    ///
    /// # Errors
    /// What `read` returns, or SQLite's refusal.
    pub fn snapshot<T>(&self, read: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        self.execute("BEGIN", ())?;
        let result = read(self);
        self.execute("COMMIT", ())?;
        result
    }

    fn fail(&self) -> impl Fn(rusqlite::Error) -> LakeError + '_ {
        |source| LakeError::State { path: self.path.clone(), source }
    }

    fn execute(&self, sql: &str, parameters: impl rusqlite::Params) -> Result<usize> {
        self.connection.prepare_cached(sql).and_then(|mut statement| statement.execute(parameters)).map_err(self.fail())
    }

    fn one<T: rusqlite::types::FromSql>(&self, sql: &str, parameters: impl rusqlite::Params) -> Result<T> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row(parameters, |row| row.get(0)))
            .map_err(self.fail())
    }

    fn maybe<T>(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
        read: impl FnOnce(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row(parameters, read).optional())
            .map_err(self.fail())
    }

    fn all<T>(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
        read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_map(parameters, read)?.collect())
            .map_err(self.fail())
    }
}

fn make_private(path: &std::path::Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(fs_err::set_permissions(path, std::fs::Permissions::from_mode(0o600))?)
}

/// The bits of an unsigned hash as SQLite's signed integer.
fn signed(hash: u64) -> i64 {
    i64::from_ne_bytes(hash.to_ne_bytes())
}

/// The inverse of [`signed`].
fn unsigned(value: i64) -> u64 {
    u64::from_ne_bytes(value.to_ne_bytes())
}
