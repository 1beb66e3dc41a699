//! The DuckDB side: views over the lake, prices as tables, the database for notebooks, bundled queries, output.
//!
//! Owned here: every line of SQL that ships. Left to others: which parts exist ([`LakeSnapshot`] is filled by the caller),
//! and what a model costs ([`crate::pricing`]).
//!
//! The same SQL runs in two places:
//!
//! ```text
//! agentlake query      in memory   stored.<table> = view over the parts   views over them, only those a query names
//! agentlake.duckdb     a file      stored.<table> = filled by `refresh`   all views and macros, for notebooks
//! ```
//!
//! It must mean the same on a DuckDB without ICU (compiled from source) and in a notebook with it, in any session time zone:
//! so no bundled SQL applies a function to a TIMESTAMPTZ except `epoch_us`. The base views offer `ts_utc`, and local days
//! come from the table `tz_offsets`. A test scans all SQL for functions that would break this.

mod bundled;
mod connection;
mod cost;
mod header;
mod missing;
mod objects;
mod price_files;
mod prices;
mod query;
mod refresh;
mod render;
mod snapshot;
mod statements;
mod stored;
mod time_zones;
mod usage_parts;

use std::path::PathBuf;

use thiserror::Error;

use crate::pricing::PricingError;

pub use bundled::{BUNDLED, bundled, by_theme, markdown as bundled_markdown};
pub use connection::DUCKDB_VERSION;
pub use cost::{CostAdded, cost_added};
pub use header::{Column, NamedQuery};
pub use missing::{MissingPrice, missing_prices};
pub use query::{CostMode, Filters, Format, Question, run};
pub use refresh::{Refreshed, Target, refresh};
pub use snapshot::{LakeSnapshot, Part, Wanted};
pub use time_zones::zone_named;

/// What can go wrong between the lake and an answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WarehouseError {
    /// DuckDB refused something that agentlake asked of it.
    #[error("DuckDB could not {what}")]
    DuckDb {
        /// What was tried, to follow "could not".
        what: String,
        /// DuckDB's own words.
        #[source]
        source: duckdb::Error,
    },
    /// The SQL of the person who asks is at fault.
    #[error("the query failed: {0}")]
    Query(String),
    /// The library found at run time is another than the one that was tested.
    #[error(
        "this agentlake runs on DuckDB {expected}, but found {found}; put the library of {expected} where the program \
         looks for it (`make` fetches it), or build with `--features bundled`"
    )]
    WrongDuckDb {
        /// Version that the build is pinned to.
        expected: &'static str,
        /// Version of the library that was loaded.
        found: String,
    },
    /// No bundled query has that name.
    #[error("there is no bundled query `{name}`; there are {known}")]
    UnknownQuery {
        /// What was asked for.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// Not a time zone of the IANA database.
    #[error("`{0}` is no time zone; name one of the IANA database, such as Europe/Berlin or UTC")]
    UnknownZone(String),
    /// Parquet cannot be printed.
    #[error("Parquet is binary: name a file with --output")]
    ParquetNeedsFile,
    /// A part of the lake cannot be read.
    #[error("{} cannot be read as Parquet; `agentlake repair` rebuilds what is damaged", path.display())]
    Part {
        /// The part.
        path: PathBuf,
        /// What Parquet said.
        #[source]
        source: parquet::errors::ParquetError,
    },
    /// The price table of this build is broken.
    #[error(transparent)]
    Pricing(#[from] PricingError),
    /// A file could not be read or written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Result of this module.
pub type Result<T, E = WarehouseError> = std::result::Result<T, E>;

/// Says what was tried when DuckDB fails.
trait Trying<T> {
    fn trying(self, what: &str) -> Result<T>;
}

impl<T> Trying<T> for duckdb::Result<T> {
    fn trying(self, what: &str) -> Result<T> {
        self.map_err(|source| WarehouseError::DuckDb { what: what.to_owned(), source })
    }
}

/// A text as an SQL literal.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests;
