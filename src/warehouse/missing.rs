//! Which models in the lake have no price: what to look for, and how much is missing.

use super::objects::Needed;
use super::{LakeSnapshot, Result, Trying, connection, query};

/// A model, as recorded, whose requests have no price or only a fallback's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingPrice {
    /// The tool.
    pub provider: String,
    /// The vendor as recorded, or empty.
    pub vendor: String,
    /// The model as recorded, or empty.
    pub model: String,
    /// Price mode: a model can have a price in one and not in another.
    pub mode: String,
    /// `unpriced`, or `estimated` where the tool's fallback stands in.
    pub status: String,
    /// Requests.
    pub requests: i64,
    /// Their tokens.
    pub tokens: i64,
    /// UTC day of the first, `YYYY-MM-DD`.
    pub first_day: String,
    /// UTC day of the last.
    pub last_day: String,
}

const SQL: &str = "
SELECT
    provider, coalesce(vendor, ''), coalesce(model, ''), coalesce(price_mode, ''), cost_status, count(*),
    sum(total_tokens)::BIGINT, min(ts_utc)::DATE::VARCHAR, max(ts_utc)::DATE::VARCHAR
FROM priced_requests
WHERE (cost_status = 'unpriced' OR match_kind = 'fallback') AND total_tokens > 0
GROUP BY ALL
ORDER BY 7 DESC, 1, 3";

/// Models without a price, most tokens first.
///
/// # Errors
/// Parts cannot be read.
pub fn missing_prices(lake: &LakeSnapshot) -> Result<Vec<MissingPrice>> {
    let trying = "list the models without a price";
    let connection = connection::in_memory()?;
    query::bind(&connection, lake, &Needed::by("priced_requests"), [])?;
    let mut statement = connection.prepare(SQL).trying(trying)?;
    let rows = statement.query_map([], |row| {
        Ok(MissingPrice {
            provider: row.get(0)?,
            vendor: row.get(1)?,
            model: row.get(2)?,
            mode: row.get(3)?,
            status: row.get(4)?,
            requests: row.get(5)?,
            tokens: row.get(6)?,
            first_day: row.get(7)?,
            last_day: row.get(8)?,
        })
    });
    rows.trying(trying)?.collect::<duckdb::Result<_>>().trying(trying)
}
