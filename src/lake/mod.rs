//! The lake: Parquet parts, the state that says which of them count, and the commit protocol between the two.
//!
//! Owned here: schema, layout, the usage ledger, settling, writing, committing, recovering. The lake knows no provider and
//! no JSON; it takes [`crate::model::Rows`] and gives parts. `docs/protocol.md` tells what survives which fault.

pub mod arrow_schema;
pub mod carry;
pub mod commit;
pub mod compact;
pub mod crash;
pub mod disk;
pub mod known;
pub mod lake_ids;
pub mod lake_requests;
pub mod layout;
pub mod ledger;
pub mod lock;
pub mod merge;
pub mod part_file;
pub mod parts;
pub mod rebuilt;
pub mod recollect;
pub mod repair;
pub mod session_rows;
pub mod settle;
pub mod state;
pub mod successor;
mod suspect;
pub mod usage_sums;
pub mod verify;
pub mod wave;

use std::path::{Path, PathBuf};

pub use layout::Layout;
pub use state::State;

/// Why the lake cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LakeError {
    /// The file system refused.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The state database refused.
    #[error("the state of the lake ({path}) cannot be used: {source}")]
    State {
        /// The database file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// Arrow or Parquet refused.
    #[error("a part cannot be written: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// Arrow refused.
    #[error("rows cannot be arranged: {0}")]
    Arrow(#[from] arrow::error::ArrowError),
    /// Another run holds the lock.
    #[error("another run is writing to this lake ({holder}); wait for it to end, or use another --lake")]
    Locked {
        /// Who it is, as far as known.
        holder: String,
    },
    /// There is neither a state nor a part.
    #[error("there is no lake in {path}; run `agentlake export` first, or name one with --lake")]
    NoLake {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// Tables hold parts, but there is no state.
    #[error(
        "{path} holds parts but its state (.agentlake/state.db) is gone; restore it from a backup, or run `agentlake repair`, which makes it anew from the parts"
    )]
    StateMissing {
        /// The lake.
        path: PathBuf,
    },
    /// A part that the state does not know.
    #[error(
        "{path} is a file that the lake's state does not list; run `agentlake repair`, or move it away and run again"
    )]
    ForeignPart {
        /// The file.
        path: PathBuf,
    },
    /// The state was written by a newer version.
    #[error(
        "the lake was written by a newer version of agentlake (state version {found}, this one knows {known}); update agentlake"
    )]
    NewerState {
        /// Version found.
        found: i64,
        /// Newest version known here.
        known: i64,
    },
    /// Something stands where a rebuild would make the new lake.
    #[error("{path} is in the way of the new lake; move it away and run again")]
    InTheWay {
        /// The path.
        path: PathBuf,
    },
    /// A lake that is not sound is to be rebuilt.
    #[error(
        "{path} is not as it was committed (see `agentlake verify`); run `agentlake repair` before --rebuild, so that no row is lost"
    )]
    NotSound {
        /// The lake.
        path: PathBuf,
    },
    /// A published part is gone or changed.
    #[error(
        "{path} is not as it was committed ({reason}); restore it from a backup, or run `agentlake repair`, which reads its sources again"
    )]
    DamagedPart {
        /// The part.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A part was written by a newer version.
    #[error("{path} has schema version {found}, and this agentlake knows {known}; update agentlake")]
    NewerPart {
        /// The part.
        path: PathBuf,
        /// Version found.
        found: i64,
        /// Newest version known here.
        known: i64,
    },
    /// Parts merged into one are not what they were.
    #[error(
        "the parts of {partition} could not be merged without a difference ({what}); nothing was changed; please report it"
    )]
    Unequal {
        /// Table, provider and day.
        partition: String,
        /// What differs.
        what: String,
    },
    /// Another lake cannot be merged into this one.
    #[error("{path} cannot be merged: {reason}")]
    CannotMerge {
        /// The other lake.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Usage rows of a request that the ledger of their lake does not know.
    #[error("the ledger of the lake does not know the request {request}; run `agentlake repair` on that lake")]
    LedgerGap {
        /// The request.
        request: String,
    },
    /// A defect of agentlake itself.
    #[error("internal error: {0}; please report it")]
    Internal(&'static str),
}

/// Result of lake operations.
pub type Result<T> = std::result::Result<T, LakeError>;

/// A lake that this process may write to: it holds the lock, and what an earlier run left behind is settled.
#[derive(Debug)]
pub struct Lake {
    /// Where things stand.
    pub layout: Layout,
    /// The state database.
    pub state: State,
    /// Batches that a killed run had committed and this one finished.
    pub recovered: Vec<i64>,
    lock: lock::WriterLock,
}

impl Lake {
    /// Opens the lake for writing, creating it where there is none: takes the lock, opens the state, and recovers.
    ///
    /// # Errors
    /// Another run holds the lock, the state is missing or newer, or the file system refuses.
    pub fn open(root: &Path) -> Result<Self> {
        successor::put_back(root)?;
        Self::open_at(Layout::new(root))
    }

    /// The same with a layout that changes files in its own way.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_at(layout: Layout) -> Result<Self> {
        layout.create()?;
        let lock = lock::WriterLock::take(&layout)?;
        successor::clear(&fs_err::canonicalize(layout.root())?)?;
        if !layout.state_file().exists() && layout.has_parts()? {
            return Err(LakeError::StateMissing { path: layout.root().to_owned() });
        }
        let mut state = State::open(&layout)?;
        let recovered = commit::recover(&layout, &mut state)?;
        Ok(Self { layout, state, recovered, lock })
    }
}
