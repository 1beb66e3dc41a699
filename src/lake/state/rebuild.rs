//! The state made anew from what its parts tell, in one transaction.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use super::{Part, State};
use crate::lake::recollect::{RecalledSession, Recollection};
use crate::lake::session_rows::NO_SOURCE;
use crate::lake::{Result, crash, rebuilt};
use crate::model::RequestKey;

/// Batch numbers that are left out where nobody knows which numbers were used: a number is never used again.
const UNKNOWN_BATCHES: i64 = 1000;
/// Entries that are written at once.
const ENTRIES: usize = 10_000;

impl State {
    /// Replaces everything by what `parts` and what was recollected from them say. Of a state that is this lake's own
    /// (`is_own`), what the parts cannot tell is kept where both agree.
    ///
    /// # Errors
    /// SQLite refuses; then nothing has changed.
    pub fn rebuild(
        &mut self,
        lake_id: &str,
        is_own: bool,
        parts: &[Part],
        recollection: &Recollection,
        now: i64,
    ) -> Result<()> {
        self.transaction(|state| {
            for table in ["undo_sources", "undo_sessions", "undo_requests"] {
                state.execute(&format!("DELETE FROM {table}"), ())?;
            }
            if !is_own {
                for table in ["sources", "sessions", "requests", "origins", "problems", "hosts"] {
                    state.execute(&format!("DELETE FROM {table}"), ())?;
                }
            }
            // Whoever holds a copy of the rows must read all of them again, whichever generation it knows.
            let generation = state.generation()?.max(now / 1_000_000).saturating_add(1);
            state.execute("UPDATE lake SET lake_id = ?1, generation = ?2", (lake_id, generation))?;
            let newest = state.rebuild_batches(is_own, parts, &recollection.batches, now)?;
            let sources = state.rebuild_sources(recollection, newest)?;
            state.rebuild_sessions(recollection, &sources)?;
            state.rebuild_requests(recollection, newest)?;
            for ((provider, path), reason) in &recollection.problems {
                state.put_problem(provider, Path::new(path), reason, newest)?;
            }
            crash::point("rebuilding");
            Ok(())
        })
    }

    /// Batches and parts. Returns the newest batch.
    fn rebuild_batches(&self, is_own: bool, parts: &[Part], rows: &BTreeMap<i64, i64>, now: i64) -> Result<i64> {
        let known: Vec<(i64, i64)> =
            self.all("SELECT batch, committed_at FROM batches", (), |row| Ok((row.get(0)?, row.get(1)?)))?;
        let known: HashMap<i64, i64> = if is_own { known.into_iter().collect() } else { HashMap::new() };
        let mut by_batch: BTreeMap<i64, Vec<Part>> =
            known.keys().chain(rows.keys()).map(|&batch| (batch, Vec::new())).collect();
        for part in parts {
            by_batch.entry(part.batch).or_default().push(part.clone());
        }
        let newest = by_batch.keys().next_back().copied().unwrap_or(0);
        if !is_own {
            by_batch.insert(newest.saturating_add(UNKNOWN_BATCHES), Vec::new());
        }
        self.execute("DELETE FROM parts", ())?;
        self.execute("DELETE FROM batches", ())?;
        for (batch, parts) in by_batch {
            self.put_batch(batch, &parts, known.get(&batch).copied().unwrap_or(now))?;
            // A part may hold rows of other batches than the one that published it.
            let brought = rows.get(&batch).copied().unwrap_or(0);
            // A compaction has parts and no row of its own.
            let is_compaction = brought == 0 && parts.iter().any(|part| part.last_batch < batch);
            let sql = "UPDATE batches SET rows = ?2, is_compaction = ?3 WHERE batch = ?1";
            self.execute(sql, (batch, brought, is_compaction))?;
        }
        self.execute("UPDATE batches SET published = 1", ())?;
        Ok(newest)
    }

