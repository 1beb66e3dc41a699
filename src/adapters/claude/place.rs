//! What the path of a transcript says of its session, and the note that stands beside a subagent's.

use std::collections::BTreeMap;
use std::path::Path;

/// Largest note that is read.
const MAX_META_BYTES: u64 = 1 << 20;

/// Where a transcript stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// File name without `.jsonl`.
    stem: String,
    /// Name of the project's folder, the tool's own short name of the project.
    pub project_slug: Option<String>,
    /// Set for the transcript of a subagent.
    agent: Option<AgentPlace>,
}

/// What the path of a subagent's transcript says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AgentPlace {
    /// Id of the subagent, from the file name.
    pub id: String,
    /// Session that started it, from the folder.
    pub parent: Option<String>,
    /// Id of the workflow run that it belongs to.
    pub workflow_run: Option<String>,
}

impl Place {
    /// Of the transcript at `path` in the project folder `family`.
    pub fn of(path: &Path, family: &Path) -> Self {
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let stem = name.strip_suffix(".jsonl").unwrap_or(&name).to_owned();
        let project_slug = family.file_name().map(|name| name.to_string_lossy().into_owned());
        let agent = stem.strip_prefix("agent-").filter(|id| !id.is_empty()).map(|id| {
            let folders: Vec<_> = path.parent().into_iter().flat_map(Path::iter).collect();
            let named = |index: usize| folders.get(index).map(|name| name.to_string_lossy().into_owned());
            let subagents = folders.iter().rposition(|name| *name == "subagents");
            let workflows = subagents.filter(|&at| folders.get(at + 1).is_some_and(|name| *name == "workflows"));
            AgentPlace {
                id: id.to_owned(),
                parent: subagents.and_then(|at| at.checked_sub(1)).and_then(named),
                workflow_run: workflows.and_then(|at| named(at + 2)),
            }
        });
        Self { stem, project_slug, agent }
    }

    /// What it says of a subagent, if it is the transcript of one.
    pub fn agent(&self) -> Option<&AgentPlace> {
        self.agent.as_ref()
    }

    /// Whether the `sessionId` inside the file says something that the path does not.
    pub fn needs_recorded_id(&self) -> bool {
        self.agent.is_some() || !is_uuid(&self.stem)
    }

    /// Durable id of the session, and the one that started it: `recorded` is the first `sessionId` inside the file. In a
    /// subagent's file that is the parent's.
    pub fn session(&self, recorded: Option<&str>) -> (String, Option<String>) {
        match &self.agent {
            Some(agent) => match recorded.or(agent.parent.as_deref()) {
                Some(parent) => (subagent_session(parent, &agent.id), Some(parent.to_owned())),
                None => (self.stem.clone(), None),
            },
            None if is_uuid(&self.stem) => (self.stem.clone(), None),
            None => (recorded.unwrap_or(&self.stem).to_owned(), None),
        }
    }
}

/// The session id of a subagent.
pub(super) fn subagent_session(parent: &str, agent_id: &str) -> String {
    format!("{parent}/agent-{agent_id}")
}

/// Whether a text has the shape of a UUID.
fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// The note `agent-<id>.meta.json` beside a subagent's transcript.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct AgentMeta {
    /// Kind of the subagent.
    pub agent_type: Option<String>,
    /// What it was asked to do, a few words.
    pub description: Option<String>,
    /// Everything else: name ⇒ JSON text.
    pub rest: BTreeMap<String, String>,
}

impl AgentMeta {
    /// Reads the note beside a transcript. `None` where there is none that can be read: it only adds to the facts.
    pub fn beside(transcript: &Path) -> Option<Self> {
        let path = transcript.with_extension("meta.json");
        let metadata = fs_err::metadata(&path).ok()?;
        if !metadata.is_file() || metadata.len() > MAX_META_BYTES {
            return None;
        }
        Self::parse(&fs_err::read(&path).ok()?)
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(bytes).ok()?;
        let mut meta = Self::default();
        for (name, value) in fields {
            match (name.as_str(), value) {
                (_, serde_json::Value::Null) => {}
                ("agentType", serde_json::Value::String(text)) => meta.agent_type = Some(text),
                ("description", serde_json::Value::String(text)) => meta.description = Some(text),
                (_, value) => {
                    meta.rest.insert(name, value.to_string());
                }
            }
        }
        Some(meta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "11111111-1111-4111-8111-111111111111";

    fn place(below: &str) -> Place {
        let project = Path::new("/h/.claude/projects/-w-app");
        Place::of(&project.join(below), project)
    }

    #[test]
    fn a_main_file_is_named_by_its_uuid_else_by_what_it_says() {
        let main = place(&format!("{PARENT}.jsonl"));
        assert!(!main.needs_recorded_id());
        assert_eq!(main.session(Some("other")), (PARENT.to_owned(), None));
        assert_eq!(main.project_slug.as_deref(), Some("-w-app"));
        let copy = place("copy.jsonl");
        assert_eq!(copy.session(Some(PARENT)).0, PARENT);
        assert_eq!(copy.session(None).0, "copy");
    }

    #[test]
    fn a_subagent_belongs_to_the_session_that_its_lines_or_its_folder_name() {
        let nested = place(&format!("{PARENT}/subagents/agent-a1.jsonl"));
        let expected = (format!("{PARENT}/agent-a1"), Some(PARENT.to_owned()));
        assert_eq!(nested.session(None), expected);
        let flat = place("agent-a1.jsonl");
        assert_eq!(flat.session(Some(PARENT)), expected);
        assert_eq!(flat.session(None), ("agent-a1".to_owned(), None));
        let workflow = place(&format!("{PARENT}/subagents/workflows/run-7/agent-a1.jsonl"));
        assert_eq!(workflow.session(None), expected);
        assert_eq!(workflow.agent().unwrap().workflow_run.as_deref(), Some("run-7"));
    }

    #[test]
    fn a_note_gives_what_it_has() {
        let meta =
            AgentMeta::parse(br#"{"agentType":"Explore","spawnDepth":1,"toolUseId":"toolu_1","x":null}"#).unwrap();
        assert_eq!(meta.agent_type.as_deref(), Some("Explore"));
        assert_eq!(meta.rest.len(), 2);
        assert_eq!(meta.rest["toolUseId"], "\"toolu_1\"");
        assert_eq!(AgentMeta::parse(b"[]"), None);
    }
}
