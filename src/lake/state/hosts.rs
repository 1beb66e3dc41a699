//! What the machines that write to a lake are called.

use super::State;
use crate::lake::Result;

impl State {
    /// The name of a machine in the column `host`: the one it had when it first wrote here, else `now_called`, which is
    /// remembered. Names that networks hand out change; the rows of one machine shall not fall apart by them.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn host(&self, machine: &str, now_called: &str) -> Result<String> {
        self.execute("INSERT OR IGNORE INTO hosts (machine, name) VALUES (?1, ?2)", (machine, now_called))?;
        self.one("SELECT name FROM hosts WHERE machine = ?1", (machine,))
    }

    /// The name of a machine, if it ever wrote here.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn known_host(&self, machine: &str) -> Result<Option<String>> {
        if self.version < 2 {
            return Ok(None);
        }
        self.maybe("SELECT name FROM hosts WHERE machine = ?1", (machine,), |row| row.get(0))
    }

    /// Calls a machine by another name from now on.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn set_host(&self, machine: &str, name: &str) -> Result<()> {
        self.execute("INSERT OR REPLACE INTO hosts (machine, name) VALUES (?1, ?2)", (machine, name))?;
        Ok(())
    }

    /// Names of all machines that wrote here.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn hosts(&self) -> Result<Vec<(String, String)>> {
        if self.version < 2 {
            return Ok(Vec::new());
        }
        self.all("SELECT machine, name FROM hosts", (), |row| Ok((row.get(0)?, row.get(1)?)))
    }
}
