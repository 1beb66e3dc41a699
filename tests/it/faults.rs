//! Faults of the disk, in process: each change refused in turn, power lost before each step, files that may not grow. The
//! next run ends with exactly the rows of an undisturbed one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use agentlake::adapters;
use agentlake::ingest::{self, RunOptions};
use agentlake::lake::compact::{self, Choice};
use agentlake::lake::disk::Disk;
use agentlake::lake::{self, Lake, LakeError, Layout};
use agentlake::source::Roots;

use crate::disks::{Event, FailingDisk, NoExchange, QuickDisk, RecordingDisk, StateFiles, Survivors};
use crate::home::{age, agentlake, run};
use crate::lake_rows::LakeRows;
use crate::rollout::Rollout;
use crate::transcript::Transcript;

const ENOSPC: i32 = 28;
const EIO: i32 = 5;

/// Every nth place is tried; all with `AGENTLAKE_SOAK=1`.
fn stride() -> usize {
    if std::env::var_os("AGENTLAKE_SOAK").is_some_and(|value| value == "1") { 1 } else { 6 }
}

/// What is disturbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    FirstExport,
    LaterExport,
    Compaction,
}

const ALL_WORK: [Work; 3] = [Work::FirstExport, Work::LaterExport, Work::Compaction];

/// A home with sessions, and a lake as it is before some work.
struct Scene {
    folder: tempfile::TempDir,
    work: Work,
    /// The rows after the work, when nothing disturbs it.
    undisturbed: LakeRows,
}

