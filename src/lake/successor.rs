//! `export --rebuild`: a new lake beside the old one, which takes its place when it is whole.
//!
//! First the rows that no source can give again are carried over, with what the old state knows of their sources, sessions
//! and requests; the export that follows counts everything else against them. So a request that stands in a file that is
//! gone and in one that is there counts once, as before.
//!
//! | dies | what is there | what the next writing command does |
//! |---|---|---|
//! | before the swap | the old lake, and an unfinished one in `<lake>.rebuild` | deletes the unfinished one |
//! | after it | the new lake, and the old one in `<lake>.rebuild` | takes over what is not the lake's own, deletes the rest |
//! | between two renames, where folders cannot be exchanged | the old lake in `<lake>.old` | puts it back |

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use arrow::array::{BooleanArray, RecordBatch};

use super::carry::{Carrier, Numbering, table_of};
use super::disk::{Disk, RealDisk, create_private_dirs, sync_all};
use super::part_file::{PartReader, id, integer, integers, request_of, text, texts};
use super::recollect::Recollection;
use super::state::{Part, SourceRow};
use super::{Lake, LakeError, Layout, Result, State, crash};
use crate::model::RequestKey;
use crate::model::tables::{SESSIONS, TABLES, USAGE};

/// The file that marks a folder as left behind by a rebuild, so that nobody's own folder is ever deleted.
const MARK: &str = "rebuild";
/// What a lake holds besides its tables; everything else in its folder is somebody's own.
const OWN: [&str; 5] = [".agentlake", "agentlake.duckdb", "agentlake.duckdb.wal", "prices", "rollups"];

/// Two lakes: the old one, whose lock is held, and the one that will replace it.
#[derive(Debug)]
pub struct Successor {
    old: Lake,
    /// The new lake, to be exported into.
    pub lake: Lake,
    /// Rows carried over of sources whose file is gone, by path.
    pub vanished: BTreeMap<String, u64>,
    /// Rows carried over in all.
    pub carried: u64,
}

/// Which sources will be read again, and on which machine.
pub struct Sources<'a> {
    /// Whether the export will read a source, by provider and path.
    pub is_read: &'a dyn Fn(&str, &Path) -> bool,
    /// Name of this machine.
    pub host: &'a str,
}

/// Makes the new lake with the rows that no source will give again.
///
/// # Errors
/// Another run writes to the lake, a part cannot be read, or the file system refuses. The old lake stays as it is.
pub fn begin(root: &Path, sources: &Sources<'_>, now: i64) -> Result<Successor> {
    let old = Lake::open(&fs_err::canonicalize(root)?)?;
    let beside = beside(old.layout.root(), "rebuild");
    if beside.exists() {
        return Err(LakeError::InTheWay { path: beside });
    }
    let layout = Layout::new(&beside);
    layout.create()?;
    mark(&layout)?;
    let mut lake = Lake::open(&beside)?;
    let (parts, vanished) = carry(&old, &lake, sources)?;
    crash::point("carried");
    let recollection = Recollection::read(&lake.layout, &parts, sources.host)?;
    let lake_id = lake.state.lake_id().to_owned();
    lake.state.rebuild(&lake_id, true, &parts, &recollection, now)?;
    hand_over(&old.state, &mut lake.state, &recollection, sources)?;
    crash::point("handed_over");
    let carried = parts.iter().map(|part| u64::try_from(part.rows).unwrap_or(0)).sum();
    Ok(Successor { old, lake, vanished, carried })
}

/// Rows of the old lake, by where they come from.
struct Chosen<'a> {
    sources: &'a Sources<'a>,
    /// Sources that were rewritten: they may hold less than the lake has of them.
    rewritten: HashSet<(String, PathBuf)>,
    requests: HashSet<RequestKey>,
    sessions: HashSet<(String, String)>,
}

impl Chosen<'_> {
    fn keeps(&self, provider: &str, path: &str, host: &str) -> bool {
        let path = Path::new(path);
        host != self.sources.host
            || !(self.sources.is_read)(provider, path)
            || self.rewritten.contains(&(provider.to_owned(), path.to_owned()))
    }
}

