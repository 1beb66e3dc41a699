//! Where the family keeps its tasks, and which document of a task is read.

use std::path::{Path, PathBuf};

use super::super::{Enumeration, editors};
use crate::model::time;
use crate::source::walk::Found;
use crate::source::{Roots, Source, SourceKind};

/// What the person sees of a task.
pub(super) const UI_MESSAGES: &str = "ui_messages.json";
/// What the model sees of a task.
pub(super) const HISTORY: &str = "api_conversation_history.json";
/// Ending of a session's document in Cline's newer generation.
const SDK_ENDING: &str = ".messages.json";

/// One extension of the family.
#[derive(Debug)]
pub(super) struct Member {
    /// Slug of the provider.
    pub slug: &'static str,
    /// Ids of the extension.
    extensions: &'static [&'static str],
    /// Since when `tokensIn` is the whole prompt, microseconds; `None` where it never was for all services.
    pub whole_prompts_since: Option<i64>,
}

/// Cline.
pub(super) const CLINE: Member =
    Member { slug: "cline", extensions: &["saoudrizwan.claude-dev"], whole_prompts_since: None };
/// Roo Code, and Zoo Code, which goes on with it. 3.29.5 was released on 2025-11-01.
pub(super) const ROO: Member = Member {
    slug: "roo",
    extensions: &["rooveterinaryinc.roo-cline", "zoocodeorganization.zoo-code"],
    whole_prompts_since: Some(1_761_955_200_000_000),
};
/// Kilo Code. 4.119.0 was released on 2025-11-12.
pub(super) const KILO: Member =
    Member { slug: "kilo", extensions: &["kilocode.kilo-code"], whole_prompts_since: Some(1_762_905_600_000_000) };

/// Which document of which generation a source is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `ui_messages.json`.
    Classic,
    /// `<session>.messages.json`.
    Sdk,
    /// `api_conversation_history.json` of a task that has no `ui_messages.json`.
    History,
}

impl Form {
    /// Of the document at `path`.
    pub fn of(path: &Path) -> Self {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        match name {
            HISTORY => Self::History,
            _ if name.ends_with(SDK_ENDING) => Self::Sdk,
            _ => Self::Classic,
        }
    }
}

/// Every task below the roots.
pub(super) fn enumerate(member: &Member, roots: &Roots) -> Enumeration {
    let mut found = Found::default();
    let mut searched = self::roots(member, roots);
    searched.extend(roots.named(member.slug).map(Path::to_owned));
    for root in &searched {
        found.walk(root, &is_task);
    }
    let with_ui: std::collections::HashSet<PathBuf> = found
        .files
        .iter()
        .filter(|(path, _)| path.ends_with(UI_MESSAGES))
        .filter_map(|(path, _)| Some(path.parent()?.to_owned()))
        .collect();
    let sources = found
        .files
        .into_iter()
        .filter(|(path, _)| !path.ends_with(HISTORY) || path.parent().is_none_or(|task| !with_ui.contains(task)))
        .map(|(path, stat)| {
            let family = path.parent().and_then(Path::parent).unwrap_or(&path).to_owned();
            Source { provider: member.slug, path, kind: SourceKind::Document, stat, family }
        });
    Enumeration { sources: sources.collect(), problems: found.problems, roots: searched }
}

/// Folders that tasks are written to.
pub(super) fn roots(member: &Member, roots: &Roots) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = editors::user_folders(roots)
        .into_iter()
        .flat_map(|user| member.extensions.iter().map(move |id| user.join("globalStorage").join(id).join("tasks")))
        .collect();
    if member.slug == CLINE.slug {
        let home = roots.variable("CLINE_DIR").map(PathBuf::from).or_else(|| roots.in_home(".cline"));
        let data = roots.variable("CLINE_DATA_DIR").map(PathBuf::from).or_else(|| Some(home?.join("data")));
        let sessions = roots.variable("CLINE_SESSION_DATA_DIR").map(PathBuf::from);
        let sessions = sessions.or_else(|| Some(data.as_ref()?.join("sessions")));
        folders.extend(data.map(|data| data.join("tasks")));
        folders.extend(sessions);
    }
    if member.slug == ROO.slug {
        folders.extend(roots.in_home(".vscode-mock/global-storage/tasks"));
    }
    folders
}

fn is_task(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    matches!(name, UI_MESSAGES | HISTORY) || name.ends_with(SDK_ENDING)
}

/// The id of a task: the name of its folder.
pub(super) fn task_id(path: &Path) -> String {
    path.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or("task").to_owned()
}

/// When a task began, microseconds, where its id tells: Cline names tasks by milliseconds.
pub(super) fn task_start(task_id: &str) -> Option<i64> {
    let millis = task_id.parse().ok().filter(|_| task_id.len() == 13)?;
    time::from_millis(millis)
}

/// The session id in the name of a document of the newer generation.
pub(super) fn sdk_session_id(path: &Path) -> String {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.strip_suffix(SDK_ENDING).unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_told_by_the_name() {
        assert_eq!(Form::of(Path::new("/t/1/ui_messages.json")), Form::Classic);
        assert_eq!(Form::of(Path::new("/t/1/api_conversation_history.json")), Form::History);
        assert_eq!(Form::of(Path::new("/s/a/a.messages.json")), Form::Sdk);
        assert!(!is_task(Path::new("/s/a/a.compaction.json")));
        assert_eq!(task_id(Path::new("/t/1/ui_messages.json")), "1");
        assert_eq!(sdk_session_id(Path::new("/s/a/a.messages.json")), "a");
    }

    #[test]
    fn only_existing_editors_and_the_tools_own_folder_are_searched() {
        let home = tempfile::tempdir().unwrap();
        fs_err::create_dir_all(home.path().join(".config/Code/User")).unwrap();
        let mut roots = Roots::at_home(home.path());
        assert_eq!(self::roots(&ROO, &roots).len(), 3);
        assert_eq!(self::roots(&KILO, &roots).len(), 1);
        roots.set_variable("CLINE_DATA_DIR", "/d");
        let folders = self::roots(&CLINE, &roots);
        assert_eq!(folders[1..], [PathBuf::from("/d/tasks"), PathBuf::from("/d/sessions")]);
    }
}
