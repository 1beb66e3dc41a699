//! What is carried from line to line about the session: its ids, the facts that lines repeat, and its titles.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::envelope::Envelope;
use super::place::{AgentMeta, Place};
use super::prompt::title_of;
use crate::model::{Identity, Rows, SessionFacts, TitleRank};
use crate::source::json::write_string;

/// Most summaries that wait for the record they speak of.
const MAX_WAITING: usize = 64;

/// State of the fold, kept with the checkpoint as JSON.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Carry {
    /// Ids of the session.
    pub ids: SessionIds,
    /// Facts seen so far.
    pub facts: Facts,
    /// Titles that wait.
    pub summaries: Summaries,
    /// Kinds of records that are not known and were told.
    pub unknown_kinds: BTreeSet<String>,
    /// Response whose faulty counters were told last.
    pub told: String,
}

/// Ids of the session that a file is about.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct SessionIds {
    /// Durable id.
    pub session: String,
    /// Session that started it, of a subagent.
    pub parent: Option<String>,
    /// First `sessionId` inside the file.
    pub recorded: Option<String>,
}

impl SessionIds {
    /// Of the file at `place`, as far as `recorded` is known.
    pub fn of(place: &Place, recorded: Option<&str>) -> Self {
        let (session, parent) = place.session(recorded);
        Self { session, parent, recorded: recorded.map(str::to_owned) }
    }

    /// The `sessionId` that lines of the file have.
    pub fn expected(&self) -> &str {
        self.parent.as_deref().unwrap_or(&self.session)
    }
}

/// What lines repeat; kept so that a repetition costs a comparison.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Facts {
    /// Directory that the session began in.
    pub project: Option<String>,
    git_branch: Option<String>,
    version: Option<String>,
    entrypoint: Option<String>,
    has_prompt: bool,
    has_lines: bool,
}

/// Tells what path and note say of the session.
pub(super) fn introduce(ids: &SessionIds, place: &Place, meta: Option<&AgentMeta>, out: &mut Rows) {
    let facts = out.session(&ids.session);
    SessionFacts::set_once(&mut facts.project_slug, place.project_slug.as_deref());
    let Some(agent) = place.agent() else { return };
    set_subagent(facts, ids.parent.as_deref());
    set_text(&mut facts.attributes, "agent_id", &agent.id);
    if let Some(run) = &agent.workflow_run {
        set_text(&mut facts.attributes, "workflow_run_id", run);
    }
    let Some(meta) = meta else { return };
    if let Some(agent_type) = &meta.agent_type {
        set_text(&mut facts.attributes, "agent_type", agent_type);
    }
    facts.attributes.extend(meta.rest.clone());
    if let Some(description) = &meta.description {
        facts.propose_title(TitleRank::Generated, description);
    }
}

impl Facts {
    /// Learns from the next line.
    pub fn learn(&mut self, line: &Envelope<'_>, ids: &SessionIds, place: &Place, out: &mut Rows) {
        if self.project.is_none() && line.cwd.is_some() {
            SessionFacts::set_once(&mut self.project, line.cwd);
            let facts = out.session(&ids.session);
            SessionFacts::set_once(&mut facts.project, line.cwd);
            SessionFacts::set_once(&mut facts.cwd, line.cwd);
        }
        if self.git_branch.is_none() && line.git_branch.is_some() {
            SessionFacts::set_once(&mut self.git_branch, line.git_branch);
            SessionFacts::set_once(&mut out.session(&ids.session).git_branch, line.git_branch);
        }
        if line.version.is_some() && line.version != self.version.as_deref() {
            SessionFacts::set_latest(&mut self.version, line.version);
            SessionFacts::set_latest(&mut out.session(&ids.session).agent_version, line.version);
        }
        if let Some(entrypoint) = line.entrypoint
            && self.entrypoint.as_deref() != Some(entrypoint)
        {
            self.entrypoint = Some(entrypoint.to_owned());
            set_text(&mut out.session(&ids.session).attributes, "entrypoint", entrypoint);
        }
        if let Some(recorded) = line.session_id
            && !self.has_lines
        {
            self.has_lines = true;
            // Old versions went on in a new file, and the first lines of it kept the id of the session that they go on.
            if place.agent().is_none() && recorded != ids.session {
                let facts = out.session(&ids.session);
                SessionFacts::set_once(&mut facts.parent_session_id, Some(recorded));
                SessionFacts::set_once(&mut facts.root_session_id, Some(recorded));
                SessionFacts::set_once(&mut facts.relation, Some("resume"));
            }
        }
    }

    /// Proposes a prompt as the title; the first one stays.
    pub fn prompt(&mut self, prompt: &str, ids: &SessionIds, out: &mut Rows) {
        if self.has_prompt {
            return;
        }
        let title = title_of(prompt);
        if !title.is_empty() {
            self.has_prompt = true;
            out.session(&ids.session).propose_title(TitleRank::FirstPrompt, title);
        }
    }
}

/// Facts of a session that is a subagent of another.
pub(super) fn set_subagent(facts: &mut SessionFacts, parent: Option<&str>) {
    SessionFacts::set_once(&mut facts.parent_session_id, parent);
    SessionFacts::set_once(&mut facts.root_session_id, parent);
    SessionFacts::set_once(&mut facts.relation, Some("subagent"));
}

/// Sets an attribute to a text.
pub(super) fn set_text(attributes: &mut BTreeMap<String, String>, name: &str, value: &str) {
    let mut text = String::with_capacity(value.len() + 2);
    write_string(value, &mut text);
    attributes.insert(name.to_owned(), text);
}

/// Summaries as titles. A summary names the record that it speaks of; the older versions that write summaries also write
/// those of other sessions into a file, so one counts only if its record stands in the file, before it or behind it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Summaries {
    waiting: Vec<Summary>,
    /// Position of the summary that is the title.
    chosen: Option<u64>,
}

/// One summary that waits for its record.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Summary {
    seq: u64,
    leaf_uuid: String,
    text: String,
}

impl Summaries {
    /// Keeps a summary until its record is met.
    pub fn add(&mut self, seq: u64, leaf_uuid: &str, text: &str) {
        if self.waiting.len() == MAX_WAITING {
            self.waiting.remove(0);
        }
        self.waiting.push(Summary { seq, leaf_uuid: leaf_uuid.to_owned(), text: text.to_owned() });
    }

    /// Proposes the summaries whose records were met. The last in the file wins, in whichever run its record is met.
    pub fn settle(&mut self, ids: &SessionIds, out: &mut Rows) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|summary| {
            if !out.seen().contains(&ids.session, Identity::Native(&summary.leaf_uuid)) {
                return true;
            }
            if self.chosen.is_none_or(|chosen| summary.seq > chosen) {
                self.chosen = Some(summary.seq);
                out.session(&ids.session).propose_title(TitleRank::Summary, &summary.text);
            }
            false
        });
        self.waiting = waiting;
    }
}
