//! Lines about the thread and its turns: `session_meta`, `turn_context`, and the first line of the oldest files.

use super::claims::Turn;
use super::fold::{CodexFold, Envelope, Place};
use super::lineage::{Meta, parse_source};
use crate::adapters::append_only::TimedLine;
use crate::adapters::buffers::{Attributes, filled};
use crate::model::tables::MessagesRow;
use crate::model::{Rows, SessionFacts, time};
use crate::source::Json;

/// Members of `session_meta` that become attributes of the session, as they are.
const SESSION_ATTRIBUTES: [&str; 10] = [
    "agent_nickname",
    "agent_path",
    "agent_role",
    "history_mode",
    "memory_mode",
    "model_provider",
    "multi_agent_version",
    "originator",
    "source",
    "thread_source",
];
/// Members of `turn_context` that become attributes of its row, as they are. The rest is text that Codex composes.
const TURN_ATTRIBUTES: [&str; 11] = [
    "turn_id",
    "root_turn_id",
    "effort",
    "summary",
    "personality",
    "approval_policy",
    "sandbox_policy",
    "permission_profile",
    "current_date",
    "timezone",
    "service_tier",
];

/// `session_meta`, taken apart.
#[derive(Default)]
struct SessionMeta<'t> {
    lineage: Meta<'t>,
    cwd: Option<&'t str>,
    version: Option<&'t str>,
    provider: Option<&'t str>,
    role: Option<&'t str>,
    instructions: Option<&'t str>,
    branch: Option<&'t str>,
    repo: Option<&'t str>,
    commit: Option<&'t str>,
}

impl<'t> SessionMeta<'t> {
    fn parse(payload: Json<'t>) -> Self {
        let mut meta = Self::default();
        let (mut source, mut base) = (None, None);
        let mut forked_at = None;
        for (key, value) in payload.fields() {
            let text = value.as_str().and_then(filled);
            match key {
                "id" => meta.lineage.id = text,
                "session_id" => meta.lineage.session_id = text,
                "forked_from_id" => meta.lineage.forked_from = text,
                "parent_thread_id" => meta.lineage.parent = text,
                "thread_source" => meta.lineage.is_subagent |= text == Some("subagent"),
                "timestamp" => meta.lineage.created = text.and_then(time::parse),
                "subagent_history_start_ordinal" => meta.lineage.start_ordinal = value.as_i64(),
                "history_base" => base = value.get("end_ordinal_exclusive").and_then(Json::as_i64),
                "forked_from_ordinal_exclusive" => forked_at = value.as_i64(),
                "source" => source = Some(value),
                "cwd" => meta.cwd = text,
                "cli_version" => meta.version = text,
                "model_provider" => meta.provider = text,
                "agent_role" => meta.role = text,
                "instructions" => meta.instructions = meta.instructions.or(text),
                "base_instructions" => meta.instructions = value.str("text").or(meta.instructions),
                "git" => {
                    meta.branch = value.str("branch");
                    meta.repo = value.str("repository_url");
                    meta.commit = value.str("commit_hash");
                }
                _ => {}
            }
        }
        meta.lineage.start_ordinal = meta.lineage.start_ordinal.or(base).or(forked_at);
        if let Some(source) = source {
            parse_source(source, &mut meta.lineage);
            let spawn = source.path(&["subagent", "thread_spawn"]);
            meta.role = meta.role.or_else(|| spawn?.str("agent_role"));
        }
        meta
    }

    /// Adds what the thread's own line says to the facts of its session.
    fn tell(&self, payload: Json<'t>, facts: &mut SessionFacts) {
        SessionFacts::set_once(&mut facts.cwd, self.cwd);
        SessionFacts::set_once(&mut facts.project, self.cwd);
        SessionFacts::set_once(&mut facts.git_branch, self.branch);
        if let Some(repo) = self.repo {
            SessionFacts::set_once(&mut facts.repo, Some(&without_credentials(repo)));
        }
        SessionFacts::set_latest(&mut facts.agent_version, self.version);
        let lineage = &self.lineage;
        SessionFacts::set_once(&mut facts.parent_session_id, lineage.parent.or(lineage.forked_from));
        let relation = match lineage {
            Meta { is_subagent: true, .. } => Some("subagent"),
            Meta { forked_from: Some(_), .. } => Some("fork"),
            Meta { parent: Some(_), .. } => Some("subagent"),
            _ => None,
        };
        SessionFacts::set_once(&mut facts.relation, relation);
        let root = lineage.session_id.filter(|&root| relation.is_some() && lineage.id != Some(root));
        SessionFacts::set_once(&mut facts.root_session_id, root);
        for (key, value) in payload.fields() {
            if SESSION_ATTRIBUTES.contains(&key) && !value.is_null() {
                facts.attributes.insert(key.to_owned(), value.to_text());
            }
        }
        if let Some(commit) = self.commit {
            let mut text = String::new();
            crate::source::json::write_string(commit, &mut text);
            facts.attributes.insert("git_commit".to_owned(), text);
        }
    }
}

