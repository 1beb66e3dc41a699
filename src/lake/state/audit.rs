//! Questions that only `verify`, `repair` and `export --rebuild` ask the state.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use super::{State, unsigned};
use crate::lake::Result;
use crate::model::RequestKey;

/// How far a source was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceMark {
    /// Row id.
    pub id: i64,
    /// Slug of the provider.
    pub provider: String,
    /// Path as found.
    pub path: PathBuf,
    /// Device when it was last read.
    pub device: u64,
    /// Inode when it was last read.
    pub inode: u64,
    /// Position before which everything was read.
    pub offset: u64,
    /// Whether it was ever read again from its start.
    pub was_rewritten: bool,
    /// Whether only its path is known, see [`crate::source::Checkpoint::is_unknown`].
    pub is_unknown: bool,
}

/// What must refer to something that exists, as a query that counts what does not, and a sentence for people.
const REFERENCES: [(&str, &str); 5] = [
    (
        "SELECT count(*) FROM requests WHERE origin NOT IN (SELECT id FROM origins)",
        "requests of the ledger are credited to an origin that is not there",
    ),
    (
        "SELECT count(*) FROM requests WHERE origin IN (SELECT id FROM origins WHERE
             json_extract(json, '$.session_id') NOT IN (SELECT session_id FROM sessions))",
        "requests of the ledger are credited to a session that the state does not know",
    ),
    (
        "SELECT count(*) FROM sessions WHERE source_id <> 0 AND source_id NOT IN (SELECT id FROM sources)",
        "sessions belong to a source that the state does not know",
    ),
    (
        "SELECT count(*) FROM parts WHERE batch NOT IN (SELECT batch FROM batches)",
        "parts belong to a batch that the state does not know",
    ),
    (
        "SELECT count(*) FROM sources WHERE CAST(path AS TEXT) LIKE '%.jsonl' AND read_offset > size",
        "checkpoints are beyond the end that their source had when it was read",
    ),
];

impl State {
    /// Makes all that is read from here on, until the state is closed, one picture of one instant.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn begin_snapshot(&self) -> Result<()> {
        self.execute("BEGIN", ()).map(|_| ())
    }

    /// What SQLite finds wrong with the file; empty if it is sound.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn faults(&self) -> Result<Vec<String>> {
        let told: Vec<String> = self.all("PRAGMA quick_check(5)", (), |row| row.get(0))?;
        Ok(told.into_iter().filter(|line| line != "ok").collect())
    }

    /// References to rows that are not there, and checkpoints that cannot be; each a sentence.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn broken_references(&self) -> Result<Vec<String>> {
        let mut broken = Vec::new();
        for (sql, sentence) in REFERENCES {
            let count: i64 = self.one(sql, ())?;
            if count > 0 {
                broken.push(format!("{count} {sentence}"));
            }
        }
        Ok(broken)
    }

    /// How far each source was read, without what is needed to go on.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn source_marks(&self) -> Result<Vec<SourceMark>> {
        let sql = "SELECT id, provider, path, device, inode, read_offset, was_rewritten, inode = 0 AND ctime = 0 FROM sources";
        self.all(sql, (), |row| {
            let path: Vec<u8> = row.get(2)?;
            Ok(SourceMark {
                id: row.get(0)?,
                provider: row.get(1)?,
                path: PathBuf::from(OsStr::from_bytes(&path)),
                device: unsigned(row.get(3)?),
                inode: unsigned(row.get(4)?),
                offset: unsigned(row.get(5)?),
                was_rewritten: row.get(6)?,
                is_unknown: row.get(7)?,
            })
        })
    }

    /// Shows every entry of the ledger: request, counters with NULL as zero, and the batch that wrote it.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn each_request(&self, mut show: impl FnMut(RequestKey, [i64; 7], i64)) -> Result<()> {
        let sql =
            "SELECT request, coalesce(input, 0), coalesce(cache_read, 0), coalesce(write_5m, 0), coalesce(write_1h, 0),
                       coalesce(output, 0), coalesce(searches, 0), coalesce(reasoning, 0), batch FROM requests";
        let mut statement = self.connection.prepare_cached(sql).map_err(self.fail())?;
        let mut rows = statement.query(()).map_err(self.fail())?;
        while let Some(row) = rows.next().map_err(self.fail())? {
            let read = || -> rusqlite::Result<(RequestKey, [i64; 7], i64)> {
                let mut counters = [0; 7];
                for (at, counter) in counters.iter_mut().enumerate() {
                    *counter = row.get(at + 1)?;
                }
                Ok((RequestKey(u128::from_le_bytes(row.get(0)?)), counters, row.get(8)?))
            };
            let (request, counters, batch) = read().map_err(self.fail())?;
            show(request, counters, batch);
        }
        Ok(())
    }
}
