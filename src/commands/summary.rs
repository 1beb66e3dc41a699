//! The summary of an export, for people and for programs, and how numbers are written for people.

use std::fmt::Write as _;
use std::path::Path;

use super::places;
use crate::ingest::RunSummary;
use crate::lake::Layout;
use crate::lake::compact::Compacted;

/// Names of the counters, in the order of [`crate::model::Counters::to_array`].
const COUNTERS: [&str; 7] = [
    "input_tokens",
    "cache_read_tokens",
    "cache_write_5m_tokens",
    "cache_write_1h_tokens",
    "output_tokens",
    "web_search_requests",
    "reasoning_tokens",
];

/// What a run added to the bill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PricedRun {
    /// USD, decimal text, exact.
    pub usd: String,
    /// Tokens without a price, which are missing from it.
    pub unpriced_tokens: i64,
    /// The prices that were used.
    pub basis: String,
}

/// What an export tells at its end.
#[derive(Debug)]
pub struct ExportSummary<'a> {
    /// The lake.
    pub layout: &'a Layout,
    /// What the run did.
    pub run: &'a RunSummary,
    /// Batches of an earlier run that this one finished.
    pub recovered: &'a [i64],
    /// Cost of what was added, USD, and tokens without a price; `None` where DuckDB was not asked.
    pub cost: Option<PricedRun>,
    /// What compaction did at the end.
    pub compacted: Compacted,
    /// Sentences that people should read.
    pub warnings: &'a [String],
}

impl ExportSummary<'_> {
    /// For people.
    #[must_use]
    pub fn as_text(&self) -> String {
        let run = self.run;
        let mut lines = Vec::new();
        let (sources, changed) = (count(run.sources), count(run.changed));
        lines.push(format!("{sources} sources, {changed} changed, {} read", size(run.bytes)));
        if run.rows.is_empty() {
            lines.push("nothing new".to_owned());
        } else {
            let rows: Vec<String> = run.rows.iter().map(|(table, rows)| format!("{table} {}", count(*rows))).collect();
            lines.push(format!("rows: {}", rows.join(", ")));
            let [input, read, write_5m, write_1h, output, searches, _] = run.added.counters;
            let searches = if searches == 0 { String::new() } else { format!(", searches {}", signed(searches)) };
            lines.push(format!(
                "{} requests: input {}, cache write {}, cache read {}, output {}{searches}",
                count(run.added.requests),
                signed(input),
                signed(write_5m + write_1h),
                signed(read),
                signed(output),
            ));
        }
        if let Some(PricedRun { usd, unpriced_tokens, basis }) = &self.cost {
            let gap = match unpriced_tokens {
                0 => String::new(),
                tokens => format!(" ({} tokens have no price)", signed(*tokens)),
            };
            lines.push(format!("cost added: ${} at list prices{gap}", cents(usd)));
            lines.push(basis.clone());
        }
        for (kind, number) in &run.issues {
            lines.push(format!("issue: {kind} × {}", count(*number)));
        }
        for batch in self.recovered {
            lines.push(format!("finished batch {batch} of a run that was killed"));
        }
        lines.extend(merged(&self.compacted));
        lines.extend(self.warnings.iter().map(|warning| format!("warning: {warning}")));
        if !run.batches.is_empty() {
            lines.push(format!(
                "{} parts, {} in {}",
                count(run.parts),
                size(run.part_bytes),
                places::short(self.layout.root())
            ));
        }
        lines.push(format!("query: {}", self.layout.glob("usage")));
        lines.join("\n") + "\n"
    }

    /// For programs.
    #[must_use]
    pub fn as_json(&self) -> serde_json::Value {
        let run = self.run;
        let added: serde_json::Map<String, serde_json::Value> =
            COUNTERS.iter().zip(run.added.counters).map(|(name, value)| ((*name).to_owned(), value.into())).collect();
        serde_json::json!({
            "lake": path_text(self.layout.root()),
            "sources": run.sources,
            "sources_changed": run.changed,
            "bytes_read": run.bytes,
            "batches": run.batches.len(),
            "rows": run.rows,
            "requests_added": run.added.requests,
            "tokens_added": added,
            "cost_added_usd": self.cost.as_ref().map(|cost| &cost.usd),
            "tokens_without_price": self.cost.as_ref().map(|cost| cost.unpriced_tokens),
            "price_basis": self.cost.as_ref().map(|cost| &cost.basis),
            "issues": run.issues,
            "parts": run.parts,
            "part_bytes": run.part_bytes,
            "compacted": merged_as_json(&self.compacted),
            "recovered_batches": self.recovered,
            "warnings": self.warnings,
            "query": self.layout.glob("usage"),
        })
    }
}

/// What compaction did, for people; `None` if it did nothing.
#[must_use]
pub fn merged(compacted: &Compacted) -> Option<String> {
    let Compacted { partitions, parts_before, parts_after, bytes_before, bytes_after, rows_dropped, upgraded } =
        *compacted;
    if partitions == 0 {
        return None;
    }
    let mut text = format!(
        "merged {} parts of {} partitions into {}, {} into {}",
        count(parts_before),
        count(partitions),
        count(parts_after),
        size(bytes_before),
        size(bytes_after),
    );
    if rows_dropped > 0 {
        let _ = write!(text, "; {} rows had newer versions", count(rows_dropped));
    }
    if upgraded > 0 {
        let _ = write!(text, "; {} parts had an older schema", count(upgraded));
    }
    Some(text)
}

/// The same for programs.
#[must_use]
pub fn merged_as_json(compacted: &Compacted) -> serde_json::Value {
    serde_json::json!({
        "partitions": compacted.partitions,
        "parts_before": compacted.parts_before,
        "parts_after": compacted.parts_after,
        "bytes_before": compacted.bytes_before,
        "bytes_after": compacted.bytes_after,
        "rows_dropped": compacted.rows_dropped,
        "parts_upgraded": compacted.upgraded,
    })
}

/// An exact amount, cut to hundredths of a cent for people.
fn cents(usd: &str) -> &str {
    let end = usd.find('.').map_or(usd.len(), |point| point + 5);
    usd.get(..end).unwrap_or(usd)
}

fn path_text(path: &Path) -> String {
    path.display().to_string()
}

/// A count with a comma between thousands.
#[must_use]
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The same for a number that may be negative.
#[must_use]
pub fn signed(number: i64) -> String {
    let sign = if number < 0 { "−" } else { "" };
    format!("{sign}{}", count(number.unsigned_abs()))
}

/// A number of bytes, in the unit that leaves up to three digits before the point.
#[must_use]
pub fn size(bytes: u64) -> String {
    #[allow(clippy::cast_precision_loss, reason = "three digits are shown")]
    let mut value = bytes as f64;
    for unit in ["B", "kB", "MB", "GB"] {
        if value < 1000.0 {
            return if unit == "B" { format!("{bytes} B") } else { format!("{value:.1} {unit}") };
        }
        value /= 1000.0;
    }
    format!("{value:.1} TB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(999), "999");
        assert_eq!(signed(-1000), "−1,000");
        assert_eq!(size(797_123_456), "797.1 MB");
        assert_eq!(size(12), "12 B");
    }
}
