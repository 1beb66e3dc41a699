//! Which thread a file is about, where it comes from, and which of its lines are copies of another thread's.
//!
//! A fork or a subagent may begin with its parent's history, `token_count`s included, stamped with the time of copying.
//! The evidence for what is whose, best first: a line that names a thread; the ordinal at which the thread's own history
//! starts; and, for files that have neither, the burst of lines written when the file was made.

use serde::{Deserialize, Serialize};

use super::counters::Start;
use crate::source::Json;

/// Copied lines follow each other faster than a model answers.
const BURST_GAP: i64 = 1_000_000;

/// Ancestors that are remembered; a real thread has a handful.
const MAX_ANCESTORS: usize = 256;

/// Whose a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The file's own thread.
    Own,
    /// Probably another thread: it stands in the burst of lines that the file began with.
    MaybeCopy,
    /// Another thread, by a name or an ordinal.
    Copy,
}

/// A thread as a `session_meta` line tells of it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Thread {
    id: String,
    /// The thread whose history it goes on from.
    origin: Option<String>,
}

/// How the file's own thread is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Known {
    /// From the file's name.
    #[default]
    Guessed,
    /// From an id in a line.
    Recorded,
    /// From its `session_meta`.
    Introduced,
}

/// The burst of lines that a file with a copied history begins with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Burst {
    /// No line with a time yet.
    #[default]
    Unknown,
    /// The time of its last line so far.
    Until(i64),
    /// A line came later.
    Over,
}

/// What the `session_meta` lines of a file say; part of the carry.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Lineage {
    /// The file's own thread.
    thread: String,
    known: Known,
    origin: Option<String>,
    parent: Option<String>,
    /// Other threads whose `session_meta` was copied into the file, nearest first.
    ancestors: Vec<Thread>,
    is_subagent: bool,
    /// The ordinal of the first line that is the thread's own.
    start_ordinal: Option<i64>,
    /// Whether the last line that named a thread named this one.
    named_own: Option<bool>,
    /// When the thread was made, microseconds since the epoch.
    created: Option<i64>,
    burst: Burst,
    /// Whether the session's root was told.
    is_settled: bool,
}

/// A `session_meta` line, as far as lineage goes.
#[derive(Debug, Default, Clone, Copy)]
pub struct Meta<'a> {
    /// The thread.
    pub id: Option<&'a str>,
    /// The root thread of the tree of subagents.
    pub session_id: Option<&'a str>,
    /// The thread it was forked from.
    pub forked_from: Option<&'a str>,
    /// The thread that started it.
    pub parent: Option<&'a str>,
    /// Whether it is a subagent.
    pub is_subagent: bool,
    /// Ordinal at which its own history starts.
    pub start_ordinal: Option<i64>,
    /// Creation time, microseconds since the epoch.
    pub created: Option<i64>,
}

impl Meta<'_> {
    /// The thread whose history, and total, it goes on from.
    fn origin(&self) -> Option<&str> {
        self.forked_from.or(self.parent.filter(|_| self.start_ordinal.is_some()))
    }
}

impl Lineage {
    /// A file of which only the name is known.
    pub fn of_file(name_id: &str) -> Self {
        Self { thread: name_id.to_owned(), ..Self::default() }
    }

    /// The file's own thread.
    pub fn thread(&self) -> &str {
        &self.thread
    }

    /// Whether the thread is a subagent.
    pub fn is_subagent(&self) -> bool {
        self.is_subagent
    }

    /// Learns the id from the head of the file, before any line is read.
    pub fn recognise(&mut self, id: &str) {
        if self.known == Known::Guessed && !id.is_empty() {
            id.clone_into(&mut self.thread);
            self.known = Known::Recorded;
        }
    }

