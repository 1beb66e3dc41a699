//! Where Claude Code keeps its transcripts, and which files below are transcripts.
//!
//! No file is opened and no path is resolved here: a run over thousands of unchanged files costs its directory reads.

use std::path::{Path, PathBuf};

use super::super::Enumeration;
use super::SLUG;
use crate::source::walk::Found;
use crate::source::{Roots, Source, SourceKind};

/// Folder of transcripts below a configuration root.
const PROJECTS: &str = "projects";

/// Every transcript below the roots.
pub(super) fn enumerate(roots: &Roots) -> Enumeration {
    let mut found = Found::default();
    let mut searched = self::roots(roots);
    searched.extend(roots.named(SLUG).map(Path::to_owned));
    for root in &searched {
        found.walk(root, &is_transcript);
    }
    let sources = found.files.into_iter().map(|(path, stat)| {
        let family = family_of(&path);
        Source { provider: SLUG, path, kind: SourceKind::Lines, stat, family }
    });
    Enumeration { sources: sources.collect(), problems: found.problems, roots: searched }
}

/// The folders that the tool writes transcripts to: those of `CLAUDE_CONFIG_DIR` (one path, or several between commas;
/// an entry may name the `projects` folder itself), else both places where versions of the tool have kept them.
pub(super) fn roots(roots: &Roots) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = match roots.variable("CLAUDE_CONFIG_DIR").and_then(|value| value.to_str()) {
        Some(list) => list
            .split(',')
            .map(str::trim)
            .filter(|entry| !entry.is_empty())
            .map(|entry| {
                let in_home = entry.strip_prefix("~/").and_then(|below| roots.in_home(below));
                projects_of(in_home.unwrap_or_else(|| PathBuf::from(entry)))
            })
            .collect(),
        None => {
            let xdg = roots.variable("XDG_CONFIG_HOME").map(PathBuf::from).or_else(|| roots.in_home(".config"));
            let folders = [xdg.map(|folder| folder.join("claude")), roots.in_home(".claude")];
            folders.into_iter().flatten().map(projects_of).collect()
        }
    };
    let mut kept = Vec::with_capacity(folders.len());
    folders.retain(|folder| {
        let is_new = !kept.contains(folder);
        kept.push(folder.clone());
        is_new
    });
    folders
}

fn projects_of(folder: PathBuf) -> PathBuf {
    if folder.ends_with(PROJECTS) { folder } else { folder.join(PROJECTS) }
}

/// Whether a file is a transcript by its name: `journal.jsonl` is the log of a workflow (which agent has ended), and
/// `tool-results` holds outputs that were too big for the transcript.
fn is_transcript(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
        && path.file_name().is_some_and(|name| name != "journal.jsonl")
        && path.parent().is_none_or(|folder| !folder.ends_with("tool-results"))
}

/// The project's folder: the first one below `projects`. Elsewhere, the folder that holds the session's main file.
fn family_of(path: &Path) -> PathBuf {
    let folder = path.parent().unwrap_or(path);
    let below = folder.ancestors().find(|above| above.parent().is_some_and(|parent| parent.ends_with(PROJECTS)));
    if let Some(project) = below {
        return project.to_owned();
    }
    let subagents = folder.ancestors().find(|above| above.ends_with("subagents"));
    subagents.and_then(|found| found.parent()?.parent()).unwrap_or(folder).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_follow_the_environment() {
        let home = Path::new("/home/somebody");
        let mut places = Roots::at_home(home);
        let texts = |places: &Roots| -> Vec<String> {
            self::roots(places).iter().map(|path| path.display().to_string()).collect()
        };
        assert_eq!(texts(&places), ["/home/somebody/.config/claude/projects", "/home/somebody/.claude/projects"]);
        places.set_variable("XDG_CONFIG_HOME", "/etc/x");
        assert_eq!(texts(&places), ["/etc/x/claude/projects", "/home/somebody/.claude/projects"]);
        places.set_variable("CLAUDE_CONFIG_DIR", "/a, /b/projects,/a,,~/c");
        assert_eq!(texts(&places), ["/a/projects", "/b/projects", "/home/somebody/c/projects"]);
    }

    #[test]
    fn the_family_is_the_project_folder() {
        let family = |path: &str| family_of(Path::new(path)).display().to_string();
        assert_eq!(family("/h/.claude/projects/-w/x.jsonl"), "/h/.claude/projects/-w");
        assert_eq!(family("/h/.claude/projects/-w/s/subagents/workflows/r/agent-1.jsonl"), "/h/.claude/projects/-w");
        assert_eq!(family("/tmp/x/s/subagents/agent-1.jsonl"), "/tmp/x");
        assert_eq!(family("/tmp/x/a.jsonl"), "/tmp/x");
    }

    #[test]
    fn only_transcripts_are_sources() {
        for (path, wanted) in [
            ("/p/-w/a.jsonl", true),
            ("/p/-w/s/subagents/agent-1.jsonl", true),
            ("/p/-w/s/subagents/agent-1.meta.json", false),
            ("/p/-w/s/subagents/workflows/r/journal.jsonl", false),
            ("/p/-w/s/tool-results/b.jsonl", false),
        ] {
            assert_eq!(is_transcript(Path::new(path)), wanted, "{path}");
        }
    }
}
