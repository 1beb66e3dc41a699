//! Batches and parts in the state, and how an unpublished batch is taken back.

use rusqlite::Row;

use super::State;
use crate::lake::Result;

/// One Parquet file of the lake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Path below the lake's root.
    pub path: String,
    /// Table it belongs to.
    pub table: String,
    /// Provider of its partition.
    pub provider: String,
    /// Day of its partition, `YYYY-MM-DD`.
    pub date: String,
    /// The batch or compaction that published it.
    pub batch: i64,
    /// Rows in it.
    pub rows: i64,
    /// Size in bytes.
    pub bytes: i64,
    /// xxh3-128 of its bytes.
    pub xxh3: [u8; 16],
    /// Schema version it was written with.
    pub schema_version: i64,
    /// The oldest batch that its rows are of.
    pub first_batch: i64,
    /// The newest.
    pub last_batch: i64,
}

/// A batch, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchSummary {
    /// Number.
    pub batch: i64,
    /// When it was committed, microseconds.
    pub committed_at: i64,
    /// Rows in it.
    pub rows: i64,
}

/// The columns of a [`Part`] in a state of some version.
pub(super) fn part_columns(version: i64) -> &'static str {
    match version {
        ..2 => "path, table_name, provider, date, batch, rows, bytes, xxh3, schema_version, batch, batch",
        2.. => "path, table_name, provider, date, batch, rows, bytes, xxh3, schema_version, first_batch, last_batch",
    }
}

impl State {
    /// The number of the next batch. Numbers are never used again, even if a batch was undone.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn next_batch(&self) -> Result<i64> {
        self.one("SELECT coalesce(max(batch), 0) + 1 FROM batches", ())
    }

    /// The parts that count, by path: those of published batches, less those that a compaction has replaced. The files of
    /// a compaction that is not published may still be in staging; see [`crate::lake::Layout::locate`].
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn parts(&self) -> Result<Vec<Part>> {
        let counts = match self.version {
            ..2 => "batch IN (SELECT batch FROM batches WHERE published = 1)",
            2.. => {
                "replaced_by IS NULL
                 AND batch IN (SELECT batch FROM batches WHERE published = 1 OR is_compaction = 1)"
            }
        };
        let sql = format!("SELECT {} FROM parts WHERE {counts} ORDER BY path", part_columns(self.version));
        self.all(&sql, (), part)
    }

    /// Numbers of the published batches that brought rows.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn batches(&self) -> Result<Vec<i64>> {
        self.all("SELECT batch FROM batches WHERE published = 1 AND rows > 0 ORDER BY batch", (), |row| row.get(0))
    }

    /// Parts of one batch, published or not.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn parts_of(&self, batch: i64) -> Result<Vec<Part>> {
        let sql = format!("SELECT {} FROM parts WHERE batch = ?1 ORDER BY path", part_columns(self.version));
        self.all(&sql, (batch,), part)
    }

    /// Batches that were committed but not yet published, oldest first.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn unpublished(&self) -> Result<Vec<i64>> {
        self.all("SELECT batch FROM batches WHERE published = 0 ORDER BY batch", (), |row| row.get(0))
    }

    /// The newest published batch, compactions apart.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn newest_batch(&self) -> Result<Option<BatchSummary>> {
        let apart = if self.version < 2 { "" } else { "AND is_compaction = 0" };
        let sql = format!(
            "SELECT batch, committed_at, rows FROM batches WHERE published = 1 {apart} ORDER BY batch DESC LIMIT 1"
        );
        self.maybe(&sql, (), |row| {
            Ok(BatchSummary { batch: row.get(0)?, committed_at: row.get(1)?, rows: row.get(2)? })
        })
    }

    /// Records a batch and its parts as committed.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn put_batch(&self, batch: i64, parts: &[Part], committed_at: i64) -> Result<()> {
        let rows: i64 = parts.iter().map(|part| part.rows).sum();
        self.execute(
            "INSERT INTO batches (batch, committed_at, published, rows) VALUES (?1, ?2, 0, ?3)",
            (batch, committed_at, rows),
        )?;
        self.put_parts(parts)
    }

    pub(super) fn put_parts(&self, parts: &[Part]) -> Result<()> {
        let columns = part_columns(self.version);
        let sql = format!("INSERT INTO parts ({columns}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)");
        for part in parts {
            self.execute(
                &sql,
                (
                    &part.path,
                    &part.table,
                    &part.provider,
                    &part.date,
                    part.batch,
                    part.rows,
                    part.bytes,
                    part.xxh3,
                    part.schema_version,
                    part.first_batch,
                    part.last_batch,
                ),
            )?;
        }
        Ok(())
    }

    /// Marks a batch or a compaction as published and forgets what it replaced.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn publish(&mut self, batch: i64) -> Result<()> {
        self.transaction(|state| {
            state.execute("UPDATE batches SET published = 1 WHERE batch = ?1", (batch,))?;
            state.execute("DELETE FROM parts WHERE replaced_by = ?1", (batch,))?;
            state.forget_undo()
        })
    }

    /// Takes a committed batch back: everything it changed is as before, so its bytes will be read again. The number of
    /// the batch stays used.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn undo(&mut self, batch: i64) -> Result<()> {
        self.transaction(|state| {
            for table in ["sources", "sessions", "requests"] {
                state.execute(&format!("DELETE FROM {table} WHERE batch = ?1"), (batch,))?;
                state.execute(&format!("INSERT INTO {table} SELECT * FROM undo_{table}"), ())?;
            }
            state.execute("DELETE FROM problems WHERE batch = ?1", (batch,))?;
            state.execute("DELETE FROM parts WHERE batch = ?1", (batch,))?;
            state.execute("UPDATE batches SET published = 1, rows = 0 WHERE batch = ?1", (batch,))?;
            state.forget_undo()
        })
    }

    fn forget_undo(&self) -> Result<()> {
        for table in ["sources", "sessions", "requests"] {
            self.execute(&format!("DELETE FROM undo_{table}"), ())?;
        }
        Ok(())
    }
}

pub(super) fn part(row: &Row<'_>) -> rusqlite::Result<Part> {
    Ok(Part {
        path: row.get(0)?,
        table: row.get(1)?,
        provider: row.get(2)?,
        date: row.get(3)?,
        batch: row.get(4)?,
        rows: row.get(5)?,
        bytes: row.get(6)?,
        xxh3: row.get(7)?,
        schema_version: row.get(8)?,
        first_batch: row.get(9)?,
        last_batch: row.get(10)?,
    })
}
