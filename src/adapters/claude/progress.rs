//! `progress` lines: what a running tool shows. Those of a subagent hold copies of its messages.
//!
//! The copy of a response is claimed, with the lowest standing, because the subagent's own transcript may be gone. Its
//! texts, calls and results are not copied into rows: where the transcript is there, they would stand twice.

use super::claims::Response;
use super::content::call_names;
use super::envelope::{Envelope, Message};
use super::place::subagent_session;
use super::records::Writer;
use super::session::set_subagent;
use crate::model::tables::MessagesRow;
use crate::model::{Identity, SessionFacts};
use crate::source::Json;

impl Writer<'_, '_> {
    /// Writes one row of kind `progress`, and claims what a copied response cost.
    pub fn progress(mut self) {
        let row = MessagesRow { kind: Some("progress"), ..self.row() };
        if let Some(data) = self.envelope.data {
            self.attributes.put_facts("data", data);
            if let Some(copy) = data.get("message").filter(|copy| copy.is_object()) {
                self.copy(data, copy);
            }
        }
        self.out.message(self.record, &MessagesRow { attributes: self.attributes.finish(), ..row });
    }

    /// Claims the copy of a response for the subagent's own session, so that it stays there when the transcript is found.
    fn copy(&mut self, data: Json<'_>, copy: Json<'_>) {
        let Some(message) = copy.get("message").filter(|message| message.is_object()) else { return };
        let message = Message::read(message, None);
        let names = message.content.into_iter().flat_map(call_names);
        self.attributes.put_texts("tool_names", names);
        if message.role != Some("assistant") || message.usage.is_none() {
            return;
        }
        let line: &Envelope<'_> = self.envelope;
        let agent_id = data.str("agentId");
        let parent = line.session_id.unwrap_or(&self.ids.session);
        let session = match agent_id {
            Some(agent) => subagent_session(parent, agent),
            None => self.ids.session.clone(),
        };
        let identity = line.uuid.map_or(Identity::Content(self.timed.line.bytes), Identity::Native);
        let project = self.facts.project.as_deref();
        if agent_id.is_some() {
            let facts = self.out.session(&session);
            set_subagent(facts, Some(parent));
            SessionFacts::set_once(&mut facts.project, project);
            SessionFacts::set_once(&mut facts.cwd, line.cwd);
            SessionFacts::set_once(&mut facts.git_branch, line.git_branch);
        }
        let record = self.out.record(&session, identity, self.timed.line.seq, self.timed.ts);
        let response = Response {
            message,
            uuid: copy.str("uuid"),
            line: self.timed.line.bytes,
            is_copy: true,
            request_id: copy.str("requestId"),
            api_block_index: None,
            effort: None,
            cost_usd: None,
            duration_ms: None,
            project,
            cwd: line.cwd,
            git_branch: line.git_branch,
            is_sidechain: Some(true),
            agent_id,
            agent_type: None,
            skill: None,
        };
        self.claims.claim(&response, &record, self.told, self.out);
    }
}
