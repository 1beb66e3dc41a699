//! Rows of `sessions`: what a wave learned, merged with what was known; written only where a fact changed.

use std::collections::BTreeMap;

use super::wave::ReadSource;
use super::{Result, State};
use crate::model::SessionFacts;
use crate::model::identity::id_of;
use crate::model::tables::{SESSIONS, SessionsColumns, SessionsRow};
use crate::source::json::write_string;

/// In the place of a source: the session has rows of another lake.
pub const NO_SOURCE: i64 = 0;

/// Session rows of a wave.
#[derive(Debug, Default)]
pub struct SessionRows {
    /// Rows per source, in the order of the wave.
    pub rows: Vec<SessionsColumns>,
    /// What the state must remember.
    pub changed: Vec<ChangedSession>,
}

/// A session of which something new is known.
#[derive(Debug)]
pub struct ChangedSession {
    /// Slug of the provider.
    pub provider: &'static str,
    /// Its durable id.
    pub session_id: String,
    /// The source that it was first read from, if that was in an earlier run; [`NO_SOURCE`] if not from that one alone.
    pub owner: Option<i64>,
    /// The source of the wave that it stands in.
    pub source: usize,
    /// Everything known.
    pub facts: SessionFacts,
}

/// Merges what the sources learned into what the state knows.
///
/// # Errors
/// The state cannot be read.
pub fn of_wave(state: &State, sources: &[ReadSource]) -> Result<SessionRows> {
    let mut learned: BTreeMap<(&'static str, &str), Vec<usize>> = BTreeMap::new();
    for (at, source) in sources.iter().enumerate() {
        for session_id in source.sessions.keys() {
            learned.entry((source.provider, session_id)).or_default().push(at);
        }
    }
    let mut result =
        SessionRows { rows: sources.iter().map(|_| SessionsColumns::default()).collect(), changed: Vec::new() };
    for ((provider, session_id), holders) in learned {
        let (before, owner) = state.session(provider, session_id)?.unzip();
        let mut facts = before.clone().unwrap_or_default();
        for facts_here in holders.iter().filter_map(|&at| sources.get(at)?.sessions.get(session_id)) {
            facts.absorb(facts_here.clone());
        }
        let Some(&source) = holders.first() else { continue };
        // Rows that another lake has read are no longer the owner's alone: whoever reads the session next looks for them.
        let is_shared = holders.iter().filter_map(|&at| sources.get(at)).any(|source| source.host.is_some());
        let is_known = before.as_ref() == Some(&facts);
        if is_known && (!is_shared || owner == Some(NO_SOURCE)) {
            continue;
        }
        let owner = if is_shared { Some(NO_SOURCE) } else { owner };
        if !is_known && let (Some(columns), Some(read)) = (result.rows.get_mut(source), sources.get(source)) {
            push(columns, read, session_id, &facts);
        }
        result.changed.push(ChangedSession { provider, session_id: session_id.to_owned(), owner, source, facts });
    }
    Ok(result)
}

fn push(columns: &mut SessionsColumns, source: &ReadSource, session_id: &str, facts: &SessionFacts) {
    let event_id = id_of(&[SESSIONS.name.as_bytes(), source.provider.as_bytes(), session_id.as_bytes()]);
    let attributes = attributes(facts);
    let started_at = facts.started_at.unwrap_or(source.checkpoint.stat.mtime);
    let row = SessionsRow {
        project: facts.project.as_deref().or(facts.cwd.as_deref()),
        project_slug: facts.project_slug.as_deref(),
        cwd: facts.cwd.as_deref(),
        git_branch: facts.git_branch.as_deref(),
        repo: facts.repo.as_deref(),
        title: facts.title.as_ref().map(|(_, title)| title.as_str()),
        parent_session_id: facts.parent_session_id.as_deref(),
        root_session_id: facts.root_session_id.as_deref(),
        relation: facts.relation.as_deref(),
        category: facts.category.as_deref(),
        cron_job_name: facts.cron_job_name.as_deref(),
        source_channel: facts.source_channel.as_deref(),
        started_at: Some(started_at),
        updated_at: facts.updated_at,
        agent_version: facts.agent_version.as_deref(),
        source_kind: Some(source.source_kind),
        file_size: i64::try_from(source.checkpoint.stat.size).ok(),
        attributes: attributes.as_deref(),
    };
    columns.push_with_ids(event_id.as_str(), event_id.as_str(), Some(session_id), 0, started_at, &row);
}

fn attributes(facts: &SessionFacts) -> Option<String> {
    if facts.attributes.is_empty() {
        return None;
    }
    let mut text = String::from("{");
    for (name, value) in &facts.attributes {
        if text.len() > 1 {
            text.push(',');
        }
        write_string(name, &mut text);
        text.push(':');
        text.push_str(value);
    }
    text.push('}');
    Some(text)
}
