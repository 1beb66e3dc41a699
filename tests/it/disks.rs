//! Disks that misbehave on purpose: one fails at the nth change, one remembers what a loss of power would leave.
//!
//! Both work on real files, so that the lake's own readers and SQLite see what they expect. The model of a loss of power:
//! a folder's entries survive if the folder was synced after them, a file's bytes if the file was; a rename or an exchange
//! survives as a whole or not at all. Of what was not synced, any part may survive ([`Survivors`]). SQLite is trusted to
//! keep what it committed (`synchronous=FULL`): its files are copied at every change to the disk.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use agentlake::lake::Layout;
use agentlake::lake::disk::{Disk, RealDisk};

use crate::fuzz::Random;

/// A real disk that never waits: tests in which no power is lost need no sync.
#[derive(Debug, Clone, Copy, Default)]
pub struct QuickDisk;

/// Forwards to a real disk, after `before` agrees.
macro_rules! forward {
    ($($name:ident($($argument:ident),+) -> $result:ty;)+) => {
        $(fn $name(&self, $($argument: &Path),+) -> io::Result<$result> {
            self.before()?;
            RealDisk.$name($($argument),+)
        })+
    };
}

impl QuickDisk {
    #[allow(clippy::unused_self, clippy::unnecessary_wraps, reason = "the macro asks every disk")]
    fn before(self) -> io::Result<()> {
        Ok(())
    }
}

impl Disk for QuickDisk {
    forward! {
        create(path) -> Box<dyn Write + Send>;
        create_dir(path) -> ();
        rename_new(from, to) -> ();
        exchange(left, right) -> ();
        remove_file(path) -> ();
        remove_dir_all(path) -> ();
    }
    fn sync(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
}

/// A disk that cannot exchange folders, as on some network file systems.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoExchange;

impl NoExchange {
    #[allow(clippy::unused_self, clippy::unnecessary_wraps, reason = "the macro asks every disk")]
    fn before(self) -> io::Result<()> {
        Ok(())
    }
}

impl Disk for NoExchange {
    forward! {
        create(path) -> Box<dyn Write + Send>;
        create_dir(path) -> ();
        rename_new(from, to) -> ();
        remove_file(path) -> ();
        remove_dir_all(path) -> ();
    }
    fn sync(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
    fn exchange(&self, _: &Path, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// A disk whose nth change fails, and all after it: a full or broken disk does not mend itself.
#[derive(Debug)]
pub struct FailingDisk {
    left: Arc<AtomicU64>,
    errno: i32,
}

impl FailingDisk {
    /// Fails with `errno` after `changes` changes.
    pub fn after(changes: u64, errno: i32) -> Self {
        Self { left: Arc::new(AtomicU64::new(changes)), errno }
    }

    /// Whether it has come to failing.
    pub fn has_failed(&self) -> bool {
        self.left.load(Ordering::SeqCst) == 0
    }

    fn before(&self) -> io::Result<()> {
        spend(&self.left, self.errno)
    }
}

fn spend(left: &AtomicU64, errno: i32) -> io::Result<()> {
    match left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) {
        Ok(before) if before > 1 => Ok(()),
        _ => Err(io::Error::from_raw_os_error(errno)),
    }
}

struct FailingFile {
    file: Box<dyn Write + Send>,
    left: Arc<AtomicU64>,
    errno: i32,
}

impl Write for FailingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        spend(&self.left, self.errno)?;
        self.file.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Disk for FailingDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn Write + Send>> {
        self.before()?;
        let file = RealDisk.create(path)?;
        Ok(Box::new(FailingFile { file, left: Arc::clone(&self.left), errno: self.errno }))
    }
    fn sync(&self, _: &Path) -> io::Result<()> {
        self.before()
    }
    forward! {
        create_dir(path) -> ();
        rename_new(from, to) -> ();
        exchange(left, right) -> ();
        remove_file(path) -> ();
        remove_dir_all(path) -> ();
    }
}

/// What happened, for tests of the order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Created(PathBuf),
    Synced(PathBuf),
    Moved(PathBuf, PathBuf),
    Exchanged(PathBuf, PathBuf),
    Other,
}

/// A loss of power keeps of what was not synced …
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Survivors {
    Nothing,
    /// Any of it, by chance.
    Some(u64),
}

type NodeId = usize;

#[derive(Debug)]
enum Node {
    File { bytes: Arc<Mutex<Vec<u8>>>, synced: usize },
    Folder { entries: BTreeMap<String, NodeId> },
}

/// Entries that one change adds (`Some`) or takes away.
type Edits = Vec<(NodeId, String, Option<NodeId>)>;

/// SQLite's files by name.
pub type StateFiles = Arc<Vec<(String, Vec<u8>)>>;

#[derive(Debug)]
struct Memory {
    /// The lake's root as it is. Index 0 is the folder that holds the lake.
    nodes: Vec<Node>,
    /// How the entries were when recording began: all durable.
    first: Vec<BTreeMap<String, NodeId>>,
    journal: Vec<Step>,
    events: Vec<Event>,
    /// SQLite's files before each step.
    moments: Vec<StateFiles>,
}

/// A change, or a sync, in order, so that the disk can be rebuilt as of any step.
#[derive(Debug)]
enum Step {
    Change(Edits),
    SyncFolder(NodeId),
    SyncFile(NodeId, usize),
    Nothing,
}

/// A disk that remembers every step.
pub struct RecordingDisk {
    base: PathBuf,
    lake: PathBuf,
    memory: Mutex<Memory>,
    /// Forgets syncs of folders, to show that the test would notice.
    forgets_folders: bool,
}

impl fmt::Debug for RecordingDisk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RecordingDisk").finish_non_exhaustive()
    }
}

