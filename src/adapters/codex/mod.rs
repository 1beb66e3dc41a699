//! OpenAI Codex CLI: rollout files below `$CODEX_HOME` (else `~/.codex`), one thread a file.
//!
//! Owned here: where the files are, and the way from a file to a fold. What a line means stands in [`fold`] and the modules
//! below it; what a reader must know of the format stands in `docs/formats/codex.md`.

mod claims;
mod counters;
mod events;
mod fold;
mod items;
mod lineage;
mod notes;
mod outputs;
mod patch;
mod prompts;
mod session;
#[cfg(test)]
mod tests;
mod tokens;
mod tools;
mod usage;

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use self::fold::CodexFold;
use super::append_only;
use super::{Enumeration, Progress, ProviderInfo, SourceAdapter};
use crate::model::Rows;
use crate::source::walk::Found;
use crate::source::{Checkpoint, ReadLimits, Roots, Source, SourceKind};

/// Partition key of the provider.
const SLUG: &str = "codex";
/// Folders of a Codex home that hold rollouts.
const FOLDERS: [&str; 2] = ["sessions", "archived_sessions"];
/// Line files of a Codex home that are no rollouts.
const SIDE_FILES: [&str; 2] = ["history.jsonl", "session_index.jsonl"];
/// Length of `YYYY-MM-DDThh-mm-ss-`, which stands between `rollout-` and the thread id in a file name.
const STAMP_LEN: usize = 20;

/// The adapter of the Codex CLI.
#[derive(Debug)]
pub struct Codex;

impl SourceAdapter for Codex {
    fn info(&self) -> ProviderInfo {
        ProviderInfo {
            slug: SLUG,
            name: "Codex CLI",
            beta: false,
            restates: false,
            numbers: "exact, one row per model response, from usage records or from the growth of the thread's counters; calls made to compact a thread are in no counter before 0.153",
            keeps_days: None,
        }
    }

    fn enumerate(&self, roots: &Roots) -> Enumeration {
        let mut enumeration = Enumeration::default();
        if let Some(home) = home(roots) {
            for folder in FOLDERS {
                let folder = home.join(folder);
                let mut found = Found::default();
                found.walk(&folder, &is_rollout);
                add(found, &home, &mut enumeration);
                enumeration.roots.push(folder);
            }
        }
        for path in roots.named(SLUG) {
            let mut found = Found::default();
            found.walk(path, &is_line_file);
            let known: HashSet<&Path> = enumeration.sources.iter().map(|source| source.path.as_path()).collect();
            found.files.retain(|(file, _)| !known.contains(file.as_path()));
            let is_file = found.files.first().is_some_and(|(file, _)| file == path);
            let family = if is_file { path.parent().unwrap_or(path) } else { path };
            add(found, family, &mut enumeration);
            enumeration.roots.push(path.to_owned());
        }
        enumeration
    }

    fn read(
        &self,
        source: &Source,
        checkpoint: Option<&Checkpoint>,
        limits: &ReadLimits,
        out: &mut Rows,
    ) -> io::Result<Progress> {
        let name_id = thread_id_of(&source.path);
        append_only::read(source, checkpoint, limits, out, |carry| CodexFold::new(carry, &name_id))
    }

    fn watch_paths(&self, roots: &Roots) -> Vec<PathBuf> {
        let folders = home(roots).into_iter().flat_map(|home| FOLDERS.map(|folder| home.join(folder)));
        folders.chain(roots.named(SLUG).map(Path::to_owned)).collect()
    }
}

/// The Codex home, whether it exists or not.
fn home(roots: &Roots) -> Option<PathBuf> {
    roots.variable("CODEX_HOME").map(PathBuf::from).or_else(|| roots.in_home(".codex"))
}

/// Takes what a walk found. Of `X.jsonl` and `X.jsonl.zst`, which follow each other in the order of paths, the plain file is
/// the one that Codex goes on writing.
fn add(found: Found, family: &Path, enumeration: &mut Enumeration) {
    for (path, stat) in found.files {
        let kind = if is_compressed(&path) {
            if enumeration.sources.last().is_some_and(|plain| is_twin(&plain.path, &path)) {
                continue;
            }
            SourceKind::ZstdLines
        } else {
            SourceKind::Lines
        };
        enumeration.sources.push(Source { provider: SLUG, path, kind, stat, family: family.to_owned() });
    }
    enumeration.problems.extend(found.problems);
}

/// Whether `compressed` is `plain` with `.zst` behind it.
fn is_twin(plain: &Path, compressed: &Path) -> bool {
    compressed.as_os_str().as_encoded_bytes().strip_suffix(b".zst") == Some(plain.as_os_str().as_encoded_bytes())
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "zst")
}

/// What stands in a Codex home: `rollout-….jsonl`, maybe compressed.
fn is_rollout(path: &Path) -> bool {
    name_of(path).starts_with("rollout-") && is_line_file(path)
}

/// What a folder named on the command line may hold: line files of any name.
fn is_line_file(path: &Path) -> bool {
    let name = name_of(path);
    let plain = name.strip_suffix(".zst").unwrap_or(name);
    plain.strip_suffix(".jsonl").is_some() && !SIDE_FILES.contains(&plain)
}

/// The thread id in a file name (`rollout-<stamp>-<thread id>[_<rollout id>].jsonl`), else the name: it stands in where no
/// line of the file tells the id.
fn thread_id_of(path: &Path) -> String {
    let name = name_of(path);
    let name = name.strip_suffix(".zst").unwrap_or(name);
    let name = name.strip_suffix(".jsonl").unwrap_or(name);
    let id = name.strip_prefix("rollout-").and_then(|rest| rest.get(STAMP_LEN..)).unwrap_or(name);
    id.split('_').next().filter(|id| !id.is_empty()).unwrap_or(name).to_owned()
}
