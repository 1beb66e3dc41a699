//! One file per subcommand, and how any of them ends.
//!
//! Exit codes: 0 done; 1 done, but something was unreadable that was not so in an earlier run, or `verify` found something; 2 error or wrong usage;
//! 3 another run holds the lock. A reader that closes the pipe early is no error.

pub mod compact;
#[cfg(feature = "duckdb")]
pub mod database;
pub mod export;
pub mod merge;
pub mod own_prices;
pub mod places;
mod price_updates;
pub mod prices;
#[cfg(feature = "duckdb")]
pub mod query;
#[cfg(feature = "duckdb")]
mod query_files;
pub mod rebuild;
pub mod repair;
pub mod schema;
pub mod sources;
mod summary;
#[cfg(feature = "duckdb")]
mod time_zone;
pub mod verify;

use std::io::{self, Write as _};
use std::process::ExitCode;

use anyhow::Result;

use crate::cli::{Cli, Command};
use crate::lake::LakeError;

/// How a command ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Everything asked for was done.
    Done,
    /// Done, but something could not be read.
    DoneWithUnreadable,
    /// The lake was looked at, and something is wrong with it.
    DoneWithFindings,
}

/// Runs the command of a command line.
///
/// # Errors
/// What the command reports; see [`finish`] for the exit code.
pub fn run(cli: &Cli) -> Result<Ending> {
    match &cli.command {
        Command::Export(arguments) => export::run(arguments),
        #[cfg(feature = "duckdb")]
        Command::Query(arguments) => database::query(arguments).map(|()| Ending::Done),
        Command::Compact(arguments) => compact::run(arguments).map(|()| Ending::Done),
        Command::Merge(arguments) => merge::run(arguments).map(|()| Ending::Done),
        Command::Sources(arguments) => sources::run(arguments).map(|()| Ending::Done),
        Command::Verify(arguments) => verify::run(arguments),
        Command::Repair(arguments) => repair::run(arguments),
        Command::Schema(arguments) => schema::run(arguments).map(|()| Ending::Done),
        Command::Prices(arguments) => prices::run(arguments).map(|()| Ending::Done),
    }
}

/// Reports an error once, and chooses the exit code.
#[must_use]
pub fn finish(result: Result<Ending>) -> ExitCode {
    match result {
        Ok(Ending::Done) => ExitCode::SUCCESS,
        Ok(Ending::DoneWithUnreadable | Ending::DoneWithFindings) => ExitCode::from(1),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "agentlake: {error:#}");
            let locked = matches!(error.downcast_ref(), Some(LakeError::Locked { .. }));
            ExitCode::from(if locked { 3 } else { 2 })
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    };
    error.chain().any(broken)
}
