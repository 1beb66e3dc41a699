//! Where Qwen Code keeps its chats, and what a path says of one.

use std::path::{Path, PathBuf};

use super::super::Enumeration;
use super::SLUG;
use crate::source::walk::Found;
use crate::source::{Roots, Source, SourceKind};

/// Folder of all projects.
const PROJECTS: &str = "projects";

/// Every chat below the roots.
pub(super) fn enumerate(roots: &Roots) -> Enumeration {
    let mut found = Found::default();
    let mut searched = Vec::new();
    if let Some(root) = root(roots) {
        found.walk(&root, &is_chat);
        searched.push(root);
    }
    for named in roots.named(SLUG) {
        found.walk(named, &is_chat);
        searched.push(named.to_owned());
    }
    let sources = found.files.into_iter().map(|(path, stat)| {
        let family = searched.iter().find(|root| path.starts_with(root)).unwrap_or(&path).clone();
        Source { provider: SLUG, path, kind: SourceKind::Lines, stat, family }
    });
    Enumeration { sources: sources.collect(), problems: found.problems, roots: searched }
}

/// `projects` in the tool's folder: `QWEN_RUNTIME_DIR`, else `QWEN_HOME`, else `~/.qwen`.
pub(super) fn root(roots: &Roots) -> Option<PathBuf> {
    let named = roots.variable("QWEN_RUNTIME_DIR").or_else(|| roots.variable("QWEN_HOME")).map(PathBuf::from);
    Some(named.or_else(|| roots.in_home(".qwen"))?.join(PROJECTS))
}

/// Whether a file is a chat by its name; `.ledger.jsonl` beside a chat is the tool's own sum.
fn is_chat(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.ends_with(".jsonl") && !name.ends_with(".ledger.jsonl")
}

/// What the path of a chat says of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    /// Stands in where the chat does not name its session; of a subagent it is the session.
    pub name_id: String,
    /// Session that started it, of a subagent.
    pub parent: Option<String>,
    /// The tool's name of the project: its directory with dashes.
    pub project_slug: Option<String>,
}

impl Place {
    /// Of the chat at `path`.
    pub fn of(path: &Path) -> Self {
        let text = |part: Option<&std::ffi::OsStr>| part.and_then(|part| part.to_str()).map(str::to_owned);
        let name_id = text(path.file_stem()).unwrap_or_default();
        let project = path.ancestors().find(|above| above.parent().is_some_and(|parent| parent.ends_with(PROJECTS)));
        let folder = path.parent().filter(|folder| folder.parent().is_some_and(|above| above.ends_with("subagents")));
        Self {
            name_id,
            parent: folder.and_then(|folder| text(folder.file_name())),
            project_slug: project.and_then(|project| text(project.file_name())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_tells_session_parent_and_project() {
        let place = Place::of(Path::new("/h/.qwen/projects/-w-app/chats/s1.jsonl"));
        assert_eq!((place.name_id.as_str(), place.parent, place.project_slug.as_deref()), ("s1", None, Some("-w-app")));
        let place = Place::of(Path::new("/h/.qwen/projects/-w-app/subagents/s1/agent-7.jsonl"));
        assert_eq!((place.name_id.as_str(), place.parent.as_deref()), ("agent-7", Some("s1")));
    }

    #[test]
    fn ledgers_are_no_chats() {
        assert!(is_chat(Path::new("/h/.qwen/projects/-w/chats/archive/a.jsonl")));
        assert!(!is_chat(Path::new("/h/.qwen/projects/-w/chats/a.ledger.jsonl")));
        assert!(!is_chat(Path::new("/h/.qwen/projects/-w/subagents/s/agent-1.meta.json")));
    }
}
