//! The ids of a lake's rows, to tell which of them were seen somewhere else: eight bytes and a bit per row.

use std::collections::HashMap;

use rayon::prelude::*;

use super::part_file::{PartReader, id, short, text, texts};
use super::state::Part;
use super::{Layout, Result};
use crate::model::tables::{MESSAGES, SESSIONS, TOOL_CALLS, TOOL_RESULTS, TableSpec, USAGE, USAGE_COPIES};

/// Tables with one row per thing that stands in a source.
pub const ROW_TABLES: [&TableSpec; 3] = [&MESSAGES, &TOOL_CALLS, &TOOL_RESULTS];
/// Parts that are read at once.
const PARTS_AT_ONCE: usize = 64;

/// Ids by table; those of `usage_copies` stand with those of `usage`, since a claim lands in either.
#[derive(Debug, Default)]
pub struct LakeIds {
    tables: HashMap<&'static str, Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    /// Halves of ids, ascending, each once.
    ids: Vec<u64>,
    seen: Vec<bool>,
}

impl LakeIds {
    /// Reads the ids of all parts that can be read.
    ///
    /// # Errors
    /// None at present: what cannot be read is `verify`'s to tell.
    pub fn read(layout: &Layout, parts: &[Part]) -> Result<Self> {
        let mut tables: HashMap<&'static str, Seen> = HashMap::new();
        for table in [&MESSAGES, &TOOL_CALLS, &TOOL_RESULTS, &USAGE, &USAGE_COPIES, &SESSIONS] {
            let parts: Vec<&Part> = parts.iter().filter(|part| part.table == table.name).collect();
            let name = if table.name == USAGE_COPIES.name { USAGE.name } else { table.name };
            let seen = tables.entry(name).or_default();
            for some in parts.chunks(PARTS_AT_ONCE) {
                let read: Vec<Vec<u64>> =
                    some.par_iter().map(|part| ids_of(layout, part).unwrap_or_default()).collect();
                seen.ids.extend(read.into_iter().flatten());
            }
        }
        for seen in tables.values_mut() {
            seen.ids.par_sort_unstable();
            seen.ids.dedup();
            seen.seen = vec![false; seen.ids.len()];
        }
        Ok(Self { tables })
    }

    /// Marks an id as seen; false if the lake does not have it.
    pub fn see(&mut self, table: &str, event: u128) -> bool {
        let Some(table) = self.tables.get_mut(table) else { return false };
        let Ok(at) = table.ids.binary_search(&short(event)) else { return false };
        if let Some(seen) = table.seen.get_mut(at) {
            *seen = true;
        }
        true
    }

    fn is_unseen(&self, table: &str, event: u128) -> bool {
        let at = |table: &Seen| table.ids.binary_search(&short(event)).ok().and_then(|at| table.seen.get(at).copied());
        self.tables.get(table).and_then(at) == Some(false)
    }

    /// Shows `source_path` and `host` of each row of [`ROW_TABLES`] that was not seen.
    ///
    /// # Errors
    /// A part cannot be read.
    pub fn each_unseen(&self, layout: &Layout, parts: &[Part], mut show: impl FnMut(&str, &str)) -> Result<()> {
        for table in ROW_TABLES {
            let all_seen = self.tables.get(table.name).is_none_or(|table| table.seen.iter().all(|seen| *seen));
            for part in parts.iter().filter(|part| !all_seen && part.table == table.name) {
                let Ok(reader) = PartReader::open(&layout.locate(part)) else { continue };
                for rows in reader.columns(&["event_id", "source_path", "host"])? {
                    let rows = rows?;
                    let columns = (texts(&rows, "event_id"), texts(&rows, "source_path"), texts(&rows, "host"));
                    let (Some(events), Some(paths), Some(hosts)) = columns else { continue };
                    for row in 0..rows.num_rows() {
                        if self.is_unseen(table.name, id(text(events, row).unwrap_or_default())) {
                            show(text(paths, row).unwrap_or_default(), text(hosts, row).unwrap_or_default());
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

fn ids_of(layout: &Layout, part: &Part) -> Result<Vec<u64>> {
    let reader = PartReader::open(&layout.locate(part))?;
    let mut ids = Vec::with_capacity(usize::try_from(reader.rows()).unwrap_or(0));
    for rows in reader.columns(&["event_id"])? {
        let rows = rows?;
        let events = texts(&rows, "event_id");
        ids.extend(events.into_iter().flatten().map(|event| short(id(event.unwrap_or_default()))));
    }
    Ok(ids)
}
