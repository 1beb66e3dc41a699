//! Where Pi and OpenClaw keep their sessions, and what a path says of one.

use std::path::{Path, PathBuf};

use super::super::Enumeration;
use crate::source::walk::Found;
use crate::source::{Roots, Source, SourceKind};

/// Slug of Pi.
pub(super) const PI: &str = "pi";
/// Slug of OpenClaw.
pub(super) const OPENCLAW: &str = "openclaw";
/// Folders of OpenClaw under its present and its former names.
const OPENCLAW_FOLDERS: [&str; 4] = [".openclaw", ".clawdbot", ".moltbot", ".moldbot"];

/// Every session below the roots of a provider.
pub(super) fn enumerate(slug: &'static str, roots: &Roots) -> Enumeration {
    let mut found = Found::default();
    let mut searched = self::roots(slug, roots);
    let wanted =
        |path: &Path| is_session(path) && (slug == PI || path.components().any(|part| part.as_os_str() == "sessions"));
    for root in &searched {
        found.walk(root, &wanted);
    }
    for named in roots.named(slug) {
        found.walk(named, &is_session);
        searched.push(named.to_owned());
    }
    let sources = found.files.into_iter().map(|(path, stat)| {
        let family = searched.iter().find(|root| path.starts_with(root)).unwrap_or(&path).clone();
        Source { provider: slug, path, kind: SourceKind::Lines, stat, family }
    });
    Enumeration { sources: sources.collect(), problems: found.problems, roots: searched }
}

/// Folders that a provider writes sessions to.
pub(super) fn roots(slug: &str, roots: &Roots) -> Vec<PathBuf> {
    if slug == PI {
        let agent = roots.variable("PI_CODING_AGENT_DIR").map(PathBuf::from).or_else(|| roots.in_home(".pi/agent"));
        let flat = roots.variable("PI_CODING_AGENT_SESSION_DIR").map(PathBuf::from);
        return agent.map(|agent| agent.join("sessions")).into_iter().chain(flat).collect();
    }
    let named = roots.variable("OPENCLAW_STATE_DIR").or_else(|| roots.variable("OPENCLAW_DIR"));
    let folders: Vec<PathBuf> = match named {
        Some(folder) => vec![PathBuf::from(folder)],
        None => OPENCLAW_FOLDERS.iter().filter_map(|folder| roots.in_home(folder)).collect(),
    };
    folders.into_iter().map(|folder| folder.join("agents")).collect()
}

/// Whether a file is a session by its name: `X.jsonl`, or one that OpenClaw put away (`X.jsonl.deleted.<time>`,
/// `X.jsonl.reset.<time>`).
fn is_session(path: &Path) -> bool {
    let name = name_of(path);
    name.ends_with(".jsonl") || name.contains(".jsonl.deleted.") || name.contains(".jsonl.reset.")
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// The session id in a file name, which stands in where no line tells it: Pi puts the time of the start before it.
pub(super) fn session_id_of(path: &Path) -> String {
    session_id_in(name_of(path)).to_owned()
}

/// The same, of a name; also of the path of a parent session.
pub(super) fn session_id_in(name: &str) -> &str {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let stem = name.split(".jsonl").next().unwrap_or(name);
    match stem.split_once('_') {
        Some((time, id)) if time.len() > 19 && time.ends_with('Z') && !id.is_empty() => id,
        _ => stem,
    }
}

/// The agent of an OpenClaw session: `agents/<agent>/sessions/…`.
pub(super) fn agent_of(path: &Path) -> Option<String> {
    let sessions = path.parent().filter(|folder| folder.ends_with("sessions"))?;
    let agent = sessions.parent().filter(|agent| agent.parent().is_some_and(|above| above.ends_with("agents")))?;
    Some(agent.file_name()?.to_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_session() {
        for (name, id) in [
            ("2026-05-05T06-00-00-000Z_3333-4444.jsonl", "3333-4444"),
            ("/x/--w--/2026-05-05T06-00-00-000Z_3333.jsonl", "3333"),
            ("abc_def.jsonl", "abc_def"),
            ("abc.jsonl.reset.2026-01-01T00-00-00.000Z", "abc"),
        ] {
            assert_eq!(session_id_in(name), id, "{name}");
        }
    }

    #[test]
    fn sessions_that_were_put_away_are_read_too() {
        for (name, wanted) in [
            ("/o/agents/a/sessions/x.jsonl", true),
            ("/o/agents/a/sessions/x.jsonl.deleted.2026-01-01", true),
            ("/o/agents/a/sessions/x.jsonl.reset.2026-01-01", true),
            ("/o/agents/a/sessions/sessions.json", false),
            ("/o/agents/a/sessions/x.jsonl.lock", false),
        ] {
            assert_eq!(is_session(Path::new(name)), wanted, "{name}");
        }
        assert_eq!(agent_of(Path::new("/o/agents/a/sessions/x.jsonl")).as_deref(), Some("a"));
        assert_eq!(agent_of(Path::new("/p/sessions/--w--/x.jsonl")), None);
    }

    #[test]
    fn roots_follow_the_environment() {
        let mut roots = Roots::at_home(Path::new("/h"));
        assert_eq!(self::roots(PI, &roots), [PathBuf::from("/h/.pi/agent/sessions")]);
        assert_eq!(self::roots(OPENCLAW, &roots).len(), 4);
        roots.set_variable("PI_CODING_AGENT_DIR", "/p");
        roots.set_variable("PI_CODING_AGENT_SESSION_DIR", "/flat");
        roots.set_variable("OPENCLAW_STATE_DIR", "/o");
        assert_eq!(self::roots(PI, &roots), [PathBuf::from("/p/sessions"), PathBuf::from("/flat")]);
        assert_eq!(self::roots(OPENCLAW, &roots), [PathBuf::from("/o/agents")]);
    }
}
