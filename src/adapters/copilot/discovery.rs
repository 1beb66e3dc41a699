//! Where Copilot CLI and VS Code keep sessions, and what stands beside one.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::super::{Enumeration, editors};
use super::SLUG;
use crate::source::json::Parser;
use crate::source::walk::Found;
use crate::source::{FileStat, Roots, Source, SourceKind};

/// Folder of the CLI's sessions.
const STATE: &str = "session-state";
/// Folders of VS Code's chats.
const CHATS: [&str; 3] = ["chatSessions", "emptyWindowChatSessions", "transferredChatSessions"];
/// Most that is read of a file beside a session.
const MAX_NOTE_BYTES: u64 = 64 << 10;

/// Every session below the roots.
pub(super) fn enumerate(roots: &Roots) -> Enumeration {
    let mut found = Found::default();
    let mut searched = self::roots(roots);
    for root in &searched {
        found.walk(root, &is_session);
    }
    for named in roots.named(SLUG) {
        found.walk(named, &|path: &Path| is_session(path) || is_line_file(path));
        searched.push(named.to_owned());
    }
    let sources = found.files.into_iter().map(|(path, stat)| source(path, stat));
    Enumeration { sources: sources.collect(), problems: found.problems, roots: searched }
}

fn source(path: PathBuf, stat: FileStat) -> Source {
    let kind = match (is_chat(&path), is_line_file(&path)) {
        (true, true) => SourceKind::ReplayedLines,
        (false, true) => SourceKind::Lines,
        (_, false) => SourceKind::Document,
    };
    let family = path.parent().unwrap_or(&path).to_owned();
    Source { provider: SLUG, path, kind, stat, family }
}

/// Folders that sessions are written to.
pub(super) fn roots(roots: &Roots) -> Vec<PathBuf> {
    let home = roots.variable("COPILOT_HOME").map(PathBuf::from).or_else(|| roots.in_home(".copilot"));
    let cli = home.into_iter().map(|home| home.join(STATE));
    cli.chain(editors::user_folders(roots).into_iter().flat_map(|user| {
        let global = user.join("globalStorage");
        [user.join("workspaceStorage"), global.join("emptyWindowChatSessions"), global.join("transferredChatSessions")]
    }))
    .collect()
}

fn is_line_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}

/// Whether a file is a chat of VS Code: by the folder that it is in.
pub(super) fn is_chat(path: &Path) -> bool {
    let is_json = is_line_file(path) || path.extension().is_some_and(|extension| extension == "json");
    is_json && path.parent().is_some_and(|folder| CHATS.iter().any(|chats| folder.ends_with(chats)))
}

/// `<session>/events.jsonl`, `<session>.jsonl` as older versions name it, or a chat of VS Code.
fn is_session(path: &Path) -> bool {
    let folder = path.parent().unwrap_or(path);
    let is_events = path.file_name().is_some_and(|name| name == "events.jsonl");
    is_chat(path) || is_events || (is_line_file(path) && folder.ends_with(STATE))
}

/// The session id in a path, which stands in where no event tells it.
pub(super) fn session_id_of(path: &Path) -> String {
    let is_events = path.file_name().is_some_and(|name| name == "events.jsonl");
    let named = if is_events { path.parent().and_then(Path::file_name) } else { path.file_stem() };
    named.and_then(|name| name.to_str()).unwrap_or_default().to_owned()
}

/// What `workspace.yaml` beside a log of the CLI says: one `key: value` a line.
#[derive(Debug, Clone, Default)]
pub(super) struct Workspace {
    /// Working directory.
    pub cwd: Option<String>,
    /// Git branch.
    pub branch: Option<String>,
    /// Title.
    pub name: Option<String>,
}

impl Workspace {
    /// Of the session whose events are at `path`.
    pub fn beside(path: &Path) -> Self {
        let text = path.parent().and_then(|folder| note(&folder.join("workspace.yaml"))).unwrap_or_default();
        Self::parse(&text)
    }

    fn parse(text: &str) -> Self {
        let mut workspace = Self::default();
        // A line that is still being written has no end.
        let whole = text.rfind('\n').and_then(|end| text.get(..end)).unwrap_or_default();
        for (key, value) in whole.lines().filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            let quoted = ['"', '\''].into_iter().find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
            let value = Some(quoted.unwrap_or(value).to_owned()).filter(|value| !value.is_empty() && value != "null");
            match key {
                "cwd" => workspace.cwd = value,
                "branch" => workspace.branch = value,
                "name" | "summary" => workspace.name = workspace.name.or(value),
                _ => {}
            }
        }
        workspace
    }
}

/// The folder that a chat of VS Code is about, from `workspace.json` beside the chats.
pub(super) fn chat_folder(path: &Path) -> Option<String> {
    let text = note(&path.parent()?.parent()?.join("workspace.json"))?;
    let folder = Parser::default().parse(text.as_bytes(), |json| json.str("folder").map(str::to_owned)).ok()??;
    Some(folder.strip_prefix("file://").map_or_else(|| folder.clone(), without_escapes))
}

/// A URI's path with its `%20`s undone.
fn without_escapes(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = after.get(..2).filter(|_| first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        match escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn note(path: &Path) -> Option<String> {
    let mut text = String::new();
    fs_err::File::open(path).ok()?.take(MAX_NOTE_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_known_by_their_place() {
        for (path, wanted, id) in [
            ("/h/.copilot/session-state/abc/events.jsonl", true, "abc"),
            ("/h/.copilot/session-state/abc.jsonl", true, "abc"),
            ("/h/.copilot/session-state/abc/plan.jsonl", false, "plan"),
            ("/u/workspaceStorage/x/chatSessions/c.json", true, "c"),
            ("/u/workspaceStorage/x/chatSessions/c.jsonl", true, "c"),
            ("/u/workspaceStorage/x/state.json", false, "state"),
        ] {
            assert_eq!((is_session(Path::new(path)), session_id_of(Path::new(path)).as_str()), (wanted, id), "{path}");
        }
    }

    #[test]
    fn the_workspace_file_is_read_leniently() {
        let text = "id: x\ncwd: /w/a: b\nbranch: \"fix/x\"\nname: null\n- odd\n";
        let workspace = Workspace::parse(text);
        assert_eq!(workspace.cwd.as_deref(), Some("/w/a: b"));
        assert_eq!((workspace.branch.as_deref(), workspace.name), (Some("fix/x"), None));
        assert_eq!(without_escapes("/w/a%20b%"), "/w/a b%");
    }
}
