//! A home directory and a lake that a test owns, and runs of the real binary over them.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::lake_rows::LakeRows;

/// How old a file is made that the test wants to be final: well beyond the ten minutes after which nobody writes to it.
const LONG_AGO: Duration = Duration::from_secs(24 * 60 * 60);

/// Temporary folders of one test: `home/`, which `--home` names, and `lake/`.
pub struct Home {
    folder: tempfile::TempDir,
}

/// How a run of the binary ended.
#[derive(Debug)]
pub struct Run {
    /// Exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Run {
    pub fn of(output: Output) -> Self {
        use std::os::unix::process::ExitStatusExt as _;
        Self {
            code: output.status.code(),
            signal: output.status.signal(),
            stdout: String::from_utf8(output.stdout).expect("standard output is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("standard error is UTF-8"),
        }
    }

    /// The summary of `export --format json`.
    pub fn summary(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("no JSON summary ({error}): {self:?}"))
    }

    /// Fails the test unless the run ended with `code` and no panic.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert!(!self.stderr.contains("panicked"), "the run panicked: {self:#?}");
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }
}

/// The binary with no environment variable that changes what it does.
pub fn agentlake() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentlake"));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let is_ours = text.starts_with("AGENTLAKE_") || text.starts_with("XDG_");
        if is_ours || ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "COLUMNS", "RUST_BACKTRACE"].contains(&text.as_ref()) {
            command.env_remove(name);
        }
    }
    // Days are those of the zone of the machine, if none is named.
    command.stdin(Stdio::null()).env("TZ", "UTC");
    command
}

/// Runs a command to its end.
pub fn run(command: &mut Command) -> Run {
    Run::of(command.output().expect("the binary starts"))
}

impl Home {
    pub fn new() -> Self {
        let home = Self { folder: tempfile::tempdir().unwrap() };
        fs_err::create_dir(home.home()).unwrap();
        home
    }

    /// The folder that `--home` names.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// A path in that folder.
    pub fn path(&self, relative: &str) -> PathBuf {
        self.home().join(relative)
    }

    /// The lake.
    pub fn lake(&self) -> PathBuf {
        self.folder.path().join("lake")
    }

    /// A folder beside home and lake.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file as if it were written just now: its end may still grow.
    pub fn write(&self, relative: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(relative);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(&path, bytes).unwrap();
        path
    }

    /// Writes a file that nobody has touched for a day.
    pub fn write_old(&self, relative: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.write(relative, bytes);
        age(&path);
        path
    }

    /// Appends to a file.
    pub fn append(&self, relative: &str, bytes: impl AsRef<[u8]>) {
        use std::io::Write as _;
        let mut file = fs_err::OpenOptions::new().append(true).open(self.path(relative)).unwrap();
        file.write_all(bytes.as_ref()).unwrap();
    }

    /// `export` of this home into `lake`, with a JSON summary and without DuckDB.
    pub fn export_command(&self, lake: &Path, arguments: &[&str]) -> Command {
        let mut command = agentlake();
        command.arg("export").arg("--home").arg(self.home()).arg("--lake").arg(lake);
        // Beta providers are tested like the others.
        command.args(["--no-duckdb", "--beta", "--threads", "2", "--format", "json"]).args(arguments);
        // A home of its own also for what is not re-rooted, so that no test sees the user's files.
        command.env("HOME", self.folder.path());
        command
    }

    /// Runs `export` into the lake.
    pub fn export(&self) -> Run {
        self.export_with(&[])
    }

    /// Runs `export` into the lake with more arguments.
    pub fn export_with(&self, arguments: &[&str]) -> Run {
        run(&mut self.export_command(&self.lake(), arguments))
    }

    /// Runs `export` into another lake beside this one.
    pub fn export_into(&self, lake: &str) -> Run {
        run(&mut self.export_command(&self.beside(lake), &[]))
    }

    /// Starts `export` without waiting for it.
    pub fn start_export(&self) -> Child {
        let mut command = self.export_command(&self.lake(), &[]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts")
    }

    /// `compact` of the lake, with a JSON summary.
    pub fn compact_command(&self, arguments: &[&str]) -> Command {
        let mut command = agentlake();
        command.arg("compact").arg("--lake").arg(self.lake()).args(["--threads", "2", "--format", "json"]);
        command.args(arguments).env("HOME", self.folder.path());
        command
    }

    /// Runs `compact`.
    pub fn compact(&self) -> Run {
        run(&mut self.compact_command(&[]))
    }

    /// Every row of the lake.
    pub fn rows(&self) -> LakeRows {
        LakeRows::read(&self.lake())
    }

    /// Every row of a lake beside it.
    pub fn rows_of(&self, lake: &str) -> LakeRows {
        LakeRows::read(&self.beside(lake))
    }
}

/// Makes a file look as if nobody had touched it for a day.
pub fn age(path: &Path) {
    let file = fs_err::OpenOptions::new().write(true).open(path).unwrap();
    file.file().set_modified(SystemTime::now() - LONG_AGO).unwrap();
}

/// Copies a folder over another one; returns the files written.
pub fn copy_over(from: &Path, to: &Path) -> Vec<PathBuf> {
    let mut written = Vec::new();
    fs_err::create_dir_all(to).unwrap();
    for entry in fs_err::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            written.extend(copy_over(&entry.path(), &target));
        } else {
            fs_err::write(&target, fs_err::read(entry.path()).unwrap()).unwrap();
            written.push(target);
        }
    }
    written
}
