//! Sessions of Cline's newer generation: `<session>.messages.json` and the manifest beside it.

use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::discovery::{Member, sdk_session_id};
use super::sidecars::with;
use super::usage::sdk;
use super::{blocks, claims, classic};
use crate::adapters::counters::Faults;
use crate::adapters::document::{Open, Shown};
use crate::adapters::draft::Draft;
use crate::model::tables::MessagesRow;
use crate::model::{Identity, IssueKind, Rows, SessionFacts, TitleRank, time};
use crate::source::Json;

/// What the manifest says.
#[derive(Debug, Default)]
struct Manifest {
    cwd: Option<String>,
    title: Option<String>,
    model: Option<String>,
    input: Option<i64>,
}

impl Manifest {
    fn beside(path: &Path, session_id: &str) -> Self {
        let mut manifest = Self::default();
        with(&path.with_file_name(format!("{session_id}.json")), |json| {
            let text = |name: &str| json.str(name).filter(|text| !text.is_empty()).map(str::to_owned);
            manifest.cwd = text("cwd").or_else(|| text("workspace_root"));
            manifest.model = text("model");
            let metadata = json.get("metadata");
            manifest.title = metadata.and_then(|metadata| metadata.str("title")).map(str::to_owned);
            manifest.input =
                metadata.and_then(|metadata| metadata.path(&["usage", "inputTokens"])).and_then(Json::as_i64);
        });
        manifest
    }
}

/// Writes everything new of a session; returns its id.
pub(super) fn write(json: Json<'_>, member: &Member, path: &Path, open: &mut Open, out: &mut Rows) -> Option<String> {
    let named = sdk_session_id(path);
    let Some(messages) = json.get("messages").filter(|messages| messages.is_array()) else {
        open.issue(None, 0, IssueKind::UnknownRecord, "the document is no session: it has no list of messages", out);
        return None;
    };
    let recorded = json.str("sessionId").filter(|id| !id.is_empty());
    // Documents of subagents name the session that they work for.
    let is_subagent = recorded.is_some_and(|id| id != named) && json.str("agent").is_some_and(|agent| agent != "main");
    let session_id = if is_subagent { named.clone() } else { recorded.unwrap_or(&named).to_owned() };
    let manifest = Manifest::beside(path, &session_id);
    let facts = out.session(&session_id);
    SessionFacts::set_once(&mut facts.cwd, manifest.cwd.as_deref());
    SessionFacts::set_once(&mut facts.project, manifest.cwd.as_deref());
    if let Some(title) = &manifest.title {
        facts.propose_title(TitleRank::Generated, title);
    }
    if is_subagent {
        SessionFacts::set_once(&mut facts.parent_session_id, recorded);
        SessionFacts::set_once(&mut facts.root_session_id, recorded);
        SessionFacts::set_once(&mut facts.relation, Some("subagent"));
    }
    // Old runs have one sum on their last answer.
    let metered: Vec<Option<i64>> = messages
        .items()
        .filter_map(|message| Some(message.get("metrics")?.get("inputTokens").and_then(Json::as_i64)))
        .collect();
    let is_sum = metered.len() == 1 && manifest.input.is_some() && metered.first() == Some(&manifest.input) && {
        messages.items().filter(|message| message.str("role") == Some("assistant")).count() > 1
    };
    let (mut draft, mut faults) = (Draft::default(), Faults::default());
    for (seq, message) in (0..).zip(messages.items()) {
        if message.path(&["metadata", "displayOnly"]).and_then(Json::as_bool) == Some(true) {
            continue;
        }
        let text = message.to_text();
        let id = message.str("id").filter(|id| !id.is_empty());
        let shown = Shown {
            session_id: &session_id,
            identity: id.map_or(Identity::Content(text.as_bytes()), Identity::Native),
            seq,
            ts: message.get("ts").and_then(Json::as_i64).and_then(time::from_millis),
            content: xxh3_64(text.as_bytes()),
            is_final: true,
        };
        let Some(begun) = open.begin(&shown, out) else { continue };
        draft.clear();
        if let Some(content) = message.get("content") {
            blocks::read(&mut draft, content);
        }
        let (role, mut kind) = blocks::kinds(message.str("role").unwrap_or_default(), &draft);
        if message.path(&["metadata", "kind"]).and_then(Json::as_str) == Some("compaction_summary") {
            kind = "summary";
        }
        if kind == "human" {
            classic::propose_title(draft.visible(), &session_id, out);
        }
        let model = message.path(&["modelInfo", "id"]).and_then(Json::as_str).or(manifest.model.as_deref());
        let row = MessagesRow {
            uuid: id,
            ts_basis: Some(begun.ts_basis.as_str()),
            role: Some(role),
            kind: Some(kind),
            model: model.filter(|_| role == "assistant"),
            cwd: manifest.cwd.as_deref(),
            ..MessagesRow::default()
        };
        draft.write(&begun.record, &row, out);
        let Some(metrics) = message.get("metrics").filter(|metrics| metrics.is_object()) else { continue };
        if let Some((counters, prompt)) = sdk(metrics, &mut faults) {
            let key = id.map_or_else(|| begun.record.ts.to_string(), str::to_owned);
            let reported = metrics.to_text();
            let spent = claims::Spent {
                key: format!("{session_id}:{key}"),
                uuid: id,
                model,
                service: message.path(&["modelInfo", "provider"]).and_then(Json::as_str),
                counters,
                prompt,
                cost: metrics.get("cost").and_then(Json::as_f64),
                grain: if is_sum { "session" } else { "request" },
                never: None,
                reported: &reported,
                cwd: manifest.cwd.as_deref(),
                agent_id: Some(named.as_str()).filter(|_| is_subagent),
            };
            claims::claim(&spent, member, &begun.record, out);
        }
        for (kind, detail) in faults.take(&format!("message {}", id.unwrap_or("without an id"))) {
            open.issue(Some(&session_id), seq, kind, &detail, out);
        }
    }
    Some(session_id)
}
