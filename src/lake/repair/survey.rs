//! Every file in the table folders, judged: which are parts of this lake, which are not, and which are parts no more.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use arrow::array::BooleanArray;
use rayon::prelude::*;

use crate::lake::part_file::{
    PartName, PartReader, fingerprint, id, integer, integers, is_readable_by_all, text, texts,
};
use crate::lake::state::{Part, State};
use crate::lake::{LakeError, Layout, Result, suspect};
use crate::model::tables::SCHEMA_VERSION;

/// Files of a lake by what becomes of them.
#[derive(Debug, Default)]
pub struct Survey {
    /// The id that the lake's parts carry.
    pub lake_id: String,
    /// Whether the state is this lake's.
    pub is_own_state: bool,
    /// Parts that stay.
    pub kept: Vec<Part>,
    /// How many of them the state did not list.
    pub adopted: u64,
    /// Files that do not stay, and why.
    pub discarded: Vec<Discarded>,
    /// Parts that the state lists and that are not there.
    pub missing: Vec<String>,
}

/// A file that is no part of the lake.
#[derive(Debug)]
pub struct Discarded {
    /// Where it is.
    pub path: PathBuf,
    /// Why it does not stay, for people.
    pub reason: String,
    /// What it is, if its rows can be read: rows of sources that are gone stand nowhere else.
    pub readable: Option<PartName>,
    /// Whether all its rows count, since none of them can be told to be wrong.
    pub is_sound: bool,
}

/// What one file says of itself.
struct Facts {
    path: PathBuf,
    below_root: String,
    name: Option<PartName>,
    lake_id: Option<String>,
    fingerprint: Option<(i64, [u8; 16])>,
    schema_version: i64,
    batch: Option<i64>,
    /// First and last batch of its rows.
    batches: Option<(i64, i64)>,
    rows: i64,
    /// Why it cannot be read.
    fault: Option<String>,
}

impl Facts {
    fn of(layout: &Layout, path: PathBuf) -> Self {
        let below = path.strip_prefix(layout.root()).unwrap_or(&path).to_owned();
        let mut facts = Self {
            name: PartName::parse(&below),
            below_root: below.display().to_string(),
            lake_id: None,
            fingerprint: fingerprint(&path).ok(),
            schema_version: 0,
            batch: None,
            batches: None,
            rows: 0,
            fault: None,
            path,
        };
        let told = suspect::read(|| {
            let reader = PartReader::open(&facts.path)?;
            let lake_id = reader.note("lake_id").map(str::to_owned);
            let version = reader.number("schema_version").unwrap_or_default();
            let batches = (reader.number("batch"), reader.batches());
            Ok((lake_id, version, batches, reader.rows(), is_readable_by_all(&facts.path)?))
        });
        match told {
            Err(error) => facts.fault = Some(error.to_string()),
            Ok((.., false)) => facts.fault = Some("it says two things of its columns".to_owned()),
            Ok((lake_id, version, batches, rows, true)) => {
                (facts.lake_id, facts.schema_version, facts.rows) = (lake_id, version, rows);
                (facts.batch, facts.batches) = batches;
            }
        }
        facts
    }

    fn is_as(&self, part: &Part) -> bool {
        self.fingerprint == Some((part.bytes, part.xxh3))
    }

    /// The part as the state should list it.
    fn part(&self, name: &PartName) -> Part {
        let (bytes, xxh3) = self.fingerprint.unwrap_or_default();
        let (first_batch, last_batch) = self.batches.unwrap_or((name.batch, name.batch));
        Part {
            path: self.below_root.clone(),
            table: name.table.name.to_owned(),
            provider: name.provider.clone(),
            date: name.date.clone(),
            batch: name.batch,
            rows: self.rows,
            bytes,
            xxh3,
            schema_version: self.schema_version,
            first_batch,
            last_batch,
        }
    }

