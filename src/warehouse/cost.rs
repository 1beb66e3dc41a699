//! What a run added to the bill, for the summary at its end.

use std::collections::BTreeSet;

use duckdb::Connection;

use super::objects::Needed;
use super::usage_parts::{UsageParts, partition};
use super::{LakeSnapshot, Result, Trying, connection, query, stored};

/// What batches added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CostAdded {
    /// USD, decimal text, exact.
    pub usd: String,
    /// Tokens without a price, which are missing from it.
    pub unpriced_tokens: i64,
}

/// What `batches` added: the cost of the days they touch, with them and without.
///
/// A later row of a request lies in the partition of its first, so those partitions are all that must be read. The parts of
/// the batches must not have been merged with older ones yet.
///
/// # Errors
/// Parts cannot be read.
pub fn cost_added(lake: &LakeSnapshot, batches: &BTreeSet<i64>) -> Result<CostAdded> {
    let touched: BTreeSet<_> =
        lake.parts_of("usage").filter(|part| batches.contains(&part.batch)).map(partition).collect();
    let mut with = lake.clone();
    with.parts.retain(|part| part.table == "usage" && touched.contains(&partition(part)));
    let connection = connection::in_memory()?;
    let needed = Needed::by("priced_requests");
    query::bind(&connection, &with, &needed, [])?;
    let (usd, unpriced_tokens) = total(&connection)?;
    let mut without = with;
    without.parts.retain(|part| !batches.contains(&part.batch));
    stored::replace_by_views(&connection, &needed, &without, &UsageParts::of(&without)?)?;
    let (usd_before, unpriced_before) = total(&connection)?;
    Ok(CostAdded { usd: decimal(usd - usd_before), unpriced_tokens: unpriced_tokens - unpriced_before })
}

/// Pico-dollars, and tokens without a price.
fn total(connection: &Connection) -> Result<(i128, i64)> {
    let sql = "SELECT (coalesce(sum(cost_usd), 0) * 1000000000000)::HUGEINT,
                      coalesce(sum(total_tokens) FILTER (cost_status = 'unpriced'), 0)::BIGINT
               FROM priced_requests";
    connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).trying("add up what was added")
}

fn decimal(picodollars: i128) -> String {
    let sign = if picodollars < 0 { "-" } else { "" };
    let magnitude = picodollars.unsigned_abs();
    let unit = 1_000_000_000_000;
    format!("{sign}{}.{:012}", magnitude / unit, magnitude % unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warehouse::tests::mock::{MockLake, Usage};

    #[test]
    fn a_run_adds_what_its_batches_changed() {
        let mut lake = MockLake::new();
        let usage = |ts, model| Usage { ts, model, rest: ", 1000000 AS output_tokens" };
        let first = usage("2026-11-01 12:00:00", "claude-opus-5");
        let growth = format!(
            "SELECT * REPLACE (1 AS rev, 'growth' AS status, -400000 AS output_tokens) FROM ({})",
            first.select("a")
        );
        lake.part("usage", "claude", "2026-11-01", 1, &first.select("a"))
            .part("usage", "claude", "2026-11-01", 2, &growth)
            .part("usage", "claude", "2026-11-02", 2, &usage("2026-11-02 12:00:00", "claude-opus-9").select("b"));
        let added = |batches: &[i64]| cost_added(&lake.snapshot, &batches.iter().copied().collect()).unwrap();
        assert_eq!(added(&[2]), CostAdded { usd: "-10.000000000000".to_owned(), unpriced_tokens: 1_000_000 });
        assert_eq!(added(&[1, 2]), CostAdded { usd: "15.000000000000".to_owned(), unpriced_tokens: 1_000_000 });
        assert_eq!(added(&[]), CostAdded { usd: "0.000000000000".to_owned(), unpriced_tokens: 0 });
        assert_eq!(added(&[3]), added(&[]));
    }
}
