//! Whose days an answer counts: the zone of `--tz`, else the system's.
//!
//! The system's is looked for where POSIX and systemd keep it: `TZ`, the link `/etc/localtime`, then Debian's `/etc/timezone`.
//! What names no IANA zone (`TZ=CET-1CEST`, a copied `/etc/localtime`) counts as none: then UTC, and the answer says so.

use std::path::Path;

use anyhow::{Result, anyhow};

use crate::warehouse::zone_named;

/// The name of the zone to count days in.
///
/// # Errors
/// `--tz` names no zone of the IANA database.
pub fn chosen(asked: Option<&str>) -> Result<String> {
    match asked {
        Some(name) => Ok(zone_named(name).map_err(|error| anyhow!("--tz {name}: {error}"))?.name().to_owned()),
        None => Ok(of_system(std::env::var("TZ").ok().as_deref(), Path::new("/etc"))),
    }
}

/// The system's zone, of the variable `TZ` and the folder of system settings.
fn of_system(variable: Option<&str>, settings: &Path) -> String {
    let known = |name: &str| zone_named(name.trim()).ok().map(|zone| zone.name().to_owned());
    // An empty TZ means UTC, and a wrong one too; neither means "look elsewhere".
    if let Some(variable) = variable {
        return known(after_database(variable.trim_start_matches(':'))).unwrap_or_else(|| "UTC".to_owned());
    }
    let link = fs_err::read_link(settings.join("localtime")).ok();
    let linked = link.as_deref().and_then(Path::to_str).and_then(|path| known(after_database(path)));
    let written = || known(&fs_err::read_to_string(settings.join("timezone")).ok()?);
    linked.or_else(written).unwrap_or_else(|| "UTC".to_owned())
}

/// The part of a path that names the zone, after the folder of the database.
fn after_database(path: &str) -> &str {
    path.split_once("zoneinfo/").map_or(path, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_is_asked_first() {
        let nowhere = Path::new("/nowhere");
        assert_eq!(of_system(Some("Asia/Tokyo"), nowhere), "Asia/Tokyo");
        assert_eq!(of_system(Some(":/usr/share/zoneinfo/Europe/Berlin"), nowhere), "Europe/Berlin");
        assert_eq!(of_system(Some("CET-1CEST"), nowhere), "UTC");
        assert_eq!(of_system(Some(""), nowhere), "UTC");
        assert_eq!(of_system(None, nowhere), "UTC");
    }

    #[cfg(unix)]
    #[test]
    fn then_the_settings_of_the_system() {
        let settings = tempfile::tempdir().unwrap();
        fs_err::write(settings.path().join("timezone"), "Asia/Kathmandu\n").unwrap();
        assert_eq!(of_system(None, settings.path()), "Asia/Kathmandu");
        fs_err::os::unix::fs::symlink("/usr/share/zoneinfo/America/New_York", settings.path().join("localtime"))
            .unwrap();
        assert_eq!(of_system(None, settings.path()), "America/New_York");
    }

    #[test]
    fn an_unknown_zone_names_the_flag() {
        assert_eq!(chosen(Some("asia/tokyo")).unwrap(), "Asia/Tokyo");
        let error = chosen(Some("Tokyo")).unwrap_err().to_string();
        assert!(error.starts_with("--tz Tokyo: ") && error.contains("IANA"), "{error}");
    }
}
