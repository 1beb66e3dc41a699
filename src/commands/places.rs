//! Which lake, which home and which providers a command line means.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};

use crate::adapters::{self, SourceAdapter};
use crate::cli::{LakeArgs, RootArgs};
use crate::lake::State;
use crate::model::identity::id_of;
use crate::source::Roots;

/// The lake's folder: `--lake`, else `AGENTLAKE_LAKE`, else `agentlake/` in the XDG data directory.
///
/// # Errors
/// None of them is known.
pub fn lake(arguments: &LakeArgs) -> Result<PathBuf> {
    if let Some(lake) = &arguments.lake {
        return Ok(lake.clone());
    }
    let data = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let data = data.or_else(|| Some(std::env::home_dir()?.join(".local/share")));
    data.map(|data| data.join("agentlake"))
        .ok_or_else(|| anyhow!("there is no home directory; say where the lake is with --lake DIR"))
}

/// Where adapters look.
///
/// # Errors
/// `--home` is no folder, or a `--source` does not exist or names an unknown provider.
pub fn roots(arguments: &RootArgs) -> Result<Roots> {
    let mut roots = match &arguments.home {
        Some(home) if !home.is_dir() => bail!("--home {}: there is no such folder", home.display()),
        Some(home) => Roots::at_home(home),
        None => Roots::of_this_user(),
    };
    for (provider, path) in &arguments.source {
        check_provider("--source", provider)?;
        if !path.exists() {
            bail!("--source {provider}={}: there is no such file or folder", path.display());
        }
        roots.add(provider, path.clone());
    }
    Ok(roots)
}

/// The adapters asked for: those of `--provider`, else all that are on.
///
/// # Errors
/// A provider is unknown.
pub fn adapters(arguments: &RootArgs) -> Result<Vec<&'static dyn SourceAdapter>> {
    Ok(named_adapters(arguments)?.into_iter().filter(|adapter| is_on(*adapter, arguments)).collect())
}

/// The adapters of `--provider`, else all, whether they are on or not.
///
/// # Errors
/// A provider is unknown.
pub fn named_adapters(arguments: &RootArgs) -> Result<Vec<&'static dyn SourceAdapter>> {
    for provider in &arguments.provider {
        check_provider("--provider", provider)?;
    }
    let wanted = |adapter: &&dyn SourceAdapter| {
        arguments.provider.is_empty() || arguments.provider.iter().any(|slug| slug == adapter.info().slug)
    };
    Ok(adapters::all().iter().copied().filter(wanted).collect())
}

/// Whether an adapter reads anything: a beta one only if it is asked for, by `--beta`, by its environment variable, or by
/// name in `--provider` or `--source`.
#[must_use]
pub fn is_on(adapter: &dyn SourceAdapter, arguments: &RootArgs) -> bool {
    let info = adapter.info();
    let is_named = arguments.provider.iter().any(|slug| slug == info.slug)
        || arguments.source.iter().any(|(slug, _)| slug == info.slug);
    !info.beta
        || arguments.beta
        || is_named
        || std::env::var(beta_variable(info.slug)).is_ok_and(|value| is_yes(&value))
}

/// The environment variable that turns a beta adapter on.
#[must_use]
pub fn beta_variable(slug: &str) -> String {
    format!("AGENTLAKE_BETA_{}", slug.to_ascii_uppercase().replace('-', "_"))
}

fn is_yes(value: &str) -> bool {
    ["1", "true", "yes", "on"].iter().any(|yes| value.trim().eq_ignore_ascii_case(yes))
}

fn check_provider(flag: &str, provider: &str) -> Result<()> {
    if adapters::by_slug(provider).is_some() {
        return Ok(());
    }
    let known: Vec<&str> = adapters::all().iter().map(|adapter| adapter.info().slug).collect();
    bail!("{flag} {provider}: no such provider; there are {}", known.join(", "))
}

/// The name of this machine, for the `host` column: the one asked for, which the lake remembers; else the one that it
/// remembers. The network's name for a machine changes; `/etc/machine-id` does not.
///
/// # Errors
/// The state of the lake cannot be written.
pub fn host(asked: Option<&str>, state: &State) -> Result<String> {
    let machine_id = fs_err::read_to_string("/etc/machine-id").unwrap_or_default();
    // Hashed, since systemd asks that the id itself is kept to the machine.
    let machine = id_of(&[b"machine", machine_id.trim().as_bytes()]);
    if let Some(name) = asked {
        state.set_host(machine.as_str(), name)?;
    }
    let called = rustix::system::uname().nodename().to_string_lossy().into_owned();
    Ok(state.host(machine.as_str(), &called)?)
}

/// A path as people write it, with `~` for the home directory.
#[must_use]
pub fn short(path: &Path) -> String {
    match std::env::home_dir().as_deref().and_then(|home| path.strip_prefix(home).ok()) {
        Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_variable_says_yes_in_several_ways() {
        for (value, yes) in [("1", true), ("TRUE", true), ("Yes", true), (" on ", true), ("0", false), ("", false)] {
            assert_eq!(is_yes(value), yes, "{value:?}");
        }
        assert_eq!(beta_variable("roo"), "AGENTLAKE_BETA_ROO");
    }
}
