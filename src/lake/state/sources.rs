//! Sources and sessions in the state.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rusqlite::Row;

use super::{State, signed, unsigned};
use crate::lake::Result;
use crate::model::SessionFacts;
use crate::source::{Checkpoint, FileStat};

/// What planning needs to know of a source that was read before.
#[derive(Debug, Clone)]
pub struct KnownSource {
    /// Row id.
    pub id: i64,
    /// Slug of the provider.
    pub provider: String,
    /// Path as found.
    pub path: PathBuf,
    /// What the file system said when it was last read.
    pub stat: FileStat,
    /// When it was last read, microseconds.
    pub read_at: i64,
    /// Whether nothing is left to read unless the file changes.
    pub settled: bool,
}

/// A source after a read.
#[derive(Debug, Clone, Copy)]
pub struct SourceRow<'a> {
    /// Its row, if it was read before.
    pub id: Option<i64>,
    /// Slug of the provider.
    pub provider: &'a str,
    /// Path as found.
    pub path: &'a Path,
    /// Where to go on.
    pub checkpoint: &'a Checkpoint,
    /// Whether a reading from its start is under way, of which the lake holds rows.
    pub rereading: bool,
    /// When it was read, microseconds.
    pub read_at: i64,
}

const CHECKPOINT_COLUMNS: &str = "size, mtime, ctime, device, inode, settled, read_offset, head_hash, head_len, tail_hash, last_ts, first_ts, first_ts_is_mtime, carry, seen, rereading";

