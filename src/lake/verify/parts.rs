//! Parts against the state: none missing, none foreign, each as it was committed, no row twice.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::{Audit, Finding, FindingKind};
use crate::lake::arrow_schema::schema_of;
use crate::lake::part_file::{PartName, PartReader, fingerprint, id, integer, integers, short, text, texts};
use crate::lake::state::{Part, State};
use crate::lake::{Layout, Result};
use crate::model::tables::{SCHEMA_VERSION, TABLES, TableSpec};

/// Spreads batch numbers over the id's bits, so that one id in two batches gives two values.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Checks every listed part and looks for others. Returns the paths of parts that are as they were committed.
pub(super) fn check(layout: &Layout, state: &State, listed: &[Part], audit: &mut Audit) -> Result<HashSet<String>> {
    let on_disk: HashSet<PathBuf> = layout.files()?.into_iter().collect();
    let mut whole = HashSet::new();
    for table in TABLES {
        let parts: Vec<&Part> = listed.iter().filter(|part| part.table == table.name).collect();
        let lake_id = state.lake_id();
        let checked: Vec<Checked> = parts.par_iter().map(|part| Checked::of(layout, lake_id, table, part)).collect();
        let mut ids = Vec::new();
        for (part, checked) in parts.iter().zip(checked) {
            audit.parts += 1;
            audit.bytes = audit.bytes.saturating_add(u64::try_from(part.bytes).unwrap_or(0));
            audit.rows = audit.rows.saturating_add(u64::try_from(part.rows).unwrap_or(0));
            if checked.findings.is_empty() {
                whole.insert(part.path.clone());
            }
            for finding in checked.findings {
                audit.findings.push(finding);
            }
            ids.extend(checked.ids);
        }
        tell_doubles(layout, table, &parts, &whole, ids, audit)?;
    }
    for part in listed.iter().filter(|part| !TABLES.iter().any(|table| table.name == part.table)) {
        let detail = format!("the state lists a part of the table {:?}, which this version does not know", part.table);
        audit.findings.add(FindingKind::NewerPart, &part.path, &detail);
    }
    tell_foreign(layout, state, listed, on_disk, &whole, audit)?;
    Ok(whole)
}

/// What one part gave.
struct Checked {
    findings: Vec<Finding>,
    /// A hash of `event_id` and batch per row.
    ids: Vec<u64>,
}

impl Checked {
    fn of(layout: &Layout, lake_id: &str, table: &'static TableSpec, part: &Part) -> Self {
        let path = layout.locate(part);
        let mut checked = Self { findings: Vec::new(), ids: Vec::new() };
        let mut find = |kind, detail: String| {
            checked.findings.push(Finding { kind, subject: path.display().to_string(), detail });
        };
        if !path.exists() {
            find(FindingKind::MissingPart, format!("{} rows of batch {} are gone", part.rows, part.batch));
            return checked;
        }
        match fingerprint(&path) {
            Err(error) => find(FindingKind::DamagedPart, error.to_string()),
            Ok((bytes, _)) if bytes != part.bytes => {
                find(FindingKind::DamagedPart, format!("it has {bytes} bytes, and had {} when committed", part.bytes));
            }
            Ok((_, xxh3)) if xxh3 != part.xxh3 => {
                find(FindingKind::DamagedPart, "its bytes are not those that were committed".to_owned());
            }
            Ok(_) => match PartReader::open(&path) {
                Err(error) => find(FindingKind::DamagedPart, error.to_string()),
                Ok(reader) => {
                    for (kind, detail) in contradictions(&reader, lake_id, table, part) {
                        find(kind, detail);
                    }
                    match ids_of(reader) {
                        Ok(ids) => checked.ids = ids,
                        Err(error) => find(FindingKind::DamagedPart, error.to_string()),
                    }
                }
            },
        }
        checked
    }
}

/// Where a part, its name and the state say different things.
fn contradictions(
    reader: &PartReader,
    lake_id: &str,
    table: &'static TableSpec,
    part: &Part,
) -> Vec<(FindingKind, String)> {
    let mut found = Vec::new();
    let mut differs = |what: &str, here: String, state: String| {
        if here != state {
            found.push((FindingKind::PartContradiction, format!("{what} is {here}, and by the state {state}")));
        }
    };
    differs("its number of rows", reader.rows().to_string(), part.rows.to_string());
    let or_none = |text: Option<&str>| text.unwrap_or("not recorded").to_owned();
    differs("its lake", or_none(reader.note("lake_id")), lake_id.to_owned());
    differs("its batch", or_none(reader.note("batch")), part.batch.to_string());
    differs("its schema version", or_none(reader.note("schema_version")), part.schema_version.to_string());
    match PartName::parse(Path::new(&part.path)) {
        None => found.push((FindingKind::PartContradiction, "its name is not that of a part".to_owned())),
        Some(name) => {
            let short_id = lake_id.get(..8).unwrap_or(lake_id);
            let by_name = (name.table.name, name.provider.as_str(), name.date.as_str(), name.lake.as_str(), name.batch);
            if by_name != (part.table.as_str(), part.provider.as_str(), part.date.as_str(), short_id, part.batch) {
                found.push((FindingKind::PartContradiction, "its name is not what the state says of it".to_owned()));
            }
        }
    }
    if part.schema_version > SCHEMA_VERSION {
        let detail = format!("schema version {} is newer than {SCHEMA_VERSION}, the newest known", part.schema_version);
        found.push((FindingKind::NewerPart, detail));
    } else if !is_known_schema(reader, table, part.schema_version) {
        let detail = format!("its columns are not those of schema version {}", part.schema_version);
        found.push((FindingKind::PartContradiction, detail));
    }
    found
}