impl Scene {
    fn new(work: Work) -> Self {
        // Thousands of small commits: in memory where there is such a folder.
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
        let (before, after) = (folder.path().join("before"), folder.path().join("after"));
        let home = folder.path().join("home");
        fs_err::create_dir(&home).unwrap();
        let (mut claude, mut codex) = (Transcript::with_turns(1, 1), Rollout::with_turns(1, 1));
        let write = |claude: &Transcript, codex: &Rollout| {
            for (path, text) in [(claude.path(), claude.text()), (codex.path(), codex.text())] {
                let path = home.join(path);
                fs_err::create_dir_all(path.parent().unwrap()).unwrap();
                fs_err::write(&path, text).unwrap();
                age(&path);
            }
        };
        write(&claude, &codex);
        if work != Work::FirstExport {
            export(Arc::new(QuickDisk), &home, &before).unwrap();
            claude.turns(1).tool(50);
            codex.turn(70);
            write(&claude, &codex);
        }
        if work == Work::Compaction {
            export(Arc::new(QuickDisk), &home, &before).unwrap();
        }
        if before.exists() {
            copy(&before, &after);
        }
        let mut scene = Self { folder, work, undisturbed: LakeRows::default() };
        scene.work_on(Arc::new(QuickDisk), &after).unwrap();
        scene.undisturbed = LakeRows::read(&after);
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn work_on(&self, disk: Arc<dyn Disk>, lake: &Path) -> lake::Result<()> {
        match self.work {
            Work::FirstExport | Work::LaterExport => export(disk, &self.path("home"), lake),
            Work::Compaction => compact(disk, lake),
        }
    }

    /// A copy of the lake as it is before the work; none before the first export.
    fn lake(&self, name: &str) -> PathBuf {
        let lake = self.path(name);
        if lake.exists() {
            fs_err::remove_dir_all(&lake).unwrap();
        }
        if self.path("before").exists() {
            copy(&self.path("before"), &lake);
        }
        lake
    }

    /// Does the work on whatever a fault left; says what differs from an undisturbed run.
    fn make_good(&self, lake: &Path) -> Result<(), String> {
        self.work_on(Arc::new(QuickDisk), lake).map_err(|error| error.to_string())?;
        // Also when the fault took the whole work away, sources are read no more than once.
        export(Arc::new(QuickDisk), &self.path("home"), lake).map_err(|error| error.to_string())?;
        let staging = fs_err::read_dir(Layout::new(lake).staging()).unwrap().count();
        if staging > 0 {
            return Err(format!("{staging} leftovers in staging"));
        }
        let rows = LakeRows::read(lake);
        rows.difference(&self.undisturbed).map_or(Ok(()), Err)
    }
}

/// Opens a lake. While another test starts a process, that process holds a copy of our lock until it has begun its own work.
fn open(disk: Arc<dyn Disk>, lake: &Path) -> lake::Result<Lake> {
    loop {
        match Lake::open_at(Layout::on(Arc::clone(&disk), lake)) {
            Err(LakeError::Locked { .. }) => std::thread::sleep(std::time::Duration::from_millis(5)),
            opened => return opened,
        }
    }
}

fn export(disk: Arc<dyn Disk>, home: &Path, lake: &Path) -> lake::Result<()> {
    let mut lake = open(disk, lake)?;
    let options = RunOptions {
        wave_bytes: ingest::run::DEFAULT_WAVE_BYTES,
        max_line_bytes: ingest::run::DEFAULT_MAX_LINE_BYTES,
        keep_raw: false,
        host: "here".to_owned(),
        now: chrono::Utc::now().timestamp_micros(),
    };
    ingest::run(&mut lake, adapters::all(), &Roots::at_home(home), &options, &|_| {}, &|_| {}).map(|_| ())
}

fn compact(disk: Arc<dyn Disk>, lake: &Path) -> lake::Result<()> {
    let mut lake = open(disk, lake)?;
    let now = chrono::Utc::now().timestamp_micros();
    let due = compact::choose::choose(&lake.state, &Choice::Asked { providers: Vec::new(), before: None }, now)?;
    compact::compact(&mut lake, &due, now, &|_| {}).map(|_| ())
}

fn copy(from: &Path, to: &Path) {
    crate::home::copy_over(from, to);
}

#[test]
fn any_change_to_the_disk_may_fail() {
    for work in ALL_WORK {
        let scene = Scene::new(work);
        for errno in [ENOSPC, EIO] {
            let (mut at, mut failures) = (0, 0);
            loop {
                let lake = scene.lake("disturbed");
                let disk = Arc::new(FailingDisk::after(at + 1, errno));
                let ended = scene.work_on(Arc::clone(&disk) as Arc<dyn Disk>, &lake);
                if !disk.has_failed() {
                    ended.unwrap();
                    break;
                }
                let error = ended.expect_err("the fault was told").to_string();
                assert!(!error.contains("internal error"), "{work:?}, change {at}: {error}");
                scene.make_good(&lake).unwrap_or_else(|what| panic!("{work:?}, change {at}, errno {errno}: {what}"));
                failures += 1;
                at += stride() as u64;
            }
            eprintln!("{work:?}, errno {errno}: one of {at} changes refused, {failures} times");
            assert!(at > 60, "{work:?} has only {failures} changes");
        }
    }
}

#[test]
fn power_may_be_lost_before_any_step() {
    for work in ALL_WORK {
        let scene = Scene::new(work);
        let (losses, failed) = lose_power_everywhere(&scene, false);
        assert_eq!(failed, Vec::<String>::new(), "{work:?}");
        eprintln!("{work:?}: power lost {losses} times");
        assert!(losses > 40, "{work:?}: {losses}");
    }
}

#[test]
fn a_forgotten_sync_would_be_noticed() {
    for work in ALL_WORK {
        let (_, failed) = lose_power_everywhere(&Scene::new(work), true);
        assert!(!failed.is_empty(), "{work:?} does not need to sync folders");
    }
}

/// Loses power before every step of the work, in several ways; returns how often, and what was not made good.
fn lose_power_everywhere(scene: &Scene, forgets_folders: bool) -> (usize, Vec<String>) {
    let lake = scene.lake("recorded");
    let disk = Arc::new(RecordingDisk::of(&lake, forgets_folders));
    scene.work_on(Arc::clone(&disk) as Arc<dyn Disk>, &lake).unwrap();
    disk.end();
    let states = disk.states();
    let (mut losses, mut failed) = (0, Vec::new());
    let left = scene.path("left");
    for step in 0..disk.steps() {
        let committed = step > 0 && !Arc::ptr_eq(&states[step], &states[step - 1]);
        if !committed && step % stride() != 0 {
            continue;
        }
        for is_before_commit in [false, true].into_iter().take(1 + usize::from(committed)) {
            for survivors in [Survivors::Nothing, Survivors::Some(step as u64), Survivors::Some(1000 + step as u64)] {
                if left.exists() {
                    fs_err::remove_dir_all(&left).unwrap();
                }
                disk.lose_power(step, is_before_commit, survivors, &left);
                losses += 1;
                // Reading a lake whose parts are not those of its state panics, which is a finding, too.
                let made_good = std::panic::catch_unwind(|| scene.make_good(&left))
                    .unwrap_or_else(|_| Err("the lake does not hold what its state says".to_owned()));
                if let Err(what) = made_good {
                    failed.push(format!("step {step}, before commit: {is_before_commit}, {survivors:?}: {what}"));
                    if forgets_folders {
                        return (losses, failed);
                    }
                }
            }
        }
    }
    (losses, failed)
}

/// Batches in SQLite's files: number ⇒ whether it is published.
fn batches(state: &StateFiles) -> BTreeMap<i64, bool> {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in state.iter() {
        fs_err::write(folder.path().join(name), bytes).unwrap();
    }
    if state.is_empty() {
        return BTreeMap::new();
    }
    let connection = rusqlite::Connection::open(folder.path().join("state.db")).unwrap();
    let Ok(mut statement) = connection.prepare("SELECT batch, published FROM batches") else { return BTreeMap::new() };
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn everything_is_synced_before_what_depends_on_it() {
    for work in ALL_WORK {
        let scene = Scene::new(work);
        let lake = scene.lake("recorded");
        let disk = Arc::new(RecordingDisk::of(&lake, false));
        scene.work_on(Arc::clone(&disk) as Arc<dyn Disk>, &lake).unwrap();
        disk.end();
        assert_eq!(disk.unsynced(), Vec::<PathBuf>::new(), "{work:?}: files that were moved or kept without a sync");
        let (events, states) = (disk.events(), disk.states());
        let batch = *batches(states.last().unwrap()).keys().last().unwrap();
        let first_with = |published: bool| {
            states.iter().position(|state| batches(state).get(&batch).is_some_and(|is| *is || !published)).unwrap()
        };
        let (committed, published) = (first_with(false), first_with(true));
        let position = |wanted: &Event| events.iter().position(|event| event == wanted);
        let mut moves = 0;
        for (at, event) in events.iter().enumerate() {
            match event {
                Event::Created(path) => {
                    let synced = position(&Event::Synced(path.clone())).expect("each part is synced");
                    let folder = position(&Event::Synced(path.parent().unwrap().to_owned())).unwrap();
                    assert!(at < synced && synced < folder && folder < committed, "{work:?}: {}", path.display());
                }
                Event::Moved(from, to) | Event::Exchanged(from, to) => {
                    moves += 1;
                    assert!(at >= committed, "{work:?}: {} moved before the commit", from.display());
                    let folder = Event::Synced(to.parent().unwrap().to_owned());
                    let synced = events.iter().rposition(|event| *event == folder).expect("its new folder is synced");
                    assert!(at < synced && synced < published, "{work:?}: {}", to.display());
                }
                Event::Synced(_) | Event::Other => {}
            }
        }
        assert!(moves > 3, "{work:?}");
    }
}

#[test]
fn a_disk_that_cannot_exchange_folders_will_do() {
    let scene = Scene::new(Work::Compaction);
    let lake = scene.lake("disturbed");
    compact(Arc::new(NoExchange), &lake).unwrap();
    scene.make_good(&lake).unwrap();
}

#[test]
fn what_a_stranger_puts_into_a_folder_meanwhile_is_not_deleted() {
    let scene = Scene::new(Work::Compaction);
    let lake = scene.lake("disturbed");
    let part = Layout::new(&lake).files().unwrap().remove(0);
    let stranger = part.with_file_name("mine.parquet");
    fs_err::write(&stranger, "mine").unwrap();
    assert!(matches!(compact(Arc::new(QuickDisk), &lake), Err(LakeError::ForeignPart { path }) if path == stranger));
    assert_eq!(fs_err::read_to_string(stranger).unwrap(), "mine");
}

/// The real binary under a limit on the size of files, as if the disk were full: SIGXFSZ is ignored, so that writing fails.
fn limited(blocks: u32, arguments: &[&str], lake: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"")]);
    command.arg(agentlake().get_program()).args(arguments).arg("--lake").arg(lake);
    command.env("HOME", lake.parent().unwrap()).env_remove("AGENTLAKE_CRASH_AT");
    command
}