impl State {
    /// Every source that was ever read, without its carry.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn sources(&self) -> Result<Vec<KnownSource>> {
        let sql = "SELECT id, provider, path, size, mtime, ctime, device, inode, read_at, settled FROM sources";
        self.all(sql, (), |row| {
            let path: Vec<u8> = row.get(2)?;
            Ok(KnownSource {
                id: row.get(0)?,
                provider: row.get(1)?,
                path: PathBuf::from(OsStr::from_bytes(&path)),
                stat: stat(row, 3)?,
                read_at: row.get(8)?,
                settled: row.get(9)?,
            })
        })
    }

    /// The checkpoint of a source, and whether a reading from its start is under way.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn checkpoint(&self, source: i64) -> Result<Option<(Checkpoint, bool)>> {
        let sql = format!("SELECT {CHECKPOINT_COLUMNS} FROM sources WHERE id = ?1");
        self.maybe(&sql, (source,), |row| {
            let checkpoint = Checkpoint {
                stat: stat(row, 0)?,
                settled: row.get(5)?,
                offset: unsigned(row.get(6)?),
                head_hash: u128::from_le_bytes(row.get(7)?),
                head_len: unsigned(row.get(8)?),
                tail_hash: unsigned(row.get(9)?),
                last_ts: row.get(10)?,
                first_ts: row.get(11)?,
                first_ts_is_mtime: row.get(12)?,
                carry: row.get(13)?,
                seen: row.get(14)?,
            };
            Ok((checkpoint, row.get(15)?))
        })
    }

    /// The row id of a source.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn source_id(&self, provider: &str, path: &Path) -> Result<Option<i64>> {
        let sql = "SELECT id FROM sources WHERE provider = ?1 AND path = ?2";
        self.maybe(sql, (provider, path.as_os_str().as_bytes()), |row| row.get(0))
    }

    /// Sources whose first line has this hash.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn sources_by_head(&self, head_hash: u128) -> Result<Vec<i64>> {
        self.all("SELECT id FROM sources WHERE head_hash = ?1", (head_hash.to_le_bytes(),), |row| row.get(0))
    }

    /// Writes the checkpoint of a source as part of `batch`. Returns its id.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn put_source(&self, source: &SourceRow<'_>, batch: i64) -> Result<i64> {
        let SourceRow { id, provider, path, checkpoint, rereading, read_at } = source;
        let Checkpoint {
            stat,
            offset,
            head_hash,
            head_len,
            tail_hash,
            settled,
            last_ts,
            first_ts,
            first_ts_is_mtime,
            carry,
            seen,
        } = checkpoint;
        if let Some(id) = id {
            self.execute("INSERT INTO undo_sources SELECT * FROM sources WHERE id = ?1 AND batch < ?2", (id, batch))?;
        }
        let sql = "INSERT INTO sources (id, provider, path, size, mtime, ctime, device, inode, read_at, settled, rereading,
                       read_offset, head_hash, head_len, tail_hash, last_ts, first_ts, first_ts_is_mtime, carry, seen, batch)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)
                   ON CONFLICT DO UPDATE SET path = excluded.path, size = excluded.size, mtime = excluded.mtime,
                       ctime = excluded.ctime, device = excluded.device, inode = excluded.inode, read_at = excluded.read_at,
                       settled = excluded.settled, rereading = excluded.rereading, read_offset = excluded.read_offset,
                       head_hash = excluded.head_hash, head_len = excluded.head_len, tail_hash = excluded.tail_hash,
                       last_ts = excluded.last_ts, first_ts = excluded.first_ts, first_ts_is_mtime = excluded.first_ts_is_mtime,
                       carry = excluded.carry, seen = excluded.seen, batch = excluded.batch
                   RETURNING id";
        self.one(
            sql,
            rusqlite::params![
                id,
                provider,
                path.as_os_str().as_bytes(),
                signed(stat.size),
                stat.mtime,
                stat.ctime,
                signed(stat.device),
                signed(stat.inode),
                read_at,
                settled,
                rereading,
                signed(*offset),
                head_hash.to_le_bytes(),
                signed(*head_len),
                signed(*tail_hash),
                last_ts,
                first_ts,
                first_ts_is_mtime,
                carry,
                seen,
                batch,
            ],
        )
    }

    /// Remembers that a source was looked at and had nothing new, outside any batch.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn touch_source(&self, id: i64, path: &Path, stat: FileStat, settled: bool, read_at: i64) -> Result<()> {
        let sql =
            "UPDATE sources SET path = ?2, size = ?3, mtime = ?4, ctime = ?5, device = ?6, inode = ?7, settled = ?8,
                   read_at = ?9 WHERE id = ?1";
        self.execute(
            sql,
            rusqlite::params![
                id,
                path.as_os_str().as_bytes(),
                signed(stat.size),
                stat.mtime,
                stat.ctime,
                signed(stat.device),
                signed(stat.inode),
                settled,
                read_at,
            ],
        )?;
        Ok(())
    }

    /// What is known of a session, and the source it was first read from.
    ///
    /// # Errors
    /// SQLite refuses, or the facts were written by a newer version.
    pub fn session(&self, provider: &str, session_id: &str) -> Result<Option<(SessionFacts, i64)>> {
        let sql = "SELECT facts, source_id FROM sessions WHERE provider = ?1 AND session_id = ?2";
        self.maybe(sql, (provider, session_id), |row| {
            let facts: String = row.get(0)?;
            let facts = serde_json::from_str(&facts).map_err(|error| {
                rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(error))
            })?;
            Ok((facts, row.get(1)?))
        })
    }

    /// Writes what is known of a session as part of `batch`.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn put_session(
        &self,
        provider: &str,
        session_id: &str,
        source: i64,
        facts: &SessionFacts,
        batch: i64,
    ) -> Result<()> {
        let facts = serde_json::to_string(facts).unwrap_or_default();
        let undo =
            "INSERT INTO undo_sessions SELECT * FROM sessions WHERE provider = ?1 AND session_id = ?2 AND batch < ?3";
        self.execute(undo, (provider, session_id, batch))?;
        let sql = "INSERT OR REPLACE INTO sessions (provider, session_id, source_id, facts, batch) VALUES (?1, ?2, ?3, ?4, ?5)";
        self.execute(sql, (provider, session_id, source, facts, batch))?;
        Ok(())
    }

    /// How many sessions of a provider the lake holds.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn count_sessions(&self, provider: &str) -> Result<i64> {
        self.one("SELECT count(*) FROM sessions WHERE provider = ?1", (provider,))
    }

    /// Whether this trouble with a path was told before.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn knows_problem(&self, provider: &str, path: &Path, reason: &str) -> Result<bool> {
        let sql = "SELECT count(*) FROM problems WHERE provider = ?1 AND path = ?2 AND reason = ?3";
        let count: i64 = self.one(sql, (provider, path.as_os_str().as_bytes(), reason))?;
        Ok(count > 0)
    }

    /// Remembers trouble with a path as part of `batch`.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn put_problem(&self, provider: &str, path: &Path, reason: &str, batch: i64) -> Result<()> {
        let sql = "INSERT OR REPLACE INTO problems (provider, path, reason, batch) VALUES (?1, ?2, ?3, ?4)";
        self.execute(sql, (provider, path.as_os_str().as_bytes(), reason, batch))?;
        Ok(())
    }
}

/// Five columns from `at` on.
fn stat(row: &Row<'_>, at: usize) -> rusqlite::Result<FileStat> {
    Ok(FileStat {
        size: unsigned(row.get(at)?),
        mtime: row.get(at + 1)?,
        ctime: row.get(at + 2)?,
        device: unsigned(row.get(at + 3)?),
        inode: unsigned(row.get(at + 4)?),
    })
}