impl RecordingDisk {
    /// Records what happens to the lake from now on; what is there is taken to be durable.
    pub fn of(lake: &Path, forgets_folders: bool) -> Self {
        let base = lake.parent().unwrap().to_owned();
        let mut nodes = vec![Node::Folder { entries: BTreeMap::new() }];
        let mut outermost = BTreeMap::new();
        if lake.exists() {
            let id = load(lake, &mut nodes);
            outermost.insert(lake.file_name().unwrap().to_str().unwrap().to_owned(), id);
        }
        nodes[0] = Node::Folder { entries: outermost };
        let entries_of = |node: &Node| match node {
            Node::Folder { entries } => entries.clone(),
            Node::File { .. } => BTreeMap::new(),
        };
        let first = nodes.iter().map(entries_of).collect();
        let memory = Memory { nodes, first, journal: Vec::new(), events: Vec::new(), moments: Vec::new() };
        Self { base, lake: lake.to_owned(), memory: Mutex::new(memory), forgets_folders }
    }

    /// What happened so far.
    pub fn events(&self) -> Vec<Event> {
        self.memory.lock().unwrap().events.clone()
    }

    /// Steps so far: before each of them, and after the last, power can be lost.
    pub fn steps(&self) -> usize {
        self.memory.lock().unwrap().journal.len()
    }

    /// SQLite's files before each step, by step.
    pub fn states(&self) -> Vec<StateFiles> {
        self.memory.lock().unwrap().moments.clone()
    }

    /// Files that were written and not synced to their end.
    pub fn unsynced(&self) -> Vec<PathBuf> {
        let memory = self.memory.lock().unwrap();
        let is_synced = |path: &PathBuf| {
            let Some(file) = memory.find(&self.base, path) else { return true };
            let Node::File { bytes, .. } = &memory.nodes[file] else { return true };
            let length = bytes.lock().unwrap().len();
            memory
                .journal
                .iter()
                .any(|step| matches!(step, Step::SyncFile(synced, at) if *synced == file && *at == length))
        };
        let files = memory.events.iter().filter_map(|event| match event {
            Event::Created(path) => Some(path.clone()),
            Event::Moved(_, to) => Some(to.clone()),
            _ => None,
        });
        files.filter(|path| !is_synced(path)).collect()
    }

    /// Does something to the real disk and remembers it, in one go: other threads see neither or both.
    fn record<T>(
        &self,
        event: Event,
        real: impl FnOnce() -> io::Result<T>,
        work: impl FnOnce(&mut Memory, &Path) -> Step,
    ) -> io::Result<T> {
        let mut memory = self.memory.lock().unwrap();
        let state = self.state_files(memory.moments.last());
        let done = real()?;
        memory.moments.push(state);
        let step = work(&mut memory, &self.base);
        memory.journal.push(step);
        memory.events.push(event);
        Ok(done)
    }