#[test]
fn files_that_may_not_grow_are_an_error_and_no_loss() {
    for work in ALL_WORK {
        let scene = Scene::new(work);
        let home = scene.path("home");
        let home = home.to_str().unwrap();
        let arguments: &[&str] = match work {
            Work::Compaction => &["compact"],
            _ => &["export", "--no-duckdb", "--no-compact", "--host", "here", "--home", home],
        };
        let (mut refused, mut done) = (0, 0);
        for blocks in [0, 1, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 4096] {
            let lake = scene.lake("disturbed");
            let ended = run(&mut limited(blocks, arguments, &lake));
            assert!(matches!(ended.code, Some(0 | 2)), "{work:?}, {blocks} blocks: {ended:?}");
            assert!(ended.code == Some(0) || ended.stderr.starts_with("agentlake: "), "{ended:?}");
            *if ended.code == Some(0) { &mut done } else { &mut refused } += 1;
            scene.make_good(&lake).unwrap_or_else(|what| panic!("{work:?}, {blocks} blocks: {what}, after {ended:?}"));
        }
        eprintln!("{work:?}: {refused} runs refused, {done} done");
        assert!(refused > 0 && done > 0, "{work:?}: {refused} refused, {done} done");
    }
}

/// Runs a script in which mounts are its own. `None`, and a word on it, where that is not allowed.
fn with_mounts(script: &str, arguments: &[&Path]) -> Option<crate::home::Run> {
    let allowed = run(Command::new("unshare").args(["--mount", "true"]));
    if !rustix::process::geteuid().is_root() || allowed.code != Some(0) {
        eprintln!("skipped: mounting needs root");
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script]).arg(agentlake().get_program()).args(arguments);
    Some(run(command.env_remove("AGENTLAKE_CRASH_AT").env("HOME", arguments[0].parent().unwrap())))
}

