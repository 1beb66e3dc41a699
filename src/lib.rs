//! agentlake: session files of AI coding agents, as a lake of Parquet files and a DuckDB database with priced rollups.
//!
//! The modules import one way: commands → warehouse → lake → model ← adapters → source.

pub mod model;
pub mod pricing;
#[cfg(feature = "duckdb")]
pub mod commands {
    //! tmp
    pub mod query;
}
#[cfg(feature = "duckdb")]
pub mod warehouse;
