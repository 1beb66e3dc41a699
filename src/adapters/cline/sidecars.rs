//! Documents beside a task that say which model answered and where the work was.

use std::io::Read as _;
use std::path::Path;

use super::discovery::HISTORY;
use crate::model::time;
use crate::source::Json;
use crate::source::json::Parser;

/// Most that is read of one of them.
const MAX_BYTES: u64 = 64 << 20;

/// What stands beside a task.
#[derive(Debug, Default)]
pub(super) struct Sidecars {
    /// Models in use, with the time of the first use where it is known, in order.
    models: Vec<(Option<i64>, String)>,
    /// Working directory.
    pub cwd: Option<String>,
    /// Task that started this one, and the first of the family.
    pub parent: Option<String>,
    /// First task of the family.
    pub root: Option<String>,
}

impl Sidecars {
    /// Of the task whose document is at `path`.
    pub fn beside(path: &Path) -> Self {
        let mut sidecars = Self::default();
        let Some(folder) = path.parent() else { return sidecars };
        with(&folder.join("task_metadata.json"), |json| {
            for usage in json.get("model_usage").into_iter().flat_map(Json::items) {
                let ts = usage.get("ts").and_then(Json::as_i64).and_then(time::from_millis);
                if let Some(model) = usage.str("model_id") {
                    sidecars.models.push((ts, model.to_owned()));
                }
            }
        });
        with(&folder.join("history_item.json"), |json| {
            let text = |names: [&str; 2]| names.into_iter().find_map(|name| json.str(name)).map(str::to_owned);
            sidecars.cwd = text(["workspace", "cwdOnTaskInitialization"]);
            sidecars.parent = text(["parentTaskId", "parentTaskId"]);
            sidecars.root = text(["rootTaskId", "rootTaskId"]);
        });
        with(&folder.join(HISTORY), |json| sidecars.read_history(json));
        sidecars
    }

    /// Finds the notes on the environment that the extension puts into prompts.
    pub fn read_history(&mut self, history: Json<'_>) {
        let has_models = !self.models.is_empty();
        for message in history.items().filter(|message| message.str("role") == Some("user")) {
            let ts = message.get("ts").and_then(Json::as_i64).and_then(time::from_millis);
            let content = message.get("content");
            let texts = content.into_iter().flat_map(Json::items).filter_map(|block| block.str("text"));
            for text in content.and_then(Json::as_str).into_iter().chain(texts) {
                if let Some(model) = between(text, "<model>", "</model>").filter(|_| !has_models) {
                    self.models.push((ts, model.to_owned()));
                }
                if self.cwd.is_none() {
                    let marks = ["Current Working Directory (", "Current Workspace Directory ("];
                    self.cwd = marks.into_iter().find_map(|mark| between(text, mark, ")")).map(str::to_owned);
                }
            }
        }
    }

    /// The model that answered at `ts`: the last that was in use by then.
    pub fn model_at(&self, ts: i64) -> Option<&str> {
        let by_then = self.models.iter().rev().find(|(since, _)| since.is_none_or(|since| since <= ts));
        by_then.or(self.models.first()).map(|(_, model)| model.as_str())
    }
}

/// Parses a document beside a task, if it is there and whole.
pub(super) fn with(path: &Path, use_it: impl FnOnce(Json<'_>)) {
    let mut bytes = Vec::new();
    let Ok(file) = fs_err::File::open(path) else { return };
    if file.take(MAX_BYTES).read_to_end(&mut bytes).is_ok() {
        let _ = Parser::default().parse(&bytes, use_it);
    }
}

fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(before)?;
    let (inner, _) = rest.split_once(after)?;
    Some(inner.trim()).filter(|inner| !inner.is_empty() && inner.len() < 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_in_prompts_tell_model_and_directory() {
        let history = r#"[{"role":"user","ts":1000,"content":[{"type":"text","text":"<environment_details>\n# Current Workspace Directory (/w/app) Files\n<model>m-1</model>"}]},{"role":"user","ts":3000,"content":"<model>m-2</model>"}]"#;
        let mut sidecars = Sidecars::default();
        Parser::default().parse(history.as_bytes(), |json| sidecars.read_history(json)).unwrap();
        assert_eq!(sidecars.cwd.as_deref(), Some("/w/app"));
        assert_eq!(sidecars.model_at(2_000_000), Some("m-1"));
        assert_eq!(sidecars.model_at(3_000_000), Some("m-2"));
        assert_eq!(sidecars.model_at(1), Some("m-1"));
    }
}
