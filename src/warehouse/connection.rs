//! Opening DuckDB so that it behaves the same everywhere: the pinned version, nothing loaded from the network, UTC.

use std::path::Path;

use duckdb::{AccessMode, Config, Connection};

use super::{Result, Trying, WarehouseError, quoted};

/// The version of DuckDB that this build was tested with, as `version()` spells it.
pub const DUCKDB_VERSION: &str = env!("AGENTLAKE_DUCKDB_VERSION");

/// Databases are written so that DuckDB from this version on opens them.
const STORAGE_VERSION: &str = "v1.2.0";

/// A database that lives as long as the connection.
pub(super) fn in_memory() -> Result<Connection> {
    let connection = Connection::open_in_memory_with_flags(config()?).trying("start")?;
    // What does not fit into memory is not spilled into whatever the current folder is.
    let spill = std::env::temp_dir().join("agentlake-spill");
    set(&connection, "temp_directory", &quoted(&spill.to_string_lossy()))?;
    prepared(connection)
}

/// Memory that a refresh may use, beside what DuckDB needs in any case: a run over some gigabytes of sessions then stays
/// below 300 MiB, and takes no longer than without a limit.
const REFRESH_MEMORY: &str = "'160MB'";

/// The database in a file, to refresh it; made if it is not there. What does not fit into memory is spilled into `spill`.
pub(super) fn file(path: &Path, spill: &Path) -> Result<Connection> {
    let config = config()?.with("storage_compatibility_version", STORAGE_VERSION).trying("choose a storage version")?;
    let connection = prepared(Connection::open_with_flags(path, config).trying(&format!("open {}", path.display()))?)?;
    // Rows need not be stored in the order of the parts, which costs memory and time to keep; and of many small parts one
    // thread reads as many in the same time, with half of the buffers.
    set(&connection, "preserve_insertion_order", "false")?;
    set(&connection, "threads", "1")?;
    set(&connection, "memory_limit", REFRESH_MEMORY)?;
    set(&connection, "temp_directory", &quoted(&spill.to_string_lossy()))?;
    Ok(connection)
}

/// The database in a file, only to read from it. Fails while another process writes to it.
pub(super) fn file_to_read(path: &Path) -> Result<Connection> {
    let config = config()?.access_mode(AccessMode::ReadOnly).trying("open a database only to read from it")?;
    let connection = Connection::open_with_flags(path, config).trying(&format!("open {}", path.display()))?;
    prepared(connection)
}

fn config() -> Result<Config> {
    Config::default().enable_autoload_extension(false).trying("switch off automatic extensions")
}

fn prepared(connection: Connection) -> Result<Connection> {
    let found: String =
        connection.query_row("SELECT version()", [], |row| row.get(0)).trying("say which version it is")?;
    if found != DUCKDB_VERSION {
        return Err(WarehouseError::WrongDuckDb { expected: DUCKDB_VERSION, found });
    }
    // The setting comes with ICU, which a DuckDB compiled from source lacks; such a build knows no zone but UTC.
    let zones = "SELECT count(*) > 0 FROM duckdb_settings() WHERE name = 'TimeZone'";
    if connection.query_row(zones, [], |row| row.get(0)).trying("look for time zones")? {
        set(&connection, "TimeZone", "'UTC'")?;
    }
    Ok(connection)
}

fn set(connection: &Connection, name: &str, value: &str) -> Result<()> {
    connection.execute_batch(&format!("SET {name} = {value}")).trying(&format!("set {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_the_pinned_one_and_loads_nothing_by_itself() {
        let connection = in_memory().unwrap();
        let setting = |name: &str| -> String {
            connection
                .query_row("SELECT current_setting(?)::VARCHAR", [name], |row| row.get(0))
                .unwrap_or_else(|error| panic!("{name}: {error}"))
        };
        assert_eq!(setting("autoinstall_known_extensions"), "false");
        assert_eq!(setting("autoload_known_extensions"), "false");
    }

    #[test]
    fn times_with_a_zone_are_shown_in_utc() {
        let connection = in_memory().unwrap();
        let text: String = connection
            .query_row("SELECT (TIMESTAMPTZ '2026-01-01 12:00:00+02:00')::VARCHAR", [], |row| row.get(0))
            .unwrap();
        assert_eq!(text, "2026-01-01 10:00:00+00");
    }
}