    /// Sources keep their names and first lines, so that they can be found again, and lose their checkpoints: which of their
    /// rows are there, only the parts know. Returns the ids.
    fn rebuild_sources(&self, recollection: &Recollection, newest: i64) -> Result<HashMap<(String, String), i64>> {
        let forget =
            "UPDATE sources SET size = 0, mtime = 0, ctime = 0, device = 0, inode = 0, read_at = 0, settled = 0,
                          was_rewritten = 1, read_offset = 0, tail_hash = 0, last_ts = NULL, first_ts = NULL,
                          first_ts_is_mtime = 0, carry = '', seen = x''";
        self.execute(forget, ())?;
        let insert =
            "INSERT INTO sources (provider, path, size, mtime, ctime, device, inode, read_at, settled, was_rewritten,
                          read_offset, head_hash, head_len, tail_hash, first_ts_is_mtime, carry, seen, batch)
                      VALUES (?1, ?2, 0, 0, 0, 0, 0, 0, 0, 1, 0, zeroblob(16), 0, 0, 0, '', x'', ?3)
                      ON CONFLICT DO UPDATE SET batch = batch RETURNING id";
        let mut ids = HashMap::new();
        for (provider, path) in &recollection.sources {
            let id = self.one(insert, (provider, path.as_bytes(), newest))?;
            ids.insert((provider.clone(), path.clone()), id);
        }
        Ok(ids)
    }

    /// Sessions as their newest rows say; what this lake's own state knew better is kept.
    fn rebuild_sessions(&self, recollection: &Recollection, sources: &HashMap<(String, String), i64>) -> Result<()> {
        let known: Vec<(String, String, i64)> =
            self.all("SELECT provider, session_id, batch FROM sessions", (), |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?;
        let mut current = BTreeSet::new();
        for (provider, session_id, batch) in known {
            let key = (provider, session_id);
            if recollection.sessions.get(&key).is_some_and(|recalled| recalled.batch <= batch) {
                current.insert(key);
            } else {
                self.execute("DELETE FROM sessions WHERE provider = ?1 AND session_id = ?2", (&key.0, &key.1))?;
            }
        }
        for (key, recalled) in recollection.sessions.iter().filter(|(key, _)| !current.contains(*key)) {
            let owner = owner_of(recollection, sources, key, recalled);
            self.put_session(&key.0, &key.1, owner, &recalled.facts, recalled.batch)?;
        }
        // A session whose source is not known any more is owned by the one that its row names.
        let orphans = "SELECT provider, session_id FROM sessions WHERE source_id <> 0
                           AND source_id NOT IN (SELECT id FROM sources)";
        let orphans: Vec<(String, String)> = self.all(orphans, (), |row| Ok((row.get(0)?, row.get(1)?)))?;
        for key in orphans {
            let Some(recalled) = recollection.sessions.get(&key) else { continue };
            let owner = owner_of(recollection, sources, &key, recalled);
            let sql = "UPDATE sessions SET source_id = ?3 WHERE provider = ?1 AND session_id = ?2";
            self.execute(sql, (&key.0, &key.1, owner))?;
        }
        self.execute("DELETE FROM undo_sessions", ())?;
        Ok(())
    }

    /// The ledger as the rows of `usage` say; an entry that says the same is kept, with what it knows besides.
    fn rebuild_requests(&self, recollection: &Recollection, newest: i64) -> Result<()> {
        let mut unknown: Vec<RequestKey> = Vec::new();
        self.each_request(|request, _, _| {
            if !recollection.knows(request) {
                unknown.push(request);
            }
        })?;
        for request in unknown {
            self.execute("DELETE FROM requests WHERE request = ?1", (request.0.to_le_bytes(),))?;
        }
        let mut waiting = Vec::new();
        for entry in recollection.entries() {
            let zero = |counters: crate::model::Counters| counters.to_array().map(|count| count.unwrap_or(0));
            let agrees = self.request(entry.request)?.is_some_and(|held| {
                let is_settled = !rebuilt::is_rebuilt(&held) && rebuilt::is_whole(&entry);
                is_settled && held.rev == entry.rev && zero(held.counters) == zero(entry.counters)
            });
            if !agrees {
                waiting.push(entry);
            }
            if waiting.len() >= ENTRIES {
                self.put_requests(&std::mem::take(&mut waiting), false, newest)?;
            }
        }
        self.put_requests(&waiting, false, newest)
    }
}

/// The source that a session was first read from; none, if another machine has read rows of it, too.
fn owner_of(
    recollection: &Recollection,
    sources: &HashMap<(String, String), i64>,
    session: &(String, String),
    recalled: &RecalledSession,
) -> i64 {
    let own = sources.get(&(session.0.clone(), recalled.path.clone())).copied();
    own.filter(|_| !recollection.shared_sessions.contains(session)).unwrap_or(NO_SOURCE)
}
