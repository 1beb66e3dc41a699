//! The integration tests: the real binary on session files that the tests write, a module per theme.
//!
//! `home` owns folders and processes, `lake_rows` reads what landed, `transcript` and `rollout` write session files. Every
//! other module is a theme. Nothing outside the tests' own temporary folders is read, except `fixtures/` and, where
//! `AGENTLAKE_CORPUS` names it, a folder of real sessions.
#![allow(
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stderr,
    reason = "tests may fail by panicking: that is what they do"
)]

mod bad_input;
mod beta;
mod cli;
mod compaction;
mod contract;
mod corpus;
mod crash;
mod disks;
mod faults;
mod fixtures;
mod fuzz;
mod home;
mod incremental;
mod lake_rows;
mod merging;
mod nightly;
mod parquet_layout;
#[cfg(feature = "duckdb")]
mod prices;
mod regression;
mod resume;
mod rollout;
mod soak;
mod split;
mod transcript;
