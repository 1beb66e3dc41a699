//! The usage ledger in the state.

use std::collections::HashMap;

use super::{State, signed, unsigned};
use crate::lake::Result;
use crate::lake::ledger::{Entry, Origin};
use crate::model::{Counters, RequestKey, Standing};

impl State {
    /// Whether the ledger is empty, so that no look-up can find anything.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn ledger_is_empty(&self) -> Result<bool> {
        let found: bool = self.one("SELECT EXISTS (SELECT 1 FROM requests)", ())?;
        Ok(!found)
    }

    /// The record that stands for a request.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn request(&self, request: RequestKey) -> Result<Option<Entry>> {
        let sql = "SELECT rev, class, rank0, rank1, rank2, input, cache_read, write_5m, write_1h, output, searches, reasoning,
                       variant, guard, first_ts, last_ts, json
                   FROM requests JOIN origins ON origins.id = origin WHERE request = ?1";
        self.maybe(sql, (request.0.to_le_bytes(),), |row| {
            let json: String = row.get(16)?;
            let origin = serde_json::from_str(&json).map_err(|error| {
                rusqlite::Error::FromSqlConversionFailure(16, rusqlite::types::Type::Text, Box::new(error))
            })?;
            let guard: Option<i64> = row.get(13)?;
            Ok(Entry {
                request,
                rev: row.get(0)?,
                standing: Standing { class: row.get(1)?, rank: [row.get(2)?, row.get(3)?, row.get(4)?] },
                counters: Counters::from_array([
                    row.get(5)?,
                    row.get(6)?,
                    row.get(7)?,
                    row.get(8)?,
                    row.get(9)?,
                    row.get(10)?,
                    row.get(11)?,
                ]),
                variant: unsigned(row.get(12)?),
                guard: guard.map(unsigned),
                first_ts: row.get(14)?,
                last_ts: row.get(15)?,
                origin,
            })
        })
    }

    /// Writes what stands for requests as part of `batch`. `replaces` tells whether any of them may be there already.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn put_requests(&self, entries: &[Entry], replaces: bool, batch: i64) -> Result<()> {
        let mut origins: HashMap<&Origin, i64> = HashMap::new();
        let sql = "INSERT OR REPLACE INTO requests VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)";
        let mut insert = self.connection.prepare_cached(sql).map_err(self.fail())?;
        for entry in entries {
            let origin = match origins.get(&entry.origin) {
                Some(&id) => id,
                None => {
                    let id = self.put_origin(&entry.origin)?;
                    origins.insert(&entry.origin, id);
                    id
                }
            };
            let request = entry.request.0.to_le_bytes();
            if replaces {
                self.execute(
                    "INSERT INTO undo_requests SELECT * FROM requests WHERE request = ?1 AND batch < ?2",
                    (request, batch),
                )?;
            }
            let [input, cache_read, write_5m, write_1h, output, searches, reasoning] = entry.counters.to_array();
            let Standing { class, rank: [rank0, rank1, rank2] } = entry.standing;
            insert
                .execute(rusqlite::params![
                    request,
                    entry.rev,
                    class,
                    rank0,
                    rank1,
                    rank2,
                    input,
                    cache_read,
                    write_5m,
                    write_1h,
                    output,
                    searches,
                    reasoning,
                    signed(entry.variant),
                    entry.guard.map(signed),
                    entry.first_ts,
                    entry.last_ts,
                    origin,
                    batch,
                ])
                .map_err(self.fail())?;
        }
        Ok(())
    }

    fn put_origin(&self, origin: &Origin) -> Result<i64> {
        let json = serde_json::to_string(origin).unwrap_or_default();
        let known = self.maybe("SELECT id FROM origins WHERE json = ?1", (&json,), |row| row.get(0))?;
        match known {
            Some(id) => Ok(id),
            None => self.one("INSERT INTO origins (json) VALUES (?1) RETURNING id", (&json,)),
        }
    }
}
