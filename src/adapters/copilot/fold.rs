//! Event after event of one session of the CLI: what is carried.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::calls::{Context, Ledger};
use super::discovery::Workspace;
use super::events;
use crate::adapters::append_only::{LineFold, TimedLine};
use crate::adapters::counters::Faults;
use crate::adapters::draft::Draft;
use crate::model::{Identity, Rows, SessionFacts, TitleRank, time};
use crate::source::Json;
use crate::source::json::write_string;

/// State of the fold, kept with the checkpoint as JSON.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Carry {
    /// Durable id of the session.
    pub session_id: String,
    /// Working directory.
    pub cwd: Option<String>,
    /// Git branch.
    pub git_branch: Option<String>,
    /// Model that answers now.
    pub model: Option<String>,
    /// Effort asked for now.
    pub effort: Option<String>,
    /// Calls and sums.
    pub ledger: Ledger,
    /// Tool calls that have a row and no result yet.
    pub open_calls: BTreeSet<String>,
    /// Whether a prompt was proposed as the title.
    pub has_title: bool,
    /// Kinds of events that are not known and were told.
    pub unknown_kinds: BTreeSet<String>,
}

/// The reading of one session.
#[derive(Debug)]
pub(super) struct Fold {
    pub carry: Carry,
    pub draft: Draft,
    pub faults: Faults,
    workspace: Option<Workspace>,
}

impl Fold {
    /// Begins a session, or goes on with what an earlier read carried.
    pub fn new(name_id: &str, workspace: &Workspace, carry: Option<&str>) -> Self {
        let carried = carry.and_then(|text| serde_json::from_str(text).ok());
        Self {
            carry: carried.unwrap_or_else(|| Carry { session_id: name_id.to_owned(), ..Carry::default() }),
            draft: Draft::default(),
            faults: Faults::default(),
            workspace: Some(workspace.clone()),
        }
    }

    /// Tells what stands beside the log, once a read, before the first event.
    fn introduce(&mut self, out: &mut Rows) {
        let Some(workspace) = self.workspace.take() else { return };
        let facts = out.session(&self.carry.session_id);
        if let Some(name) = &workspace.name {
            facts.propose_title(TitleRank::Generated, name);
        }
        SessionFacts::set_once(&mut self.carry.cwd, workspace.cwd.as_deref());
        SessionFacts::set_once(&mut self.carry.git_branch, workspace.branch.as_deref());
        SessionFacts::set_once(&mut facts.cwd, self.carry.cwd.as_deref());
        SessionFacts::set_once(&mut facts.project, self.carry.cwd.as_deref());
        SessionFacts::set_once(&mut facts.git_branch, self.carry.git_branch.as_deref());
    }

    /// What `session.start` and `session.resume` say.
    pub fn begin_leg(&mut self, data: Json<'_>, out: &mut Rows) {
        let carry = &mut self.carry;
        let context = data.get("context");
        let text = |name: &str| context.and_then(|context| context.str(name));
        SessionFacts::set_latest(&mut carry.model, data.str("selectedModel"));
        SessionFacts::set_latest(&mut carry.effort, data.str("reasoningEffort"));
        SessionFacts::set_latest(&mut carry.cwd, text("cwd"));
        SessionFacts::set_latest(&mut carry.git_branch, text("branch"));
        let facts = out.session(&carry.session_id);
        SessionFacts::set_once(&mut facts.cwd, text("cwd"));
        SessionFacts::set_once(&mut facts.project, text("gitRoot").or(text("cwd")));
        SessionFacts::set_once(&mut facts.git_branch, text("branch"));
        SessionFacts::set_once(&mut facts.repo, text("repository"));
        SessionFacts::set_latest(&mut facts.agent_version, data.str("copilotVersion"));
        for (name, value) in [("producer", data.str("producer")), ("head_commit", text("headCommit"))] {
            if let Some(value) = value {
                let mut json = String::new();
                write_string(value, &mut json);
                facts.attributes.insert(name.to_owned(), json);
            }
        }
    }
}

impl Carry {
    /// The calls so far, and what their usage rows repeat.
    pub fn split(&mut self) -> (&mut Ledger, Context<'_>) {
        let context = Context {
            session_id: &self.session_id,
            cwd: self.cwd.as_deref(),
            git_branch: self.git_branch.as_deref(),
            effort: self.effort.as_deref(),
        };
        (&mut self.ledger, context)
    }
}

impl LineFold for Fold {
    fn peek(&mut self, json: Json<'_>) -> bool {
        let id = json.path(&["data", "sessionId"]).and_then(Json::as_str).filter(|id| !id.is_empty());
        let id = id.filter(|_| json.str("type") == Some("session.start"));
        if let Some(id) = id {
            id.clone_into(&mut self.carry.session_id);
        }
        id.is_some()
    }

    fn time(&self, json: Json<'_>) -> Option<i64> {
        time::parse(json.str("timestamp")?)
    }

    fn line(&mut self, line: &TimedLine<'_>, out: &mut Rows) {
        self.introduce(out);
        let event = line.line.json;
        let id = event.str("id").filter(|id| !id.is_empty());
        let identity = id.map_or(Identity::Content(line.line.bytes), Identity::Native);
        let session_id = self.carry.session_id.clone();
        let record = out.record(&session_id, identity, line.line.seq, line.ts);
        events::write(self, event, &record, line, out);
    }

    fn session_id(&self) -> Option<&str> {
        Some(&self.carry.session_id)
    }

    fn carry(&self) -> String {
        serde_json::to_string(&self.carry).unwrap_or_default()
    }
}
