//! What the rows of `usage` add up to per request, read from parts.

use std::collections::HashMap;
use std::path::Path;

use arrow::array::RecordBatch;

use super::Result;
use super::part_file::{PartReader, integer, integers, request_of, text, texts};
use crate::model::RequestKey;

/// Columns of the counters, in the order of [`crate::model::Counters::to_array`].
pub const COUNTER_COLUMNS: [&str; 7] = [
    "input_tokens",
    "cache_read_tokens",
    "cache_write_5m_tokens",
    "cache_write_1h_tokens",
    "output_tokens",
    "web_search_requests",
    "reasoning_tokens",
];

/// Sums of counters; NULL adds nothing.
pub type Sums = [i64; 7];

/// Sums per request of some parts.
pub type UsageSums = HashMap<RequestKey, Sums>;

/// The rows of one part of `usage`: request and counters.
///
/// # Errors
/// The part cannot be read.
pub fn of_part(path: &Path, provider: &str) -> Result<Vec<(RequestKey, Sums)>> {
    let mut wanted = vec!["request_key", "session_id"];
    wanted.extend(COUNTER_COLUMNS);
    let reader = PartReader::open(path)?;
    let mut found = Vec::with_capacity(usize::try_from(reader.rows()).unwrap_or(0));
    for rows in reader.columns(&wanted)? {
        let rows = rows?;
        let (Some(keys), Some(sessions)) = (texts(&rows, "request_key"), texts(&rows, "session_id")) else { continue };
        for row in 0..rows.num_rows() {
            let request = request_of(provider, text(keys, row).unwrap_or_default(), text(sessions, row));
            found.push((request, counters(&rows, row)));
        }
    }
    Ok(found)
}

/// The counters of one row; NULL is zero.
#[must_use]
pub fn counters(rows: &RecordBatch, row: usize) -> Sums {
    COUNTER_COLUMNS.map(|name| integers(rows, name).and_then(|column| integer(column, row)).unwrap_or(0))
}

/// Adds one row's counters to a sum.
pub fn add(sums: &mut Sums, counters: Sums) {
    for (sum, count) in sums.iter_mut().zip(counters) {
        *sum = sum.saturating_add(count);
    }
}
