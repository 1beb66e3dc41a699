//! Every case in `fixtures/<provider>/<case>/` through the real `export`, compared with the totals computed by hand.
//!
//! A case is `home/`, or `step-1/home`, `step-2/home` …, each copied over the same home in turn with a run over the same
//! lake after it; and `expected.json`, where a key that is left out is not checked. Files of the last step are a day old,
//! so that their ends are final; files of earlier steps are fresh. After the last step, one more run must add nothing.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::home::{Home, age, copy_over};

/// The folder of all fixtures.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// Sorted folders in a folder.
pub fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs_err::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// The homes of a case, in order.
pub fn steps(case: &Path) -> Vec<PathBuf> {
    let homes: Vec<PathBuf> =
        folders(case).into_iter().map(|step| step.join("home")).filter(|home| home.is_dir()).collect();
    if homes.is_empty() { vec![case.join("home")] } else { homes }
}

/// Files below a home, by their paths below it, that adapters read as sources. The others are notes beside sessions, which
/// tools write once.
pub fn sources_below(home: &Path) -> HashSet<String> {
    let roots = agentlake::source::Roots::at_home(home);
    let found = agentlake::adapters::all().iter().flat_map(|adapter| adapter.enumerate(&roots).sources);
    found.map(|source| source.path.strip_prefix(home).unwrap().display().to_string()).collect()
}

#[test]
fn each_case_gives_the_totals_computed_by_hand() {
    let mut failures = Vec::new();
    for provider in folders(&root()) {
        for case in folders(&provider) {
            let wrong = run_case(&case);
            if !wrong.is_empty() {
                failures.push(format!("{}:\n  {}", case.strip_prefix(root()).unwrap().display(), wrong.join("\n  ")));
            }
        }
    }
    assert!(failures.is_empty(), "{} cases fail\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn each_provider_has_cases_and_each_folder_a_provider() {
    let cases_of = |slug: &str| {
        folders(&root()).into_iter().filter(|folder| folder.ends_with(slug)).flat_map(|folder| folders(&folder)).count()
    };
    for adapter in agentlake::adapters::all() {
        let slug = adapter.info().slug;
        assert!(cases_of(slug) > 0, "fixtures/{slug} has no case");
    }
    for folder in folders(&root()) {
        let slug = folder.file_name().unwrap().to_str().unwrap();
        assert!(agentlake::adapters::by_slug(slug).is_some(), "fixtures/{slug} belongs to no provider");
    }
}

/// Runs a case; returns what is not as expected.
fn run_case(case: &Path) -> Vec<String> {
    let expected: Map<String, Value> =
        serde_json::from_slice(&fs_err::read(case.join("expected.json")).unwrap()).unwrap();
    let home = Home::new();
    let steps = steps(case);
    let mut wrong = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let files = copy_over(step, &home.home());
        if number + 1 == steps.len() {
            files.iter().for_each(|file| age(file));
        }
        let run = home.export();
        if !matches!(run.code, Some(0 | 1)) || run.stderr.contains("panicked") {
            return vec![format!("step {} ended badly: {run:?}", number + 1)];
        }
    }
    let rows = home.rows();
    let totals = rows.totals();
    for (name, value) in &expected {
        match totals.get(name.as_str()) {
            None => wrong.push(format!("expected.json names {name}, which is no total")),
            Some(total) if value.as_i64() != Some(*total) => {
                wrong.push(format!("{name}: {value} expected, {total} found"))
            }
            Some(_) => {}
        }
    }
    let again = home.export();
    if again.code != Some(0) || again.summary()["batches"] != 0 {
        wrong.push(format!("one more run does not end quietly: {again:?}"));
    }
    wrong
}