    /// Why the file is no part of the lake `lake_id`, as far as its name and footer tell.
    fn objection(&self, lake_id: &str) -> Option<String> {
        if let Some(fault) = &self.fault {
            return Some(format!("it cannot be read: {fault}"));
        }
        let Some(name) = &self.name else { return Some("its name is not that of a part".to_owned()) };
        match &self.lake_id {
            None => Some("no lake wrote it".to_owned()),
            Some(other) if other != lake_id => Some(format!("it is of the lake {other}")),
            Some(_) if !lake_id.starts_with(&name.lake) || self.batch != Some(name.batch) => {
                Some("its name is not the one that it was written under".to_owned())
            }
            Some(_) => None,
        }
    }
}

/// Judges every file.
///
/// # Errors
/// A folder cannot be read, or a part was written by a newer version.
pub fn survey(layout: &Layout, state: &State) -> Result<Survey> {
    let listed: HashMap<String, Part> = state.parts()?.into_iter().map(|part| (part.path.clone(), part)).collect();
    let mut files = layout.files()?;
    files.sort();
    let facts: Vec<Facts> = files.into_par_iter().map(|path| Facts::of(layout, path)).collect();
    let lake_id = lake_id_of(&facts, &listed).unwrap_or_else(|| state.lake_id().to_owned());
    let is_here = |facts: &&Facts| listed.get(&facts.below_root).is_some_and(|part| facts.is_as(part));
    let mut survey = Survey {
        is_own_state: lake_id == state.lake_id()
            && (listed.is_empty() == facts.is_empty() || facts.iter().any(|facts| is_here(&facts))),
        lake_id,
        ..Survey::default()
    };
    let on_disk: HashSet<&str> = facts.iter().map(|facts| facts.below_root.as_str()).collect();
    survey.missing = listed.keys().filter(|path| !on_disk.contains(path.as_str())).cloned().collect();
    survey.missing.sort();

    // Those that the state vouches for come first: of two with the same rows, they stay.
    let (vouched, others): (Vec<&Facts>, Vec<&Facts>) = facts.iter().partition(|facts| is_here(facts));
    let mut seen = Seen::default();
    for facts in vouched.into_iter().chain(others) {
        let is_vouched = is_here(&facts);
        if let Some(reason) = facts.objection(&survey.lake_id) {
            survey.discard(facts, reason, false, false);
            continue;
        }
        let Some(name) = &facts.name else { continue };
        if facts.schema_version > SCHEMA_VERSION {
            let (path, found) = (facts.path.clone(), facts.schema_version);
            return Err(LakeError::NewerPart { path, found, known: SCHEMA_VERSION });
        }
        if !is_vouched && listed.contains_key(&facts.below_root) && survey.is_own_state {
            survey.discard(facts, "its bytes are not those that were committed".to_owned(), true, false);
            continue;
        }
        match seen.doubles(&facts.path, name, facts.fingerprint) {
            Err(error) => survey.discard(facts, format!("it cannot be read: {error}"), false, false),
            Ok(0) => {
                survey.kept.push(facts.part(name));
                survey.adopted += u64::from(!is_vouched);
            }
            Ok(doubles) if doubles >= facts.rows => {
                survey.discard(facts, "all its rows stand in other parts".to_owned(), false, true);
            }
            Ok(doubles) => {
                survey.discard(facts, format!("{doubles} of its rows stand in other parts"), true, true);
            }
        }
    }
    Ok(survey)
}

impl Survey {
    fn discard(&mut self, facts: &Facts, reason: String, is_readable: bool, is_sound: bool) {
        let readable = facts.name.clone().filter(|_| is_readable);
        self.discarded.push(Discarded { path: facts.path.clone(), reason, readable, is_sound });
    }
}

