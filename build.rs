//! Ties the binary to the DuckDB library that it was linked with.
//!
//! Owns two things: the version of DuckDB that the code may run on (from `scripts/duckdb.lock`, handed over as
//! `AGENTLAKE_DUCKDB_VERSION`), and how a prebuilt library is found at run time. For the latter, the library is placed
//! beside the build's artifacts and looked up relative to the executable, so that neither a build nor an installed copy
//! depends on an absolute path or on `LD_LIBRARY_PATH`:
//!
//! ```text
//! target/release/agentlake          finds  target/release/libduckdb.so     ($ORIGIN)
//! target/release/deps/it-0123…      finds  target/release/libduckdb.so     ($ORIGIN/..)
//! PREFIX/bin/agentlake              finds  PREFIX/lib/agentlake/libduckdb.so  (`make install`)
//! ```
//!
//! Fetching the library is `scripts/fetch-duckdb`; with the feature `bundled` DuckDB is compiled in and there is
//! nothing to find.

#![allow(clippy::print_stdout, reason = "standard output is how a build script talks to cargo")]
#![allow(clippy::disallowed_methods, reason = "a build script that needs no crate starts to compile at once")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Pins DuckDB's version and the packages that hold it.
const LOCK_FILE: &str = "scripts/duckdb.lock";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={LOCK_FILE}");
    println!("cargo::rustc-env=AGENTLAKE_DUCKDB_VERSION={}", pinned_version()?);

    let links_prebuilt = cfg!(feature = "duckdb") && !cfg!(feature = "bundled");
    if links_prebuilt {
        let library = prebuilt_library()?;
        place_beside_artifacts(&library)?;
        look_up_relative_to_executable();
    }
    Ok(())
}

/// The version in [`LOCK_FILE`], spelled as DuckDB itself reports it (`v1.5.6`).
fn pinned_version() -> Result<String, Box<dyn Error>> {
    let lock = fs::read_to_string(LOCK_FILE).map_err(|error| format!("cannot read {LOCK_FILE}: {error}"))?;
    let version = lock.lines().find_map(|line| line.strip_prefix("version "));
    Ok(version.ok_or_else(|| format!("{LOCK_FILE} has no line `version …`"))?.trim().to_owned())
}

/// The library in `DUCKDB_LIB_DIR`, which `.cargo/config.toml` sets to `.duckdb/lib` unless the environment does.
fn prebuilt_library() -> Result<PathBuf, Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed=DUCKDB_LIB_DIR");
    let remedy = "Run `make` (or scripts/fetch-duckdb), which fetches the library; or set DUCKDB_LIB_DIR to a folder \
                  that holds it; or build with `--features bundled`, which compiles DuckDB and takes about half an hour.";
    let Some(folder) = env::var_os("DUCKDB_LIB_DIR") else {
        return Err(format!("there is no DuckDB library to link to: DUCKDB_LIB_DIR is not set. {remedy}").into());
    };
    let library = Path::new(&folder).join(library_name());
    println!("cargo::rerun-if-changed={}", library.display());
    if !library.is_file() {
        return Err(format!("there is no DuckDB library at {}. {remedy}", library.display()).into());
    }
    Ok(fs::canonicalize(&library)?)
}

/// How the target's dynamic loader spells the library.
fn library_name() -> &'static str {
    match env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("macos") => "libduckdb.dylib",
        _ => "libduckdb.so",
    }
}

/// Puts `library` into the folder of the profile (`target/release`), where the executables of the build look for it.
///
/// A hard link where that works: the library is 70 MB large. Under a new name first, since a running executable may have
/// the old one mapped.
fn place_beside_artifacts(library: &Path) -> Result<(), Box<dyn Error>> {
    let out_dir = PathBuf::from(env::var("OUT_DIR")?);
    let profile_dir = out_dir
        .ancestors()
        .find(|folder| folder.file_name().is_some_and(|name| name == "build"))
        .and_then(Path::parent)
        .ok_or_else(|| format!("no folder `build` above OUT_DIR {}", out_dir.display()))?;
    let placed = profile_dir.join(library_name());
    // Its absence must run this script again.
    println!("cargo::rerun-if-changed={}", placed.display());

    let fresh = out_dir.join(library_name());
    remove_if_present(&fresh)?;
    if fs::hard_link(library, &fresh).is_err() {
        fs::copy(library, &fresh)?;
    }
    // Renaming one hard link over another of the same file does nothing and leaves both.
    fs::rename(&fresh, &placed).map_err(|error| format!("cannot place {}: {error}", placed.display()))?;
    remove_if_present(&fresh)?;
    Ok(())
}

fn remove_if_present(file: &Path) -> Result<(), Box<dyn Error>> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("cannot remove {}: {error}", file.display()).into())
        }
        _ => Ok(()),
    }
}

/// Adds the run-time search path, relative to the executable, to everything that this package links.
fn look_up_relative_to_executable() {
    let origin = match env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("macos") => "@loader_path",
        _ => "$ORIGIN",
    };
    for folder in ["", "/..", "/../lib/agentlake"] {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{origin}{folder}");
    }
}
