//! Reads the hand-made fixtures and checks what the adapter makes of them.

use std::collections::HashMap;
use std::path::Path;

use super::ClaudeCode;
use crate::adapters::SourceAdapter;
use crate::model::rows::PlacedClaim;
use crate::model::tables::TableColumns;
use crate::model::{Counters, RequestKey, Rows};
use crate::source::{ReadLimits, Roots};

const LIMITS: ReadLimits = ReadLimits { slice_bytes: 8 << 20, max_line_bytes: 128 << 20, now: i64::MAX };

fn read_all(roots: &Roots) -> Vec<Rows> {
    let found = ClaudeCode.enumerate(roots);
    found
        .sources
        .iter()
        .map(|source| {
            let mut rows = Rows::new("claude", false);
            let mut checkpoint = None;
            loop {
                let progress = ClaudeCode.read(source, checkpoint.as_ref(), &LIMITS, &mut rows).unwrap();
                checkpoint = progress.checkpoint;
                if !progress.more {
                    break rows;
                }
            }
        })
        .collect()
}

fn settle<'a>(rows: impl Iterator<Item = &'a Rows>) -> (usize, Counters) {
    let mut best: HashMap<RequestKey, PlacedClaim> = HashMap::new();
    for placed in rows.flat_map(|rows| &rows.claims) {
        let held = best.entry(placed.claim.request).or_insert(*placed);
        if placed.claim.standing > held.claim.standing {
            *held = *placed;
        }
    }
    let mut sums = [None; 7];
    for placed in best.values() {
        for (sum, value) in sums.iter_mut().zip(placed.claim.counters.to_array()) {
            if let Some(value) = value {
                *sum = Some(sum.unwrap_or(0) + value);
            }
        }
    }
    (best.len(), Counters::from_array(sums))
}

#[test]
fn corpus() {
    let Some(corpus) = std::env::var_os("AGENTLAKE_CORPUS") else {
        println!("skipped");
        return;
    };
    let corpus = Path::new(&corpus);
    let began = std::time::Instant::now();
    let rows = read_all(&Roots::at_home(&corpus.join("home")));
    let took = began.elapsed();
    let lines: usize = rows.iter().map(|rows| rows.messages.len()).sum();
    println!("{lines} lines in {took:?}");
    println!("{:?}", settle(rows.iter()));
    for part in ["growth/claude", "fixtures/claude"] {
        let mut roots = Roots::default();
        roots.add("claude", corpus.join(part));
        let rows = read_all(&roots);
        println!("{part}: {} files, {:?}", rows.len(), settle(rows.iter()));
        for rows in &rows {
            if !rows.issue_counts.is_empty() {
                println!("{:?} {:?}", rows.sessions.keys().next(), rows.issue_counts);
            }
        }
    }
}