/// Whether the columns are the table's: all of them in the current version, the first of them in an older one.
fn is_known_schema(reader: &PartReader, table: &'static TableSpec, version: i64) -> bool {
    let (known, here) = (schema_of(table), reader.schema());
    let same = known
        .fields()
        .iter()
        .zip(here.fields())
        .all(|(known, here)| known.name() == here.name() && known.data_type() == here.data_type());
    let (known, here) = (known.fields().len(), here.fields().len());
    same && (here == known || (here < known && version < SCHEMA_VERSION))
}

fn ids_of(reader: PartReader) -> Result<Vec<u64>> {
    let mut ids = Vec::with_capacity(usize::try_from(reader.rows()).unwrap_or(0));
    for rows in reader.columns(&["event_id", "batch"])? {
        let rows = rows?;
        let (Some(events), Some(batches)) = (texts(&rows, "event_id"), integers(&rows, "batch")) else { continue };
        ids.extend(events.iter().zip(batches).map(|(event, batch)| key(id(event.unwrap_or_default()), batch)));
    }
    Ok(ids)
}

fn key(event: u128, batch: Option<i64>) -> u64 {
    short(event) ^ batch.unwrap_or_default().cast_unsigned().wrapping_mul(SPREAD)
}

/// Rows of one table with the same `event_id` and batch. The hashes only point at them: what they point at is read again.
fn tell_doubles(
    layout: &Layout,
    table: &TableSpec,
    parts: &[&Part],
    whole: &HashSet<String>,
    mut ids: Vec<u64>,
    audit: &mut Audit,
) -> Result<()> {
    ids.par_sort_unstable();
    let suspects: HashSet<u64> =
        ids.windows(2).filter_map(|pair| pair.first().filter(|first| pair.last() == Some(first)).copied()).collect();
    drop(ids);
    if suspects.is_empty() {
        return Ok(());
    }
    let mut sights: HashMap<(u128, i64), &str> = HashMap::new();
    let mut doubles: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for part in parts.iter().filter(|part| whole.contains(&part.path)) {
        for rows in PartReader::open(&layout.locate(part))?.columns(&["event_id", "batch"])? {
            let rows = rows?;
            let (Some(events), Some(batches)) = (texts(&rows, "event_id"), integers(&rows, "batch")) else { continue };
            for row in 0..rows.num_rows() {
                let (event, batch) = (id(text(events, row).unwrap_or_default()), integer(batches, row));
                if suspects.contains(&key(event, batch))
                    && let Some(before) = sights.insert((event, batch.unwrap_or_default()), &part.path)
                {
                    *doubles.entry((before, &part.path)).or_default() += 1;
                }
            }
        }
    }
    for ((before, path), count) in doubles {
        let detail = format!("{count} rows of {} have an event_id and batch that also stand in {before}", table.name);
        audit.findings.add(FindingKind::DuplicatedRows, layout.root().join(path), &detail);
    }
    Ok(())
}

fn replaced(state: &State, batch: i64) -> Result<Vec<Part>> {
    if state.is_compaction(batch)? { state.replaced_by(batch) } else { Ok(Vec::new()) }
}

/// Files that the state does not list. Parts of a batch that is being published belong there.
fn tell_foreign(
    layout: &Layout,
    state: &State,
    listed: &[Part],
    mut on_disk: HashSet<PathBuf>,
    whole: &HashSet<String>,
    audit: &mut Audit,
) -> Result<()> {
    for part in listed {
        on_disk.remove(&layout.locate(part));
    }
    for batch in state.unpublished()? {
        // Of a compaction that was not finished, new and old parts belong to the lake.
        for part in state.parts_of(batch)?.into_iter().chain(replaced(state, batch)?) {
            on_disk.remove(&layout.root().join(&part.path));
        }
    }
    let mut foreign: Vec<PathBuf> = on_disk.into_iter().collect();
    foreign.sort();
    let mut other_lakes = HashSet::new();
    for path in foreign {
        let copy_of = fingerprint(&path).ok().and_then(|found| {
            listed.iter().find(|part| (part.bytes, part.xxh3) == found && whole.contains(&part.path))
        });
        if let Some(original) = copy_of {
            let detail = format!("it is a copy of {}, which the state lists", original.path);
            audit.findings.add(FindingKind::DuplicatedPart, &path, &detail);
            continue;
        }
        let detail = match PartReader::open(&path) {
            Err(error) => format!("the state does not list it, and it cannot be read: {error}"),
            Ok(reader) => match reader.note("lake_id") {
                Some(lake_id) if lake_id == state.lake_id() => {
                    "it is of this lake, but the state does not list it".to_owned()
                }
                Some(lake_id) => {
                    other_lakes.insert(lake_id.to_owned());
                    format!("it is of the lake {lake_id}")
                }
                None => "no lake wrote it".to_owned(),
            },
        };
        audit.findings.add(FindingKind::ForeignPart, &path, &detail);
    }
    if whole.is_empty() && !other_lakes.is_empty() {
        let detail = format!("it is of the lake {}, whose parts are not here", state.lake_id());
        audit.findings.add(FindingKind::ForeignState, layout.state_file(), &detail);
    }
    Ok(())
}
