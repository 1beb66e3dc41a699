//! The warehouse on mock lakes: parts written by DuckDB in the declared columns, answers compared with sums done by hand.

mod bug_classes;
mod cost_modes;
mod fortnight;
mod golden;
mod golden_queries;
mod lint;
pub mod mock;
mod queries;
mod refreshing;
mod views;
mod zones;