/// Writes the rows to carry over into the new lake's folders. Returns the parts, and rows by vanished source.
fn carry(old: &Lake, new: &Lake, sources: &Sources<'_>) -> Result<(Vec<Part>, BTreeMap<String, u64>)> {
    let marks = old.state.source_marks()?.into_iter().filter(|mark| mark.was_rewritten);
    let mut chosen = Chosen {
        sources,
        rewritten: marks.map(|mark| (mark.provider, mark.path)).collect(),
        requests: HashSet::new(),
        sessions: HashSet::new(),
    };
    let parts = old.state.parts()?;
    // A request is carried over whole: its rows add up only together.
    each_row(old, &parts, USAGE.name, &["request_key"], |part, row| {
        if chosen.keeps(&part.provider, row.of("source_path"), row.of("host")) {
            chosen.requests.insert(row.request(&part.provider));
        }
    })?;
    let mut vanished: BTreeMap<String, u64> = BTreeMap::new();
    let lake_id = new.state.lake_id().to_owned();
    let mut carrier = Carrier::new(&new.layout, &lake_id, Numbering::From(1));
    // Sessions come last, when it is known whose rows are carried.
    let order = TABLES.into_iter().filter(|table| table.name != SESSIONS.name).chain([&SESSIONS]);
    for table in order {
        // Of a record that was written again, the newest row counts; in one batch there must not be two.
        let mut newest: HashMap<u128, i64> = HashMap::new();
        let mut sessions = Vec::new();
        each_row(old, &parts, table.name, &["request_key"], |part, row| {
            if chosen.wants(table.name, &part.provider, row) {
                let batch = newest.entry(row.event()).or_insert(i64::MIN);
                *batch = (*batch).max(row.batch());
                sessions.push((part.provider.clone(), row.of("session_id").to_owned()));
                sessions.dedup();
            }
        })?;
        chosen.sessions.extend(sessions);
        if newest.is_empty() {
            continue;
        }
        for part in parts.iter().filter(|part| part.table == table.name) {
            let Some(table) = table_of(&part.table) else { continue };
            for rows in PartReader::open(&old.layout.root().join(&part.path))?.all()? {
                let rows = rows?;
                let keep: BooleanArray = (0..rows.num_rows())
                    .map(|at| {
                        let row = Row { rows: &rows, at };
                        let is_kept = newest.get(&row.event()) == Some(&row.batch());
                        if is_kept {
                            newest.remove(&row.event());
                        }
                        Some(is_kept)
                    })
                    .collect();
                carrier.add(table, &part.provider, &rows, &keep)?;
                for at in (0..rows.num_rows()).filter(|&at| keep.value(at)) {
                    let path = Row { rows: &rows, at }.of("source_path");
                    match vanished.get_mut(path) {
                        Some(count) => *count += 1,
                        None => drop(vanished.insert(path.to_owned(), 1)),
                    }
                }
            }
        }
    }
    vanished.retain(|path, _| !Path::new(path).exists());
    Ok((carrier.finish()?, vanished))
}

impl Chosen<'_> {
    fn wants(&self, table: &str, provider: &str, row: Row<'_>) -> bool {
        match table {
            "usage" => self.requests.contains(&row.request(provider)),
            "sessions" => {
                self.keeps(provider, row.of("source_path"), row.of("host"))
                    || self.sessions.contains(&(provider.to_owned(), row.of("session_id").to_owned()))
            }
            _ => self.keeps(provider, row.of("source_path"), row.of("host")),
        }
    }
}

/// One row of a part.
#[derive(Clone, Copy)]
struct Row<'a> {
    rows: &'a RecordBatch,
    at: usize,
}

impl<'a> Row<'a> {
    /// A text; NULL and a column that is not there are empty.
    fn of(self, name: &str) -> &'a str {
        texts(self.rows, name).and_then(|column| text(column, self.at)).unwrap_or_default()
    }

    fn event(self) -> u128 {
        id(self.of("event_id"))
    }

    fn batch(self) -> i64 {
        integers(self.rows, "batch").and_then(|column| integer(column, self.at)).unwrap_or_default()
    }

    fn request(self, provider: &str) -> RequestKey {
        request_of(provider, self.of("request_key"), Some(self.of("session_id")))
    }
}