impl CodexFold {
    /// `session_meta`: the first one is the thread's own, later ones are copies of its ancestors'.
    pub(super) fn session_meta(&mut self, envelope: &Envelope<'_>, line: &TimedLine<'_>, out: &mut Rows) {
        let meta = SessionMeta::parse(envelope.payload);
        let is_own = self.state.lineage.meta(&meta.lineage, envelope.ts);
        let context = &mut self.state.context;
        if is_own {
            SessionFacts::set_once(&mut context.project, meta.cwd);
            SessionFacts::set_once(&mut context.git_branch, meta.branch);
            SessionFacts::set_once(&mut context.model_provider, meta.provider);
            SessionFacts::set_once(&mut context.agent_type, meta.role);
            meta.tell(envelope.payload, out.session(self.state.lineage.thread()));
        }
        let Self { state, buffers, identity, .. } = self;
        buffers.clear();
        if !is_own {
            buffers.attributes.text("thread_id", meta.lineage.id);
        }
        buffers.block("session_meta", None);
        buffers.finish_blocks();
        let place = Place::begin(state, identity, line, envelope.ordinal, out);
        let row = MessagesRow {
            role: Some("system"),
            kind: Some("system"),
            content_text: meta.instructions,
            blocks: filled(&buffers.blocks),
            attributes: buffers.attributes.finish(),
            ..place.message(&state.context)
        };
        out.message(&place.record, &row);
    }

    /// The first line that is no `session_meta`: what the copied ones say of the thread's origin, where its own says nothing.
    pub(super) fn leave_head(&mut self, ts: Option<i64>, out: &mut Rows) {
        self.state.lineage.passes(ts);
        let Some((parent, root)) = self.state.lineage.settle() else { return };
        let (parent, root) = (parent.to_owned(), root.to_owned());
        let facts = out.session(self.state.lineage.thread());
        SessionFacts::set_once(&mut facts.parent_session_id, Some(&parent));
        SessionFacts::set_once(&mut facts.relation, Some("fork"));
        SessionFacts::set_once(&mut facts.root_session_id, Some(&root));
    }

    /// `turn_context`: the settings of a turn, from here on.
    pub(super) fn turn_context(&mut self, envelope: &Envelope<'_>, line: &TimedLine<'_>, out: &mut Rows) {
        let payload = envelope.payload;
        let text = |key: &str| payload.str(key).and_then(filled).map(str::to_owned);
        let turn = Turn { id: text("turn_id"), model: text("model"), effort: text("effort"), cwd: text("cwd") };
        if turn.id.is_none() || turn.id != self.state.context.turn.id {
            self.state.counters.turn_begins();
        }
        self.state.context.begin_turn(turn);
        let Self { state, buffers, identity, .. } = self;
        buffers.clear();
        attributes_of(payload, &TURN_ATTRIBUTES, &mut buffers.attributes);
        buffers.block("turn_context", None);
        buffers.finish_blocks();
        let place = Place::begin(state, identity, line, envelope.ordinal, out);
        let row = MessagesRow {
            role: Some("system"),
            kind: Some("meta"),
            model: state.context.turn.model.as_deref(),
            blocks: filled(&buffers.blocks),
            attributes: buffers.attributes.finish(),
            ..place.message(&state.context)
        };
        out.message(&place.record, &row);
    }
}

/// Copies the members named into the attributes.
fn attributes_of(payload: Json<'_>, names: &[&str], attributes: &mut Attributes) {
    for (key, value) in payload.fields() {
        if names.contains(&key) {
            attributes.json(key, Some(value));
        }
    }
}

/// A repository URL without user and password.
fn without_credentials(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = rest.split_once('/').map_or((rest, None), |(authority, path)| (authority, Some(path)));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    match path {
        Some(path) => format!("{scheme}://{host}/{path}"),
        None => format!("{scheme}://{host}"),
    }
}

#[cfg(test)]
mod tests {
    use super::without_credentials;

    #[test]
    fn repository_urls_lose_their_credentials() {
        for (url, clean) in [
            ("https://user:token@example.com/a/b.git", "https://example.com/a/b.git"),
            ("https://example.com/a/b@c", "https://example.com/a/b@c"),
            ("git@example.com:a/b.git", "git@example.com:a/b.git"),
            ("ssh://git@example.com", "ssh://example.com"),
        ] {
            assert_eq!(without_credentials(url), clean);
        }
    }
}
