//! One adapter per provider: where its sources are and what their records mean.
//!
//! An adapter is a pure parser (bytes ⇒ typed record) and a small fold (state ⇒ rows). It knows nothing of Parquet, DuckDB
//! or what other files hold; it claims usage and lets the ledger decide. What a reader must know of a format stands in
//! `docs/formats/<provider>.md`.

pub mod append_only;
pub mod buffers;
mod claude;
mod cline;
mod codex;
mod copilot;
pub mod counters;
pub mod document;
pub mod draft;
pub mod editors;
mod gemini;
pub mod genai_parts;

pub mod known_records;
mod pi;
mod qwen;
pub mod tool_facts;
pub mod vendor;

use std::io;
use std::path::PathBuf;

use crate::model::Rows;
use crate::source::walk::Problem;
use crate::source::{Checkpoint, ReadLimits, Roots, Source, SourceKind};

pub use known_records::KnownRecords;

/// What a provider is and what its numbers mean.
#[derive(Debug, Clone, Copy)]
pub struct ProviderInfo {
    /// The partition key: lower-case, with a letter in it.
    pub slug: &'static str,
    /// Name for people.
    pub name: &'static str,
    /// Whether it has met real files only in its author's imagination; then it must be asked for.
    pub beta: bool,
    /// Whether its records can change after they were written (documents, replayed logs, databases), so that rows of one
    /// `event_id` can stand in several batches and the newest is the one.
    pub restates: bool,
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
    &[
        &claude::ClaudeCode,
        &codex::Codex,
        &copilot::Copilot,
        &gemini::Gemini,
        &pi::OpenClaw,
        &pi::Pi,
        &qwen::Qwen,
        &cline::Cline,
        &cline::Roo,
        &cline::Kilo,
    ]
}

/// Slugs of the providers whose records can change after they were written.
pub fn restating_slugs() -> impl Iterator<Item = &'static str> {
    all().iter().map(|adapter| adapter.info()).filter(|info| info.restates).map(|info| info.slug)
}

/// What names a source by its content: the hash of its first line, or of a whole document; `None` while there is nothing.
///
/// # Errors
/// The source cannot be opened or read.
pub fn head_hash(source: &Source, now: i64) -> io::Result<Option<u128>> {
    match source.kind {
        SourceKind::Lines | SourceKind::ZstdLines => append_only::head_hash(source, now),
        SourceKind::Document | SourceKind::ReplayedLines => document::content_hash(source, now).map(Some),
        SourceKind::Database => Ok(None),
    }
}

/// Whether a source goes on as a checkpoint says, so that it is the one that was read before, under another name.
///
/// # Errors
/// The source cannot be opened or read.
pub fn matches(source: &Source, checkpoint: &Checkpoint, now: i64) -> io::Result<bool> {
    match source.kind {
        SourceKind::Lines | SourceKind::ZstdLines => append_only::matches(source, checkpoint, now),
        SourceKind::Document | SourceKind::ReplayedLines => {
            Ok(document::content_hash(source, now)? == checkpoint.head_hash)
        }
        SourceKind::Database => Ok(false),
    }
}

/// The adapter of a provider.
#[must_use]
pub fn by_slug(slug: &str) -> Option<&'static dyn SourceAdapter> {
    all().iter().copied().find(|adapter| adapter.info().slug == slug)
}