/// Shows every row of a table: ids, batch, host and source, and the columns `more`.
fn each_row(
    lake: &Lake,
    parts: &[Part],
    table: &str,
    more: &[&str],
    mut show: impl FnMut(&Part, Row<'_>),
) -> Result<()> {
    let mut wanted = vec!["event_id", "session_id", "batch", "host", "source_path"];
    wanted.extend(more);
    for part in parts.iter().filter(|part| part.table == table) {
        for rows in PartReader::open(&lake.layout.root().join(&part.path))?.columns(&wanted)? {
            let rows = rows?;
            (0..rows.num_rows()).for_each(|at| show(part, Row { rows: &rows, at }));
        }
    }
    Ok(())
}

/// Gives the new state what the old one knows and rows do not tell: how to go on in sources that are not read now, facts of
/// the carried sessions, and what the records are worth that stand for the carried requests.
fn hand_over(old: &State, new: &mut State, recollection: &Recollection, sources: &Sources<'_>) -> Result<()> {
    let newest = new.next_batch()?.saturating_sub(1);
    new.transaction(|new| {
        for (machine, name) in old.hosts()? {
            new.set_host(&machine, &name)?;
        }
        for known in old.sources()? {
            if (sources.is_read)(&known.provider, &known.path) {
                continue;
            }
            let Some((checkpoint, was_rewritten)) = old.checkpoint(known.id)? else { continue };
            let row = SourceRow {
                id: new.source_id(&known.provider, &known.path)?,
                provider: &known.provider,
                path: &known.path,
                checkpoint: &checkpoint,
                was_rewritten,
                read_at: known.read_at,
            };
            new.put_source(&row, newest)?;
        }
        for (provider, session_id) in recollection.sessions.keys() {
            let (Some((facts, _)), Some((_, owner))) =
                (old.session(provider, session_id)?, new.session(provider, session_id)?)
            else {
                continue;
            };
            new.put_session(provider, session_id, owner, &facts, newest)?;
        }
        for entry in recollection.entries() {
            if let Some(known) = old.request(entry.request)? {
                new.put_requests(&[known], false, newest)?;
            }
        }
        new.forget_undo()
    })
}

impl Successor {
    /// Swaps the lakes and deletes the old one. What stands in its folder and is not the lake's own moves along, and so does
    /// the quarantine. Returns the new lake, open at the old place.
    ///
    /// # Errors
    /// The file system refuses; before the swap the old lake stays, after it the new one does.
    pub fn replace(self) -> Result<Lake> {
        let Self { old, lake, .. } = self;
        let (root, beside) = (old.layout.root().to_owned(), lake.layout.root().to_owned());
        mark(&old.layout)?;
        let (old_lock, new_lock) = (old.lock, lake.lock);
        // A database must not be open while its path changes: its log is found by name.
        drop((old.state, lake.state));
        sync_all(&RealDisk, &[beside.clone(), lake.layout.private(), old.layout.private()])?;
        crash::point("whole");
        swap(&root, &beside)?;
        crash::point("swapped");
        clear(&root)?;
        crash::point("cleared");
        drop((old_lock, new_lock));
        Lake::open(&root)
    }
}

/// Exchanges two folders.
fn swap(root: &Path, beside: &Path) -> Result<()> {
    match RealDisk.exchange(root, beside) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::Unsupported => {
            let aside = self::beside(root, "old");
            fs_err::rename(root, &aside)?;
            crash::point("aside");
            fs_err::rename(beside, root)?;
            fs_err::rename(&aside, beside)?;
        }
        Err(error) => {
            let told =
                format!("cannot put the new lake {} in the place of {}: {error}", beside.display(), root.display());
            return Err(std::io::Error::other(told).into());
        }
    }
    let parent = root.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(sync_all(&RealDisk, &[parent.to_owned()])?)
}

/// Puts a lake back whose swap was cut short between two renames. For whoever is about to open or create it.
///
/// # Errors
/// The file system refuses.
pub fn put_back(root: &Path) -> Result<()> {
    let aside = beside(root, "old");
    if !root.exists() && aside.join(".agentlake").join(MARK).exists() {
        fs_err::rename(aside, root)?;
    }
    Ok(())
}

/// Deletes what a rebuild left beside the lake at `root`, whose lock must be held, after moving what is not the lake's own
/// into the lake.
///
/// # Errors
/// The file system refuses.
pub fn clear(root: &Path) -> Result<()> {
    let beside = beside(root, "rebuild");
    let left = Layout::new(&beside);
    if left.private().join(MARK).exists() {
        let is_own = |name: &OsStr| OWN.iter().any(|own| name == *own) || TABLES.iter().any(|table| name == table.name);
        for entry in fs_err::read_dir(&beside)? {
            let entry = entry?;
            if !is_own(&entry.file_name()) {
                move_into(&entry.path(), root)?;
            }
        }
        if left.quarantine().is_dir() {
            let quarantine = Layout::new(root).quarantine();
            create_private_dirs(&RealDisk, &quarantine)?;
            for entry in fs_err::read_dir(left.quarantine())? {
                move_into(&entry?.path(), &quarantine)?;
            }
        }
        // The mark goes last, so that a deletion that is cut short is finished later.
        for entry in fs_err::read_dir(&beside)? {
            let entry = entry?;
            if entry.file_name() != ".agentlake" {
                remove(&entry.path())?;
            }
        }
        fs_err::remove_dir_all(&beside)?;
    }
    let mark = Layout::new(root).private().join(MARK);
    // A new lake that is still in the making keeps its mark.
    if mark.exists() && root.extension().is_none_or(|ending| ending != "rebuild") {
        fs_err::remove_file(mark)?;
    }
    Ok(())
}

fn move_into(path: &Path, folder: &Path) -> Result<()> {
    let mut name: OsString = path.file_name().unwrap_or_default().to_owned();
    while folder.join(&name).exists() {
        name.push(".old");
    }
    Ok(fs_err::rename(path, folder.join(name))?)
}

fn remove(path: &Path) -> Result<()> {
    let is_folder = fs_err::symlink_metadata(path)?.is_dir();
    let removed = if is_folder { fs_err::remove_dir_all(path) } else { fs_err::remove_file(path) };
    Ok(removed?)
}

fn mark(layout: &Layout) -> Result<()> {
    let path = layout.private().join(MARK);
    fs_err::write(&path, "A rebuild of this lake was begun.\n")?;
    Ok(sync_all(&RealDisk, &[path])?)
}

/// The folder with this ending beside the lake's.
fn beside(root: &Path, ending: &str) -> PathBuf {
    let mut name = root.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(ending);
    root.with_file_name(name)
}
