//! Tool calls and results: names, the file and lines a call is about, and outcomes that events tell before the result.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::fold::Place;
use super::outputs::Outcome;
use super::patch;
use crate::adapters::buffers::{Buffers, filled};
use crate::model::Rows;
use crate::model::tables::{ToolCallsRow, ToolResultsRow};
use crate::source::Json;

/// Outcomes that wait for their result at most; calls that were aborted never get one.
const MAX_WAITING: usize = 256;

/// Outcomes that events told, by call id, until the result of the call comes; part of the carry.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Outcomes(BTreeMap<String, Outcome>);

impl Outcomes {
    /// An event told how a call ended.
    pub fn learn(&mut self, call_id: Option<&str>, outcome: Outcome) {
        let Some(call_id) = call_id.filter(|_| outcome != Outcome::default()) else { return };
        let known = self.0.remove(call_id).unwrap_or_default();
        self.0.insert(call_id.to_owned(), outcome.or(known));
        if self.0.len() > MAX_WAITING {
            self.0.pop_first();
        }
    }

    /// What is known of a call whose result has come.
    pub fn take(&mut self, call_id: Option<&str>) -> Outcome {
        call_id.and_then(|call_id| self.0.remove(call_id)).unwrap_or_default()
    }
}

/// One call, as its item tells it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Call<'a> {
    /// Links it to its result.
    pub id: Option<&'a str>,
    /// Name of the tool.
    pub name: &'a str,
    /// Group of the tool; of MCP tools, `mcp__` and the server.
    pub namespace: Option<&'a str>,
    /// Arguments: text, or JSON.
    pub input: Option<Json<'a>>,
}

impl Call<'_> {
    /// Puts the name, and an input that is no text, into the buffers. MCP tools are named as models see them: namespace and
    /// name in one.
    pub fn fill(&self, buffers: &mut Buffers) {
        buffers.name.clear();
        buffers.input.clear();
        if let Some(namespace) = self.namespace.filter(|namespace| namespace.starts_with("mcp__")) {
            buffers.name.push_str(namespace);
            if !namespace.ends_with('_') && !self.name.starts_with('_') {
                buffers.name.push_str("__");
            }
        }
        buffers.name.push_str(self.name);
        if let Some(input) = self.input.filter(|input| input.as_str().is_none() && !input.is_null()) {
            input.write_to(&mut buffers.input);
        }
    }

    /// Writes the call; [`fill`](Self::fill) was called before.
    pub fn write(&self, place: &Place<'_>, buffers: &Buffers, out: &mut Rows) {
        let input = self.input.and_then(Json::as_str).or(filled(&buffers.input));
        let patch = input.and_then(patch::find);
        let path = || path_of(self.input?, input?);
        let row = ToolCallsRow {
            tool_use_id: self.id,
            name: filled(&buffers.name),
            mcp_server: mcp_server(&buffers.name),
            input,
            file_path: patch.map_or_else(path, |patch| patch.file),
            lines_added: patch.map(|patch| patch.added),
            lines_removed: patch.map(|patch| patch.removed),
            block_index: Some(0),
        };
        out.tool_call(&place.record, 0, &row);
    }
}

/// Writes one result; an `output` of no characters was recorded as such.
pub fn write_result(place: &Place<'_>, call_id: Option<&str>, output: Option<&str>, outcome: Outcome, out: &mut Rows) {
    let row = ToolResultsRow {
        tool_use_id: call_id,
        is_error: outcome.is_error,
        output,
        exit_code: outcome.exit_code,
        duration_ms: outcome.duration_ms,
    };
    out.tool_result(&place.record, 0, &row);
}

/// The server in `mcp__server__tool`, or in the older `server__tool`.
fn mcp_server(name: &str) -> Option<&str> {
    let (server, _) = name.strip_prefix("mcp__").unwrap_or(name).split_once("__")?;
    filled(server)
}

/// The file that the arguments name, where they do so in the simplest way.
fn path_of<'a>(input: Json<'a>, text: &'a str) -> Option<&'a str> {
    const NAMES: [&str; 2] = ["file_path", "path"];
    if input.is_object() {
        return NAMES.iter().find_map(|name| input.str(name));
    }
    for name in ["\"file_path\":\"", "\"path\":\""] {
        if let Some(start) = memchr::memmem::find(text.as_bytes(), name.as_bytes()) {
            let (path, _) = text.get(start + name.len()..)?.split_once('"')?;
            return filled(path).filter(|path| !path.contains('\\'));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mcp_tools_are_named_by_server_and_tool() {
        let mut buffers = Buffers::default();
        let call = |namespace, name| Call { name, namespace, ..Call::default() };
        for (namespace, name, full, server) in [
            (Some("mcp__git__"), "log", "mcp__git__log", Some("git")),
            (Some("mcp__apps__github"), "_fetch", "mcp__apps__github_fetch", Some("apps")),
            (Some("mcp__git"), "log", "mcp__git__log", Some("git")),
            (Some("multi_agent"), "spawn_agent", "spawn_agent", None),
            (None, "git__log", "git__log", Some("git")),
            (None, "exec_command", "exec_command", None),
        ] {
            call(namespace, name).fill(&mut buffers);
            assert_eq!(buffers.name, full);
            assert_eq!(mcp_server(&buffers.name), server);
        }
    }

    #[test]
    fn outcomes_wait_for_their_result_but_not_all_of_them_for_ever() {
        let mut outcomes = Outcomes::default();
        for call in 0..1000 {
            let outcome = Outcome { exit_code: Some(call), ..Outcome::default() };
            outcomes.learn(Some(&format!("call_{call:04}")), outcome);
        }
        assert_eq!(outcomes.take(Some("call_0999")).exit_code, Some(999));
        assert_eq!(outcomes.take(Some("call_0999")), Outcome::default());
        assert_eq!(outcomes.take(Some("call_0001")), Outcome::default());
    }
}
