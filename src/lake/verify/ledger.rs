//! The ledger against the parts: each entry's counters are the sum of its request's rows in `usage`.

use std::collections::{HashMap, HashSet};

use rayon::prelude::*;

use super::{Audit, Finding, FindingKind};
use crate::lake::part_file::{PartReader, request_of, text, texts};
use crate::lake::state::{Part, State};
use crate::lake::usage_sums::{self, Sums, UsageSums};
use crate::lake::{Layout, Result};
use crate::model::RequestKey;
use crate::model::tables::USAGE;

/// Compares both, if every part of `usage` is `whole`: with one that is not, every request in it would be a finding.
pub(super) fn check(
    layout: &Layout,
    state: &State,
    listed: &[Part],
    whole: HashSet<String>,
    audit: &mut Audit,
) -> Result<()> {
    let parts: Vec<&Part> = listed.iter().filter(|part| part.table == USAGE.name).collect();
    if parts.iter().any(|part| !whole.contains(&part.path)) {
        audit
            .notes
            .push("the ledger was not compared with the rows of usage, since parts of it are not whole".to_owned());
        return Ok(());
    }
    drop(whole);
    let mut sums = sums_of(layout, &parts)?;
    let unpublished: HashSet<i64> = state.unpublished()?.into_iter().collect();
    // Per request: what the ledger holds, and what the rows add up to.
    let mut differing: HashMap<RequestKey, (Option<Sums>, Option<Sums>)> = HashMap::new();
    state.each_request(|request, counters, batch| {
        audit.requests += 1;
        let rows = sums.remove(&request);
        // What an unpublished batch brought is in the ledger, and its rows are not yet in a listed part.
        if rows != Some(counters) && !unpublished.contains(&batch) {
            differing.insert(request, (Some(counters), rows));
        }
    })?;
    differing.extend(sums.into_iter().map(|(request, rows)| (request, (None, Some(rows)))));
    if differing.is_empty() {
        return Ok(());
    }
    let names = names_of(layout, &parts, &differing)?;
    let mut differing: Vec<_> = differing.into_iter().collect();
    differing.sort_unstable_by_key(|(request, _)| *request);
    for (request, (ledger, rows)) in differing {
        let subject = names.get(&request).cloned().unwrap_or_else(|| format!("request {:032x}", request.0));
        let detail = match (ledger, rows) {
            (Some(ledger), Some(rows)) => {
                format!("the ledger holds {}, its rows in usage add up to {}", told(ledger), told(rows))
            }
            (Some(ledger), None) => format!("the ledger holds {}, and there is no row in usage", told(ledger)),
            (None, rows) => {
                format!(
                    "its rows in usage add up to {}, and the ledger does not know it",
                    told(rows.unwrap_or_default())
                )
            }
        };
        audit.findings.push(Finding { kind: FindingKind::LedgerMismatch, subject, detail });
    }
    Ok(())
}

/// Adds up the rows of all parts.
fn sums_of(layout: &Layout, parts: &[&Part]) -> Result<UsageSums> {
    let mut sums = UsageSums::new();
    // Some parts at a time, so that not all rows stand in memory at once.
    for some in parts.chunks(64) {
        let read: Vec<Vec<(RequestKey, Sums)>> = some
            .par_iter()
            .map(|part| usage_sums::of_part(&layout.locate(part), &part.provider))
            .collect::<Result<_>>()?;
        for (request, counters) in read.into_iter().flatten() {
            usage_sums::add(sums.entry(request).or_default(), counters);
        }
    }
    Ok(sums)
}

/// The texts of some requests.
fn names_of<T>(
    layout: &Layout,
    parts: &[&Part],
    wanted: &HashMap<RequestKey, T>,
) -> Result<HashMap<RequestKey, String>> {
    let mut names = HashMap::new();
    for part in parts {
        for rows in PartReader::open(&layout.locate(part))?.columns(&["request_key", "session_id"])? {
            let rows = rows?;
            let (Some(keys), Some(sessions)) = (texts(&rows, "request_key"), texts(&rows, "session_id")) else {
                continue;
            };
            for row in 0..rows.num_rows() {
                let name = text(keys, row).unwrap_or_default();
                let request = request_of(&part.provider, name, text(sessions, row));
                if wanted.contains_key(&request) {
                    names.entry(request).or_insert_with(|| format!("{} {name}", part.provider));
                }
            }
        }
    }
    Ok(names)
}

/// Counters for people.
pub(crate) fn told(sums: Sums) -> String {
    let [input, read, write_5m, write_1h, output, searches, _] = sums;
    let writes = write_5m.saturating_add(write_1h);
    let searches = if searches == 0 { String::new() } else { format!(", searches {searches}") };
    format!("input {input}, cache read {read}, cache write {writes}, output {output}{searches}")
}
