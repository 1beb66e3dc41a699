//! agentlake: session files of AI coding agents, as a lake of Parquet files and a DuckDB database with priced rollups.
//!
//! The modules import one way: commands → (ingest, warehouse) → lake → model ← adapters → source. Both the lake and the
//! adapters use `source`'s plain values (checkpoints, file facts).

#![cfg_attr(test, allow(clippy::pedantic, reason = "tests favour brevity; their numbers are small"))]

pub mod adapters;
pub mod cli;
pub mod commands;
pub mod ingest;
pub mod lake;
pub mod model;
pub mod pricing;
pub mod source;
#[cfg(feature = "duckdb")]
pub mod warehouse;
