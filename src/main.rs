//! The `agentlake` binary: parse, run, exit code. Everything else is in the library.

use std::process::ExitCode;

use agentlake::cli::Cli;
use agentlake::commands;
use clap::Parser as _;

fn main() -> ExitCode {
    // clap ends the process itself: 0 for --help and --version, 2 for wrong usage.
    let cli = Cli::parse();
    commands::finish(commands::run(&cli))
}