/// The id of most parts that the state lists; where it lists none that is here, that of most parts.
fn lake_id_of(facts: &[Facts], listed: &HashMap<String, Part>) -> Option<String> {
    let most = |wanted: &dyn Fn(&Facts) -> bool| {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for facts in facts.iter().filter(|facts| facts.name.is_some() && wanted(facts)) {
            if let Some(lake_id) = &facts.lake_id {
                *counts.entry(lake_id).or_default() += 1;
            }
        }
        counts.into_iter().max_by_key(|(_, count)| *count).map(|(lake_id, _)| lake_id.to_owned())
    };
    most(&|facts| listed.get(&facts.below_root).is_some_and(|part| facts.is_as(part))).or_else(|| most(&|_| true))
}

/// Rows seen so far, by table: `event_id` and batch.
#[derive(Debug, Default)]
struct Seen {
    rows: HashMap<&'static str, HashSet<(u128, i64)>>,
    files: HashSet<(i64, [u8; 16])>,
}

impl Seen {
    /// How many rows of a part were seen in others. Unless all are new, none of them counts as seen here.
    fn doubles(&mut self, path: &Path, name: &PartName, fingerprint: Option<(i64, [u8; 16])>) -> Result<i64> {
        let rows = suspect::read(|| rows_of(path))?;
        let seen = self.rows.entry(name.table.name).or_default();
        if fingerprint.is_some_and(|fingerprint| !self.files.insert(fingerprint)) {
            return Ok(i64::MAX);
        }
        let doubles = rows.iter().filter(|row| seen.contains(row)).count();
        if doubles == 0 {
            seen.extend(rows);
        }
        Ok(i64::try_from(doubles).unwrap_or(i64::MAX))
    }
}

/// `event_id` and batch of each row. All columns are read, so that a part with a broken page is found.
fn rows_of(path: &Path) -> Result<Vec<(u128, i64)>> {
    let mut found = Vec::new();
    for rows in PartReader::open(path)?.all()? {
        let rows = rows?;
        let (Some(events), Some(batches)) = (texts(&rows, "event_id"), integers(&rows, "batch")) else { continue };
        found.extend(
            (0..rows.num_rows())
                .map(|row| (id(text(events, row).unwrap_or_default()), integer(batches, row).unwrap_or_default())),
        );
    }
    Ok(found)
}

/// Which rows of a discarded part to carry on: those that no kept part has, and of a damaged part only those of sources
/// that cannot be read again. `is_known` tells of a path whether a source had it: a damaged path names none.
pub fn worth_carrying(
    rows: &arrow::array::RecordBatch,
    discarded: &Discarded,
    kept: &HashSet<(u128, i64)>,
    host: &str,
    is_known: &dyn Fn(&str) -> bool,
) -> BooleanArray {
    let columns = (texts(rows, "event_id"), integers(rows, "batch"), texts(rows, "source_path"), texts(rows, "host"));
    let (Some(events), Some(batches), Some(paths), Some(hosts)) = columns else {
        return BooleanArray::from(vec![false; rows.num_rows()]);
    };
    let mut last: Option<(&str, bool)> = None;
    (0..rows.num_rows())
        .map(|row| {
            let event = (id(text(events, row).unwrap_or_default()), integer(batches, row).unwrap_or_default());
            if kept.contains(&event) {
                return Some(false);
            }
            let path = text(paths, row).unwrap_or_default();
            let is_gone = match last {
                Some((before, is_gone)) if before == path => is_gone,
                _ => !Path::new(path).exists() && is_known(path),
            };
            last = Some((path, is_gone));
            Some(discarded.is_sound || is_gone || text(hosts, row) != Some(host))
        })
        .collect()
}

/// The rows of the kept parts of one table.
///
/// # Errors
/// A part cannot be read.
pub fn kept_rows(layout: &Layout, kept: &[Part], table: &str) -> Result<HashSet<(u128, i64)>> {
    let mut rows = HashSet::new();
    for part in kept.iter().filter(|part| part.table == table) {
        rows.extend(rows_of(&layout.root().join(&part.path))?);
    }
    Ok(rows)
}
