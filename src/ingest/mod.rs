//! The main job: what changed on disk, read in parallel and brought into the lake wave by wave.
//!
//! Owned here: which sources are read, in which order and how much of them at once. What bytes mean is the adapters'
//! business, what rows become is the lake's.

pub mod against_sources;
pub mod checkpoints;
pub mod plan;
pub mod read;
pub mod run;

pub use against_sources::AgainstSources;
pub use plan::{Plan, Work};
pub use run::{RunOptions, RunSummary, run};
