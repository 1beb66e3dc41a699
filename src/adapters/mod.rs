//! One adapter per provider: where its sources are and what their records mean.
//!
//! An adapter is a pure parser (bytes ⇒ typed record) and a small fold (state ⇒ rows). It knows nothing of Parquet, DuckDB
//! or what other files hold; it claims usage and lets the ledger decide. What a reader must know of a format stands in
//! `docs/formats/<provider>.md`.

pub mod append_only;
mod claude;
mod codex;

use std::io;
use std::path::PathBuf;

use crate::model::Rows;
use crate::source::walk::Problem;
use crate::source::{Checkpoint, ReadLimits, Roots, Source};

/// What a provider is and what its numbers mean.
#[derive(Debug, Clone, Copy)]
pub struct ProviderInfo {
    /// The partition key: lower-case, with a letter in it.
    pub slug: &'static str,
    /// Name for people.
    pub name: &'static str,
    /// Whether it has met real files only in its author's imagination; then it must be asked for.
    pub beta: bool,
    /// What its token counts are, a sentence for people.
    pub numbers: &'static str,
    /// Days after which the tool itself deletes sessions, where it does.
    pub keeps_days: Option<u32>,
}

/// What is on disk of one provider.
#[derive(Debug, Default)]
pub struct Enumeration {
    /// Sources, in no order.
    pub sources: Vec<Source>,
    /// What could not be opened.
    pub problems: Vec<Problem>,
    /// Roots that were looked at, whether they exist or not.
    pub roots: Vec<PathBuf>,
}

/// How far a read came.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// Where to go on; `None`: nothing could be read yet, so the source stays unknown.
    pub checkpoint: Option<Checkpoint>,
    /// Whether bytes are left that a next slice can take.
    pub more: bool,
    /// Whether the source was not the one of the checkpoint any more, and was read from its start: rows whose `event_id`
    /// the lake has must be dropped.
    pub reread: bool,
}

/// Reads one tool's on-disk sessions.
pub trait SourceAdapter: Sync {
    /// Slug, name, and what its numbers mean.
    fn info(&self) -> ProviderInfo;

    /// Every source on disk. Reads at most 64 KiB of a file's head, never fails because the tool is not installed.
    fn enumerate(&self, roots: &Roots) -> Enumeration;

    /// Rows strictly past `checkpoint`; returns the new checkpoint. `seq` only grows within a session.
    ///
    /// # Errors
    /// The source cannot be opened or read. Lines that make no sense are rows in `issues`, never errors.
    fn read(
        &self,
        source: &Source,
        checkpoint: Option<&Checkpoint>,
        limits: &ReadLimits,
        out: &mut Rows,
    ) -> io::Result<Progress>;

    /// Directories to follow for changes; empty: periodic runs only.
    fn watch_paths(&self, roots: &Roots) -> Vec<PathBuf> {
        let _ = roots;
        Vec::new()
    }
}

/// Every adapter, in the order that people see.
#[must_use]
pub fn all() -> &'static [&'static dyn SourceAdapter] {
    &[&claude::ClaudeCode, &codex::Codex]
}

/// The adapter of a provider.
#[must_use]
pub fn by_slug(slug: &str) -> Option<&'static dyn SourceAdapter> {
    all().iter().copied().find(|adapter| adapter.info().slug == slug)
}