    fn state_files(&self, last: Option<&StateFiles>) -> StateFiles {
        let private = Layout::new(&self.lake).private();
        let files: Vec<(String, Vec<u8>)> = ["state.db", "state.db-wal"]
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), fs_err::read(private.join(name)).ok()?)))
            .collect();
        match last {
            Some(last) if **last == files => Arc::clone(last),
            _ => Arc::new(files),
        }
    }

    /// Marks the end, so that what was committed last is seen by [`states`](Self::states).
    pub fn end(&self) {
        self.record(Event::Other, || Ok(()), |_, _| Step::Nothing).unwrap();
    }

    /// Builds in `target` the lake that a loss of power before step `step` leaves. With `is_before_commit`, SQLite is as it was
    /// one step earlier: what it committed in between had not happened yet.
    pub fn lose_power(&self, step: usize, is_before_commit: bool, survivors: Survivors, target: &Path) {
        let memory = self.memory.lock().unwrap();
        let mut folders: Vec<BTreeMap<String, NodeId>> = memory.first.clone();
        folders.resize(memory.nodes.len(), BTreeMap::new());
        let mut synced: BTreeMap<NodeId, usize> = BTreeMap::new();
        // Which changes are durable as of this step.
        let mut durable = vec![false; step];
        for at in 0..step {
            match &memory.journal[at] {
                Step::SyncFolder(folder) => {
                    for (is_durable, earlier) in durable.iter_mut().zip(&memory.journal[..at]) {
                        if let Step::Change(edits) = earlier {
                            *is_durable |= edits.iter().any(|(touched, ..)| touched == folder);
                        }
                    }
                }
                Step::SyncFile(file, length) => _ = synced.insert(*file, *length),
                Step::Change(_) | Step::Nothing => {}
            }
        }
        let mut random = match survivors {
            Survivors::Nothing => None,
            Survivors::Some(seed) => Some(Random::new(seed)),
        };
        let mut survives = || random.as_mut().is_some_and(|random| random.below(2) == 0);
        for (step, is_durable) in memory.journal.iter().zip(durable) {
            let Step::Change(edits) = step else { continue };
            if is_durable || survives() {
                for (folder, name, node) in edits {
                    match node {
                        Some(node) => folders[*folder].insert(name.clone(), *node),
                        None => folders[*folder].remove(name),
                    };
                }
            }
        }
        let name = self.lake.file_name().unwrap().to_str().unwrap();
        let Some(&root) = folders[0].get(name) else { return };
        write_out(&memory, &folders, &synced, root, target, &mut survives);
        let moment = if is_before_commit { step.saturating_sub(1) } else { step };
        let private = Layout::new(target).private();
        if let Some(moment) = memory.moments.get(moment).filter(|_| private.exists()) {
            for (name, bytes) in moment.iter() {
                fs_err::write(private.join(name), bytes).unwrap();
            }
        }
    }
}

fn write_out(
    memory: &Memory,
    folders: &[BTreeMap<String, NodeId>],
    synced: &BTreeMap<NodeId, usize>,
    node: NodeId,
    target: &Path,
    survives: &mut dyn FnMut() -> bool,
) {
    match &memory.nodes[node] {
        Node::File { bytes, synced: at_first } => {
            let bytes = bytes.lock().unwrap();
            let length = synced.get(&node).copied().unwrap_or(*at_first);
            // Bytes that were not synced are there or not; a file can even be shorter than its size says was written.
            let length = if length < bytes.len() && survives() { bytes.len() } else { length };
            fs_err::write(target, &bytes[..length]).unwrap();
        }
        Node::Folder { .. } => {
            fs_err::create_dir_all(target).unwrap();
            for (name, child) in &folders[node] {
                write_out(memory, folders, synced, *child, &target.join(name), survives);
            }
        }
    }
}

