//! The warehouse on mock lakes: parts written by DuckDB in the declared columns, answers compared with sums done by hand.

mod golden;
mod lint;
pub mod mock;
mod queries;
mod refreshing;
mod views;
