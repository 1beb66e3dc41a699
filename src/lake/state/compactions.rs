//! Compactions in the state: parts that take the place of others, committed like a batch.
//!
//! From its commit on, a compaction's parts count and the parts that they replace do not, wherever the files stand: readers
//! who go by the state need not wait for folders to be swapped.

use super::State;
use super::batches::{Part, part, part_columns};
use crate::lake::Result;

impl State {
    /// Records a compaction as committed: `fresh` parts take the place of those of the `replaced` paths.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn put_compaction<'a>(
        &self,
        batch: i64,
        fresh: &[Part],
        replaced: impl IntoIterator<Item = &'a Part>,
        committed_at: i64,
    ) -> Result<()> {
        self.execute(
            "INSERT INTO batches (batch, committed_at, published, rows, is_compaction) VALUES (?1, ?2, 0, 0, 1)",
            (batch, committed_at),
        )?;
        self.put_parts(fresh)?;
        for part in replaced {
            self.execute("UPDATE parts SET replaced_by = ?2 WHERE path = ?1", (&part.path, batch))?;
        }
        Ok(())
    }

    /// Whether a batch is a compaction.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn is_compaction(&self, batch: i64) -> Result<bool> {
        if self.version < 2 {
            return Ok(false);
        }
        self.one("SELECT EXISTS (SELECT 1 FROM batches WHERE batch = ?1 AND is_compaction = 1)", (batch,))
    }

    /// The parts whose place a compaction takes that is not published yet.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn replaced_by(&self, batch: i64) -> Result<Vec<Part>> {
        let sql = format!("SELECT {} FROM parts WHERE replaced_by = ?1 ORDER BY path", part_columns(self.version));
        self.all(&sql, (batch,), part)
    }

    /// Takes a compaction back in one partition: the old parts count again.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn take_back(&mut self, batch: i64, fresh: &[Part], replaced: &[Part]) -> Result<()> {
        self.transaction(|state| {
            for part in fresh {
                state.execute("DELETE FROM parts WHERE path = ?1 AND batch = ?2", (&part.path, batch))?;
            }
            for part in replaced {
                state.execute("UPDATE parts SET replaced_by = NULL WHERE path = ?1", (&part.path,))?;
            }
            Ok(())
        })
    }
}