    /// Takes a `session_meta` line written at `ts`. True if it is the thread's own and the first.
    pub fn meta(&mut self, meta: &Meta<'_>, ts: Option<i64>) -> bool {
        let id = meta.id.unwrap_or_default();
        self.recognise(id);
        if id != self.thread {
            if !id.is_empty()
                && self.ancestors.len() < MAX_ANCESTORS
                && !self.ancestors.iter().any(|known| known.id == id)
            {
                self.ancestors.push(Thread { id: id.to_owned(), origin: meta.origin().map(str::to_owned) });
            }
            return false;
        }
        if self.known == Known::Introduced {
            return false;
        }
        self.known = Known::Introduced;
        self.origin = meta.origin().map(str::to_owned);
        self.parent = meta.parent.map(str::to_owned);
        self.is_subagent = meta.is_subagent;
        self.start_ordinal = meta.start_ordinal;
        self.created = meta.created.or(ts);
        self.burst = ts.or(self.created).map_or(Burst::Unknown, Burst::Until);
        true
    }

    /// A line that names the thread of the lines after it.
    pub fn named(&mut self, thread: &str) -> Owner {
        let is_own = thread == self.thread;
        self.named_own = Some(is_own);
        if is_own { Owner::Own } else { Owner::Copy }
    }

    /// Follows the burst of lines that a file with a copied history begins with.
    pub fn passes(&mut self, ts: Option<i64>) {
        let (Some(ts), Burst::Until(last)) = (ts, self.burst) else { return };
        if self.created.is_some_and(|created| ts < created) {
            // Some versions kept the times of the copied lines.
            return;
        }
        self.burst = if ts - last > BURST_GAP { Burst::Over } else { Burst::Until(last.max(ts)) };
    }

    /// Whose a line is that names no thread.
    pub fn owner(&self, ordinal: Option<i64>, ts: Option<i64>) -> Owner {
        if let (Some(start), Some(ordinal)) = (self.start_ordinal, ordinal)
            && ordinal >= start
        {
            return Owner::Own;
        }
        match self.named_own {
            Some(true) => return Owner::Own,
            Some(false) => return Owner::Copy,
            None => {}
        }
        let has_copies = !self.ancestors.is_empty();
        if self.start_ordinal.is_some_and(|start| start > 0) {
            // A migration may put the start behind a thread's own lines; it also drops the parent's `session_meta`.
            return if has_copies { Owner::Copy } else { Owner::MaybeCopy };
        }
        let began_with_history = has_copies || self.origin.is_some() || self.is_subagent;
        let is_older = ts.zip(self.created).is_some_and(|(ts, created)| ts < created);
        let is_early = is_older || self.burst != Burst::Over;
        if began_with_history && is_early { Owner::MaybeCopy } else { Owner::Own }
    }

    /// Where the thread's totals start.
    pub fn start(&self) -> Start {
        let inherits = !self.ancestors.is_empty() || self.origin.is_some();
        if inherits || self.known != Known::Introduced { Start::Inherited } else { Start::Zero }
    }

    /// The thread that names the counters of all threads that go on from each other's totals: the farthest ancestor that
    /// the file knows, so that a copied counter has the same name in every file.
    pub fn family(&self, owner: Owner) -> &str {
        if let Some(ancestor) = self.ancestors.last() {
            let origin = ancestor.origin.as_deref().filter(|origin| !self.knows(origin));
            return origin.unwrap_or(&ancestor.id);
        }
        let copied_from = self.parent.as_deref().filter(|_| owner != Owner::Own);
        self.origin.as_deref().or(copied_from).unwrap_or(&self.thread)
    }

    fn knows(&self, id: &str) -> bool {
        id == self.thread || self.ancestors.iter().any(|known| known.id == id)
    }

    /// Once, at the first line that is no `session_meta`: the nearest and the farthest ancestor, where the file has their
    /// lines.
    pub fn settle(&mut self) -> Option<(&str, &str)> {
        if self.is_settled {
            return None;
        }
        self.is_settled = true;
        let (first, last) = (self.ancestors.first()?, self.ancestors.last()?);
        Some((&first.id, &last.id))
    }
}

