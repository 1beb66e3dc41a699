//! agentlake: session files of AI coding agents, as a lake of Parquet files and a DuckDB database with priced rollups.
//!
//! The modules import one way: commands → warehouse → lake → model ← adapters → source.

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
