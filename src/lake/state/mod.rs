//! The state of a lake: one SQLite file with checkpoints, the usage ledger, sessions, parts and batches.
//!
//! It decides what counts: a Parquet file that the state does not list is not part of the lake. Changes of a batch are one
//! transaction, whose commit is the commit point of the protocol, and each keeps the rows it replaced until the batch is
//! published (`undo_*`).

mod batches;
mod compactions;
mod hosts;
mod requests;
mod sources;

use std::path::PathBuf;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension as _};

use super::layout::Layout;
use super::{LakeError, Result};

pub use batches::{BatchSummary, Part};
pub use sources::{KnownSource, SourceRow};

/// Version of a state after all [`STEPS`].
const STATE_VERSION: i64 = 2;
/// What brings a state from one version to the next; a new one goes through all of them.
const STEPS: [&str; 2] = [include_str!("tables.sql"), include_str!("tables-2.sql")];

/// An open state database.
#[derive(Debug)]
pub struct State {
    connection: Connection,
    path: PathBuf,
    lake_id: String,
    /// Older than [`STATE_VERSION`] only where it was opened to read.
    version: i64,
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
        let steps = STEPS.iter().skip(usize::try_from(version).unwrap_or(0)).copied().collect::<String>();
        if version == 0 {
            let now = chrono::Utc::now().timestamp_micros();
            let seed = format!("{}-{now}-{}", layout.root().display(), std::process::id());
            let lake_id = crate::model::identity::id_of(&[seed.as_bytes()]).as_str().to_owned();
            connection
                .execute_batch(&format!("BEGIN IMMEDIATE; {steps} PRAGMA user_version = {STATE_VERSION};"))
                .map_err(fail)?;
            connection
                .execute("INSERT INTO lake (lake_id, generation, created_at) VALUES (?1, 1, ?2)", (&lake_id, now))
                .map_err(fail)?;
            connection.execute_batch("COMMIT").map_err(fail)?;
        } else if version < STATE_VERSION {
            connection
                .execute_batch(&format!("BEGIN IMMEDIATE; {steps} PRAGMA user_version = {STATE_VERSION}; COMMIT;"))
                .map_err(fail)?;
        }
        Self::with(connection, path, STATE_VERSION)
    }

    /// Opens the state of a lake to read from it; the lake is not changed and no lock is needed.
    ///
    /// # Errors
    /// There is no state, or SQLite refuses.
    pub fn open_read_only(layout: &Layout) -> Result<Self> {
        let path = layout.state_file();
        let fail = |source| LakeError::State { path: path.clone(), source };
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY | rusqlite::OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = |connection: Connection| {
            connection.busy_timeout(std::time::Duration::from_secs(5))?;
            let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
            Ok((connection, version))
        };
        let (connection, version) = match Connection::open_with_flags(&path, flags).and_then(open) {
            // A database in WAL mode needs files beside it, which a read-only medium refuses. Without a log nobody has left
            // anything there to read, and nobody can write: the file is all there is.
            Err(error) if is_refused(&error) && !has_log(&path) => {
                Connection::open_with_flags(unchanging(&path), flags | rusqlite::OpenFlags::SQLITE_OPEN_URI)
                    .and_then(open)
                    .map_err(fail)?
            }
            opened => opened.map_err(fail)?,
        };
        if version > STATE_VERSION {
            return Err(LakeError::NewerState { found: version, known: STATE_VERSION });
        }
        Self::with(connection, path, version)
    }

    fn with(connection: Connection, path: PathBuf, version: i64) -> Result<Self> {
        let lake_id = connection
            .query_row("SELECT lake_id FROM lake", (), |row| row.get(0))
            .map_err(|source| LakeError::State { path: path.clone(), source })?;
        Ok(Self { connection, path, lake_id, version })
    }

    /// The lake's own id, 32 hex digits.
    #[must_use]
    pub fn lake_id(&self) -> &str {
        &self.lake_id
    }

    /// The number that grows whenever rows of published batches are changed or taken away, so that whoever copied them must
    /// copy all of them again. A compaction does not raise it: the rows that remain are the same.
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

fn is_refused(error: &rusqlite::Error) -> bool {
    let codes = [rusqlite::ErrorCode::CannotOpen, rusqlite::ErrorCode::ReadOnly];
    error.sqlite_error_code().is_some_and(|code| codes.contains(&code))
}

fn has_log(path: &std::path::Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    fs_err::metadata(PathBuf::from(log)).is_ok_and(|log| log.len() > 0)
}

/// The URI by which SQLite takes a database for one that nobody changes.
fn unchanging(path: &std::path::Path) -> String {
    use std::fmt::Write as _;
    use std::os::unix::ffi::OsStrExt as _;
    let mut uri = String::from("file:");
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02x}");
        }
    }
    uri + "?immutable=1"
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