/// Reads `source` of a `session_meta`: whether the thread is a subagent, and whose.
pub fn parse_source<'t>(source: Json<'t>, meta: &mut Meta<'t>) {
    // A string (`cli`, `exec` …), or {"subagent": "review" | {"thread_spawn": {"parent_thread_id": …}}}.
    let Some(subagent) = source.get("subagent") else { return };
    meta.is_subagent = true;
    if meta.parent.is_none() {
        meta.parent = subagent.path(&["thread_spawn", "parent_thread_id"]).and_then(Json::as_str);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000;

    fn meta(id: &str) -> Meta<'_> {
        Meta { id: Some(id), created: Some(100 * SECOND), ..Meta::default() }
    }

    #[test]
    fn a_thread_of_its_own_owns_every_line() {
        let mut lineage = Lineage::of_file("name");
        assert!(lineage.meta(&meta("own"), Some(100 * SECOND)));
        assert_eq!(lineage.thread(), "own");
        assert_eq!(lineage.owner(None, Some(100 * SECOND)), Owner::Own);
        assert_eq!(lineage.family(Owner::Own), "own");
        assert_eq!(lineage.start(), Start::Zero);
    }

    #[test]
    fn a_copied_history_ends_with_the_burst_it_was_written_in() {
        let mut lineage = Lineage::of_file("name");
        lineage.meta(&meta("own"), Some(100 * SECOND));
        assert!(!lineage.meta(&meta("parent"), Some(100 * SECOND)));
        for step in 1..=20 {
            let ts = 100 * SECOND + step * SECOND / 2;
            lineage.passes(Some(ts));
            assert_eq!(lineage.owner(None, Some(ts)), Owner::MaybeCopy);
        }
        assert_eq!(lineage.owner(None, Some(50 * SECOND)), Owner::MaybeCopy);
        lineage.passes(Some(113 * SECOND));
        assert_eq!(lineage.owner(None, Some(113 * SECOND)), Owner::Own);
        assert_eq!(lineage.family(Owner::Own), "parent");
    }

    #[test]
    fn names_and_ordinals_outweigh_the_burst() {
        let mut lineage = Lineage::of_file("name");
        lineage.meta(&Meta { start_ordinal: Some(10), parent: Some("parent"), ..meta("own") }, Some(100 * SECOND));
        lineage.meta(&meta("parent"), Some(100 * SECOND));
        assert_eq!(lineage.owner(Some(9), Some(500 * SECOND)), Owner::Copy);
        assert_eq!(lineage.owner(Some(10), Some(100 * SECOND)), Owner::Own);
        lineage.named("own");
        assert_eq!(lineage.owner(Some(9), Some(100 * SECOND)), Owner::Own);
        lineage.named("parent");
        assert_eq!(lineage.owner(Some(9), Some(100 * SECOND)), Owner::Copy);
        assert_eq!(lineage.owner(Some(11), Some(100 * SECOND)), Owner::Own);
    }

    #[test]
    fn every_file_of_a_family_names_its_counters_alike() {
        let mut parent = Lineage::of_file("");
        parent.meta(&meta("p"), Some(0));
        let mut child = Lineage::of_file("");
        child.meta(&Meta { forked_from: Some("p"), ..meta("c") }, Some(0));
        child.meta(&meta("p"), Some(0));
        let mut grandchild = Lineage::of_file("");
        grandchild.meta(&Meta { forked_from: Some("c"), ..meta("g") }, Some(0));
        grandchild.meta(&Meta { forked_from: Some("p"), ..meta("c") }, Some(0));
        grandchild.meta(&meta("p"), Some(0));
        for lineage in [&parent, &child, &grandchild] {
            assert_eq!(lineage.family(Owner::Own), "p");
        }
        let mut by_reference = Lineage::of_file("");
        by_reference.meta(&Meta { forked_from: Some("p"), ..meta("r") }, Some(0));
        assert_eq!(by_reference.family(Owner::Own), "p");
        assert_eq!(by_reference.start(), Start::Inherited);
    }

    #[test]
    fn a_fresh_subagent_is_a_family_of_its_own() {
        let mut lineage = Lineage::of_file("");
        lineage.meta(&Meta { parent: Some("p"), is_subagent: true, ..meta("s") }, Some(100 * SECOND));
        lineage.passes(Some(105 * SECOND));
        assert_eq!(lineage.owner(None, Some(105 * SECOND)), Owner::Own);
        assert_eq!(lineage.family(Owner::Own), "s");
        assert_eq!(lineage.start(), Start::Zero);
    }
}
