//! Where to look: the home directory, the environment, and the sources named on the command line.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The places that adapters search. A value, not the process environment, so that a run over another home sees nothing
/// of this one.
#[derive(Debug, Clone, Default)]
pub struct Roots {
    home: Option<PathBuf>,
    environment: HashMap<String, OsString>,
    named: Vec<(String, PathBuf)>,
}

impl Roots {
    /// This user's home and environment.
    #[must_use]
    pub fn of_this_user() -> Self {
        let environment =
            std::env::vars_os().filter_map(|(key, value)| Some((key.into_string().ok()?, value))).collect();
        Self { home: std::env::home_dir(), environment, named: Vec::new() }
    }

    /// Another home, without any environment variable: `--home DIR` re-roots everything.
    #[must_use]
    pub fn at_home(home: &Path) -> Self {
        Self { home: Some(home.to_owned()), ..Self::default() }
    }

    /// Adds a file or folder of a provider (`--source PROVIDER=PATH`).
    pub fn add(&mut self, provider: &str, path: PathBuf) {
        self.named.push((provider.to_owned(), path));
    }

    /// Sets an environment variable as adapters see it.
    pub fn set_variable(&mut self, name: &str, value: impl Into<OsString>) {
        self.environment.insert(name.to_owned(), value.into());
    }

    /// The home directory.
    #[must_use]
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// A path below the home directory.
    #[must_use]
    pub fn in_home(&self, relative: &str) -> Option<PathBuf> {
        Some(self.home.as_ref()?.join(relative))
    }

    /// An environment variable; empty counts as not set.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&OsString> {
        self.environment.get(name).filter(|value| !value.is_empty())
    }

    /// The files and folders that were named for a provider.
    pub fn named(&self, provider: &str) -> impl Iterator<Item = &Path> {
        self.named.iter().filter(move |(name, _)| name == provider).map(|(_, path)| path.as_path())
    }
}