#[test]
fn a_lake_that_cannot_be_written_can_be_queried() {
    let scene = Scene::new(Work::LaterExport);
    let lake = scene.lake("read only?");
    let script =
        "mount --bind \"$1\" \"$1\" && mount -o remount,ro,bind \"$1\" && ! touch \"$1/x\" 2>/dev/null || exit 77
        \"$0\" query daily_cost --format csv --lake \"$1\" && ! \"$0\" export --lake \"$1\" --home \"$2\"";
    let Some(answer) = with_mounts(script, &[&lake, &scene.path("home")]) else { return };
    let answer = answer.expect_code(0);
    assert_eq!(answer.stdout.lines().count(), 3, "{answer:?}");
    assert!(answer.stderr.contains("Read-only file system"), "{answer:?}");
}

#[test]
fn a_full_file_system_is_an_error_and_no_loss() {
    for work in ALL_WORK {
        let scene = Scene::new(work);
        let script = format!(
            "mkdir -p \"$1\" && mount -t tmpfs -o size=$4 tmpfs \"$1\" || exit 77
             if [ -d \"$3\" ]; then cp -a \"$3/.\" \"$1/\" || exit 78; fi
             \"$0\" {} --lake \"$1\"; code=$?
             mount -o remount,size=64m \"$1\" && mkdir \"$2\" && cp -a \"$1/.\" \"$2/\" || exit 79
             exit $code",
            if work == Work::Compaction {
                "compact"
            } else {
                "export --no-duckdb --host here --no-compact --home \"$5\""
            }
        );
        let before = if work == Work::FirstExport { 0 } else { size_on_disk(&scene.path("before")) };
        let (mut refused, mut done) = (0, 0);
        for room in [8, 40, 64, 96, 128, 160, 192, 224, 256, 288, 320, 384, 512, 4096] {
            let (mounted, left) = (scene.path("mounted"), scene.path("left"));
            if left.exists() {
                fs_err::remove_dir_all(&left).unwrap();
            }
            let size = PathBuf::from(format!("{}k", before + room));
            let (before, home) = (scene.path("before"), scene.path("home"));
            let Some(ended) = with_mounts(&script, &[&mounted, &left, &before, &size, &home]) else { return };
            match ended.code {
                Some(0) => done += 1,
                Some(2) => refused += 1,
                _ => panic!("{work:?}, {room} KiB of room: {ended:?}"),
            }
            scene
                .make_good(&left)
                .unwrap_or_else(|what| panic!("{work:?}, {room} KiB of room: {what}, after {ended:?}"));
        }
        eprintln!("{work:?} on a small file system: {refused} runs refused, {done} done");
        assert!(refused > 0 && done > 0, "{work:?}: {refused} refused, {done} done");
    }
}

/// KiB that a folder takes where files and folders take whole pages.
fn size_on_disk(folder: &Path) -> usize {
    let entries = fs_err::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| {
            if path.is_dir() {
                size_on_disk(&path)
            } else {
                (fs_err::metadata(&path).unwrap().len() as usize).div_ceil(4096) * 4
            }
        })
        .sum()
}
