//! Which prices a command uses: those that the build carries, then what `agentlake prices update` noted, then the user's own.
//!
//! The user's file is `--prices FILE`, else `agentlake/prices.toml` in the XDG config directory if it is there. Beside it
//! stands the file that `prices update` writes, `prices.updates.toml`; the user's own words go before it.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};

use crate::cli::PricesArgs;
use crate::pricing::{PriceTable, UserPrices};

/// The two files that may stand over the carried prices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The user's own.
    pub own: PathBuf,
    /// What `prices update` writes.
    pub updates: PathBuf,
    /// Whether the user named the file, so that it must be there.
    named: bool,
}

impl Places {
    /// The files that a command line means; `None` where no file is named and there is no home directory.
    #[must_use]
    pub fn of(arguments: &PricesArgs) -> Option<Self> {
        let (own, named) = match &arguments.prices {
            Some(file) => (file.clone(), true),
            None => (config_folder()?.join("prices.toml"), false),
        };
        let updates = own.with_extension("updates.toml");
        Some(Self { own, updates, named })
    }
}

/// `agentlake/` in the XDG config directory.
fn config_folder() -> Option<PathBuf> {
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    Some(config.or_else(|| Some(std::env::home_dir()?.join(".config")))?.join("agentlake"))
}

/// The prices that a command line means.
///
/// # Errors
/// A file that was named is not there, or one cannot be read, with its line.
pub fn table(arguments: &PricesArgs) -> Result<Cow<'static, PriceTable>> {
    let mut table = Cow::Borrowed(PriceTable::builtin()?);
    let Some(places) = Places::of(arguments) else { return Ok(table) };
    if places.named && !places.own.exists() {
        return Err(anyhow!("--prices {}: there is no such file", places.own.display()));
    }
    for file in [&places.updates, &places.own] {
        if file.exists() {
            let with = table.with(&read(file)?).with_context(|| format!("the prices in {}", file.display()))?;
            table = Cow::Owned(with);
        }
    }
    Ok(table)
}

/// Reads a file of prices.
///
/// # Errors
/// It cannot be read; of what is wrong in it the line is named.
pub fn read(file: &Path) -> Result<UserPrices> {
    let text = fs_err::read_to_string(file)?;
    let name = file.file_name().map_or_else(|| file.display().to_string(), |name| name.to_string_lossy().into_owned());
    let remedy = || format!("{} cannot be used; `agentlake prices check {}` checks it", file.display(), file.display());
    UserPrices::parse(&text, &name).with_context(remedy)
}
