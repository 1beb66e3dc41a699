//! Tests of the adapter over whole files: the fixtures with their totals, every split of them into runs, hostile bytes,
//! and, where `AGENTLAKE_CORPUS` names a folder of real files, those.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use arrow::array::{Array, ArrayRef, Int64Array, StringArray};

use super::Codex;
use crate::adapters::SourceAdapter;
use crate::model::claim::Counters;
use crate::model::tables::{
    ISSUES, MESSAGES, RECORD_COLUMNS, TOOL_CALLS, TOOL_RESULTS, TableColumns, TableSpec, USAGE_COPIES,
};
use crate::model::{RequestKey, Rows, SessionFacts, Standing};
use crate::source::{Checkpoint, ReadLimits, Roots, Source};

/// A run long after every fixture was written, so that files are final.
const NOW: i64 = 4_000_000_000_000_000;

fn limits(slice_bytes: u64) -> ReadLimits {
    ReadLimits { slice_bytes, max_line_bytes: 64 << 20, now: NOW }
}

/// Rows of one table: column name to values as text.
type Table = Vec<BTreeMap<&'static str, String>>;

fn table(spec: &TableSpec, columns: &mut impl TableColumns) -> Table {
    let arrays = columns.finish();
    let names: Vec<&'static str> = RECORD_COLUMNS.iter().chain(spec.columns).map(|column| column.name).collect();
    let len = arrays.first().map_or(0, |array| array.len());
    (0..len)
        .map(|row| {
            let values = names.iter().zip(&arrays).filter_map(|(name, array)| Some((*name, value(array, row)?)));
            values.collect()
        })
        .collect()
}

fn value(array: &ArrayRef, row: usize) -> Option<String> {
    if array.is_null(row) {
        return None;
    }
    let any = array.as_any();
    if let Some(texts) = any.downcast_ref::<StringArray>() {
        return Some(texts.value(row).to_owned());
    }
    if let Some(numbers) = any.downcast_ref::<Int64Array>() {
        return Some(numbers.value(row).to_string());
    }
    Some(format!("{:?}", array.slice(row, 1)))
}

/// Everything that was read of one or more sources.
#[derive(Debug, Default, PartialEq)]
struct Read {
    messages: Table,
    tool_calls: Table,
    tool_results: Table,
    issues: Table,
    claims: Vec<(RequestKey, Standing, Counters, bool)>,
    claim_rows: Table,
    sessions: BTreeMap<String, SessionFacts>,
}

impl Read {
    fn absorb(&mut self, mut rows: Rows) {
        self.messages.extend(table(&MESSAGES, &mut rows.messages));
        self.tool_calls.extend(table(&TOOL_CALLS, &mut rows.tool_calls));
        self.tool_results.extend(table(&TOOL_RESULTS, &mut rows.tool_results));
        self.issues.extend(table(&ISSUES, &mut rows.issues));
        self.claim_rows.extend(table(&USAGE_COPIES, &mut rows.claim_rows));
        let claims = rows.claims.iter().map(|placed| &placed.claim);
        self.claims.extend(claims.map(|claim| (claim.request, claim.standing, claim.counters, claim.never.is_some())));
        for (id, facts) in rows.sessions {
            self.sessions.entry(id).or_default().absorb(facts);
        }
    }

    /// What a ledger makes of the claims: the greatest standing of each request, once.
    fn counted(&self) -> (usize, Counters) {
        let mut standing: BTreeMap<RequestKey, (Standing, Counters)> = BTreeMap::new();
        for &(request, rank, counters, never) in &self.claims {
            if !never && standing.get(&request).is_none_or(|(held, _)| rank > *held) {
                standing.insert(request, (rank, counters));
            }
        }
        let sum = standing.values().fold(Counters::default(), |sum, (_, counters)| {
            let mut total = sum.to_array();
            for (slot, value) in total.iter_mut().zip(counters.to_array()) {
                *slot = slot.map_or(value, |slot| Some(slot + value.unwrap_or(0)));
            }
            Counters::from_array(total)
        });
        (standing.len(), sum)
    }
}

/// Reads a source to its end in slices of a size.
fn read_source(source: &Source, slice_bytes: u64) -> Read {
    let mut read = Read::default();
    let mut checkpoint: Option<Checkpoint> = None;
    loop {
        let mut rows = Rows::new("codex", false);
        let progress = Codex.read(source, checkpoint.as_ref(), &limits(slice_bytes), &mut rows).unwrap();
        assert!(!progress.reread, "{} was not recognised", source.path.display());
        read.absorb(rows);
        checkpoint = progress.checkpoint;
        if !progress.more {
            return read;
        }
    }
}

fn corpus() -> Option<PathBuf> {
    let corpus = std::env::var_os("AGENTLAKE_CORPUS").map(PathBuf::from);
    if corpus.is_none() {
        println!("AGENTLAKE_CORPUS is not set: real files were not read");
    }
    corpus
}

fn sources_at_home(home: &Path) -> Vec<Source> {
    Codex.enumerate(&Roots::at_home(home)).sources
}

fn sources_below(folder: &Path) -> Vec<Source> {
    let mut roots = Roots::default();
    roots.add("codex", folder.to_owned());
    Codex.enumerate(&roots).sources
}

#[test]
fn corpus_home_has_its_known_totals() {
    let Some(corpus) = corpus() else { return };
    let mut all = Read::default();
    for source in sources_at_home(&corpus.join("home")) {
        let mut rows = Rows::new("codex", false);
        Codex.read(&source, None, &limits(1 << 30), &mut rows).unwrap();
        all.absorb(rows);
    }
    let (requests, sum) = all.counted();
    println!(
        "messages {} calls {} results {} issues {:?}",
        all.messages.len(),
        all.tool_calls.len(),
        all.tool_results.len(),
        all.issues
    );
    for (id, facts) in &all.sessions {
        println!("{id} {facts:?}");
    }
    assert_eq!(requests, 765);
    assert_eq!(sum.input, Some(3_734_809));
    assert_eq!(sum.output, Some(282_350));
    assert_eq!(sum.cache_read, Some(61_549_184));
    assert_eq!(sum.cache_write_5m.unwrap_or(0), 0);
}