/// What is on the disk already; SQLite's files apart.
fn load(path: &Path, nodes: &mut Vec<Node>) -> NodeId {
    let node = if path.is_dir() {
        let mut entries = BTreeMap::new();
        for entry in fs_err::read_dir(path).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if !name.starts_with("state.db") {
                entries.insert(name, load(&entry.path(), nodes));
            }
        }
        Node::Folder { entries }
    } else {
        let bytes = fs_err::read(path).unwrap();
        Node::File { synced: bytes.len(), bytes: Arc::new(Mutex::new(bytes)) }
    };
    nodes.push(node);
    nodes.len() - 1
}

impl Memory {
    fn find(&self, base: &Path, path: &Path) -> Option<NodeId> {
        path.strip_prefix(base).ok()?.iter().try_fold(0, |node, name| match &self.nodes[node] {
            Node::Folder { entries } => entries.get(name.to_str()?).copied(),
            Node::File { .. } => None,
        })
    }

    /// The folder that a path stands in, and its name there.
    fn place(&self, base: &Path, path: &Path) -> (NodeId, String) {
        let folder =
            self.find(base, path.parent().unwrap()).unwrap_or_else(|| panic!("{} has no folder", path.display()));
        (folder, path.file_name().unwrap().to_str().unwrap().to_owned())
    }

    fn add(&mut self, base: &Path, path: &Path, node: Node) -> Step {
        let (folder, name) = self.place(base, path);
        self.nodes.push(node);
        let id = self.nodes.len() - 1;
        self.change(vec![(folder, name, Some(id))])
    }

    fn change(&mut self, edits: Edits) -> Step {
        for (folder, name, node) in &edits {
            let Node::Folder { entries } = &mut self.nodes[*folder] else { panic!("{name} is no folder") };
            match node {
                Some(node) => entries.insert(name.clone(), *node),
                None => entries.remove(name),
            };
        }
        Step::Change(edits)
    }
}

struct RecordedFile {
    file: Box<dyn Write + Send>,
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl Write for RecordedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.bytes.lock().unwrap().extend_from_slice(&bytes[..count]);
        Ok(count)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Disk for RecordingDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn Write + Send>> {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let node = Node::File { bytes: Arc::clone(&bytes), synced: 0 };
        let file = self.record(
            Event::Created(path.to_owned()),
            || RealDisk.create(path),
            |memory, base| memory.add(base, path, node),
        )?;
        Ok(Box::new(RecordedFile { file, bytes }))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let node = Node::Folder { entries: BTreeMap::new() };
        self.record(Event::Other, || RealDisk.create_dir(path), |memory, base| memory.add(base, path, node))
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        let forgets_folders = self.forgets_folders;
        self.record(
            Event::Synced(path.to_owned()),
            || Ok(()),
            |memory, base| {
                let node =
                    memory.find(base, path).unwrap_or_else(|| panic!("{} was synced and is not there", path.display()));
                match &memory.nodes[node] {
                    Node::Folder { .. } if forgets_folders => Step::Nothing,
                    Node::Folder { .. } => Step::SyncFolder(node),
                    Node::File { bytes, .. } => Step::SyncFile(node, bytes.lock().unwrap().len()),
                }
            },
        )
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        let event = Event::Moved(from.to_owned(), to.to_owned());
        self.record(
            event,
            || RealDisk.rename_new(from, to),
            |memory, base| {
                let node = memory.find(base, from);
                let ((old, old_name), (new, new_name)) = (memory.place(base, from), memory.place(base, to));
                memory.change(vec![(old, old_name, None), (new, new_name, node)])
            },
        )
    }

    fn exchange(&self, left: &Path, right: &Path) -> io::Result<()> {
        let event = Event::Exchanged(left.to_owned(), right.to_owned());
        self.record(
            event,
            || RealDisk.exchange(left, right),
            |memory, base| {
                let nodes = (memory.find(base, left), memory.find(base, right));
                let (left, right) = (memory.place(base, left), memory.place(base, right));
                memory.change(vec![(left.0, left.1, nodes.1), (right.0, right.1, nodes.0)])
            },
        )
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.record(
            Event::Other,
            || RealDisk.remove_file(path),
            |memory, base| {
                let (folder, name) = memory.place(base, path);
                memory.change(vec![(folder, name, None)])
            },
        )
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        self.record(
            Event::Other,
            || RealDisk.remove_dir_all(path),
            |memory, base| {
                let (folder, name) = memory.place(base, path);
                memory.change(vec![(folder, name, None)])
            },
        )
    }
}
