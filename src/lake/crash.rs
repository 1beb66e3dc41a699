//! Named places at which a test can make the process die, as a power cut would: `AGENTLAKE_CRASH_AT=name[:nth]`.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock};

/// The environment variable that names the place.
pub const VARIABLE: &str = "AGENTLAKE_CRASH_AT";

/// Dies with SIGKILL if this place was named, and this is the nth time it is passed.
pub fn point(name: &str) {
    static WANTED: OnceLock<Option<(String, u32)>> = OnceLock::new();
    static PASSED: OnceLock<Mutex<HashMap<String, u32>>> = OnceLock::new();
    let wanted = WANTED.get_or_init(|| {
        let text = std::env::var(VARIABLE).ok()?;
        let (place, nth) = text.split_once(':').unwrap_or((&text, "1"));
        Some((place.to_owned(), nth.parse().ok()?))
    });
    let Some((place, nth)) = wanted else { return };
    if place != name {
        return;
    }
    let Ok(mut passed) = PASSED.get_or_init(Mutex::default).lock() else { return };
    let count = passed.entry(name.to_owned()).or_insert(0);
    *count += 1;
    if count == nth {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}
