//! Where Gemini CLI keeps its chats, and what a path says of a chat.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::super::Enumeration;
use super::SLUG;
use crate::source::walk::Found;
use crate::source::{Roots, Source, SourceKind};

/// Folder of chats below a project's folder.
const CHATS: &str = "chats";
/// File beside `chats` that names the project's directory.
const PROJECT_ROOT: &str = ".project_root";
/// Longest path that is read from it.
const MAX_PATH_BYTES: u64 = 4096;

/// Every chat below the roots.
pub(super) fn enumerate(roots: &Roots) -> Enumeration {
    let mut found = Found::default();
    let mut searched = Vec::new();
    if let Some(root) = root(roots) {
        found.walk(&root, &|path| is_chat(path) && path.components().any(|part| part.as_os_str() == CHATS));
        searched.push(root);
    }
    for named in roots.named(SLUG) {
        found.walk(named, &is_chat);
        searched.push(named.to_owned());
    }
    let sources = found.files.into_iter().map(|(path, stat)| {
        let is_log = path.extension().is_some_and(|extension| extension == "jsonl");
        let kind = if is_log { SourceKind::ReplayedLines } else { SourceKind::Document };
        // A project's folder is copied when its name changes from a hash to a word, so all of them are one family.
        let family = searched.iter().find(|root| path.starts_with(root)).unwrap_or(&path).clone();
        Source { provider: SLUG, path, kind, stat, family }
    });
    Enumeration { sources: sources.collect(), problems: found.problems, roots: searched }
}

/// `tmp` in the tool's folder, which stands in `GEMINI_CLI_HOME`, else in the home directory.
pub(super) fn root(roots: &Roots) -> Option<PathBuf> {
    let home = roots.variable("GEMINI_CLI_HOME").map(PathBuf::from).or_else(|| roots.home().map(Path::to_owned))?;
    Some(home.join(".gemini/tmp"))
}

/// Whether a file is a chat by its name: `logs.json` holds prompts only, and saved checkpoints are no sessions.
fn is_chat(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_json = path.extension().is_some_and(|extension| extension == "json" || extension == "jsonl");
    is_json && name != "logs.json" && name != "projects.json" && !name.starts_with("checkpoint")
}

/// What the path of a chat says of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    /// Stands in where the chat does not name its session.
    pub session_id: String,
    /// Session that started it, of a subagent: the folder below `chats`.
    pub parent: Option<String>,
    /// The tool's name of the project; not the hash that older versions use.
    pub project_slug: Option<String>,
    /// Directory of the project, where the tool noted it.
    pub cwd: Option<String>,
}

impl Place {
    /// Of the chat at `path`.
    pub fn of(path: &Path) -> Self {
        let text = |part: Option<&std::ffi::OsStr>| part.and_then(|part| part.to_str()).map(str::to_owned);
        let stem = text(path.file_stem()).unwrap_or_default();
        let session_id = stem.strip_prefix("session-").unwrap_or(&stem).to_owned();
        let folder = path.parent();
        let chats = folder.into_iter().flat_map(Path::ancestors).take(2).find(|above| above.ends_with(CHATS));
        let Some(chats) = chats else { return Self { session_id, ..Self::default() } };
        let project = chats.parent();
        let name = project.and_then(|project| text(project.file_name()));
        Self {
            session_id,
            parent: folder.filter(|folder| *folder != chats).and_then(|folder| text(folder.file_name())),
            project_slug: name.filter(|name| !is_hash(name)),
            cwd: project.and_then(project_root),
        }
    }
}

/// The SHA-256 of a path, by which older versions name a project.
fn is_hash(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn project_root(project: &Path) -> Option<String> {
    let mut text = String::new();
    let file = fs_err::File::open(project.join(PROJECT_ROOT)).ok()?;
    file.take(MAX_PATH_BYTES).read_to_string(&mut text).ok()?;
    Some(text.trim().to_owned()).filter(|path| !path.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_tells_session_parent_and_project() {
        let place = Place::of(Path::new("/h/.gemini/tmp/app/chats/session-2026-05-03T09-00-2222.jsonl"));
        assert_eq!(place.session_id, "2026-05-03T09-00-2222");
        assert_eq!((place.parent, place.project_slug.as_deref()), (None, Some("app")));
        let place = Place::of(Path::new("/h/.gemini/tmp/app/chats/parent/child.jsonl"));
        assert_eq!((place.session_id.as_str(), place.parent.as_deref()), ("child", Some("parent")));
        let hash = "a".repeat(64);
        let place = Place::of(&PathBuf::from(format!("/h/.gemini/tmp/{hash}/chats/session-x.json")));
        assert_eq!(place.project_slug, None);
    }

    #[test]
    fn the_home_of_the_tool_can_be_elsewhere() {
        let mut roots = Roots::at_home(Path::new("/h"));
        assert_eq!(root(&roots), Some(PathBuf::from("/h/.gemini/tmp")));
        roots.set_variable("GEMINI_CLI_HOME", "/x");
        assert_eq!(root(&roots), Some(PathBuf::from("/x/.gemini/tmp")));
    }
}
