//! Between the lake's state and the warehouse: which parts count, and the database after an export.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;

use super::query::{self, QueryArguments};
use super::summary::{PricedRun, count};
use crate::cli::prices::PricesMissingArgs;
use crate::cli::query::{CostSource, QueryArgs, QueryFormat};
use crate::cli::{PricesArgs, SummaryFormat};
use crate::ingest::RunSummary;
use crate::lake::{Lake, Layout, State};
use crate::pricing::{self, PriceTable};
use crate::warehouse::{self, CostAdded, CostMode, Format, LakeSnapshot, Part, Target};

use super::{own_prices, places, time_zone};

/// The committed parts of a lake, as its state lists them.
///
/// # Errors
/// The state cannot be read.
pub fn snapshot(layout: &Layout, state: &State) -> Result<LakeSnapshot> {
    let listed = state.parts()?;
    let merged_batches = if listed.iter().any(|part| part.first_batch < part.last_batch) {
        state.batches()?.into_iter().collect()
    } else {
        BTreeSet::new()
    };
    // Asked after the parts: whatever is not under way by now has its files in place.
    let under_way = state.unpublished()?;
    let parts = listed.into_iter().map(|part| Part {
        path: if under_way.contains(&part.batch) { layout.locate(&part) } else { layout.root().join(&part.path) },
        table: part.table,
        provider: part.provider,
        batch: part.last_batch,
        first_batch: part.first_batch,
        schema_version: part.schema_version,
    });
    Ok(LakeSnapshot {
        lake_id: state.lake_id().to_owned(),
        generation: state.generation()?,
        parts: parts.collect(),
        merged_batches,
        revising_providers: crate::adapters::restating_slugs().map(str::to_owned).collect(),
        database: Some(layout.database()),
        ..LakeSnapshot::default()
    })
}

/// Brings `agentlake.duckdb` up to date and prices what a run added: USD, and tokens that have no price. Without new
/// batches nothing is opened, if the database is there.
///
/// # Errors
/// The state or the database cannot be read or written.
pub fn refresh(lake: &Lake, run: &RunSummary, prices: &PricesArgs) -> Result<Option<PricedRun>> {
    let has_news = !run.batches.is_empty() || !lake.recovered.is_empty();
    let prices = priced_with(prices)?;
    let wanted = fingerprint(prices.as_deref())?;
    // Other prices are news too: the database and the files beside it hold them.
    let is_priced = fs_err::read_to_string(prices_note(lake)).is_ok_and(|noted| noted == wanted);
    if !has_news && is_priced && lake.layout.database().exists() {
        return Ok(None);
    }
    let snapshot = fill(lake, prices)?;
    if run.added.requests == 0 {
        return Ok(None);
    }
    let CostAdded { usd, unpriced_tokens } = warehouse::cost_added(&snapshot, &run.batches)?;
    Ok(Some(PricedRun { usd, unpriced_tokens, basis: snapshot.price_table()?.basis().to_string() }))
}

/// Brings `agentlake.duckdb` up to date with a lake that was repaired or rebuilt, whatever was noted of it.
///
/// # Errors
/// The state or the database cannot be read or written.
pub fn reload(lake: &Lake, prices: &PricesArgs) -> Result<()> {
    fill(lake, priced_with(prices)?).map(|_| ())
}

/// Fills the database and the price files, and notes with which prices.
fn fill(lake: &Lake, prices: Option<Arc<PriceTable>>) -> Result<LakeSnapshot> {
    let (database, scratch) = (lake.layout.database(), lake.layout.private());
    let folder = lake.layout.root().join("prices");
    let noted = fingerprint(prices.as_deref())?;
    let snapshot = LakeSnapshot { prices, ..snapshot(&lake.layout, &lake.state)? };
    warehouse::refresh(Target { database: &database, scratch: &scratch, prices: &folder }, &snapshot)?;
    fs_err::write(prices_note(lake), noted)?;
    Ok(snapshot)
}

/// Names a price table by its content; `None`: the one that the build carries.
fn fingerprint(prices: Option<&PriceTable>) -> Result<String> {
    Ok(match prices {
        Some(table) => table.fingerprint(),
        None => PriceTable::builtin()?.fingerprint(),
    }
    .to_owned())
}

/// Where a lake notes which prices its database holds.
fn prices_note(lake: &Lake) -> PathBuf {
    lake.layout.private().join("prices.hash")
}

/// The prices of a command line, where they differ from those that the build carries.
fn priced_with(arguments: &PricesArgs) -> Result<Option<Arc<PriceTable>>> {
    Ok(match own_prices::table(arguments)? {
        Cow::Borrowed(_) => None,
        Cow::Owned(table) => Some(Arc::new(table)),
    })
}

/// `agentlake prices missing`: models in the lake without a price, with the nearest names that have one.
///
/// # Errors
/// There is no lake, or it cannot be read.
pub fn missing_prices(arguments: &PricesMissingArgs) -> Result<String> {
    let layout = Layout::new(&places::lake(&arguments.lake)?);
    if !layout.state_file().exists() {
        anyhow::bail!(
            "there is no lake in {}; run `agentlake export` first, or name one with --lake",
            places::short(layout.root())
        );
    }
    let table = own_prices::table(&arguments.prices)?;
    let snapshot = snapshot(&layout, &State::open_read_only(&layout)?)?;
    let snapshot = LakeSnapshot { prices: priced_with(&arguments.prices)?, ..snapshot };
    let missing = warehouse::missing_prices(&snapshot)?;
    let near = |model: &str| pricing::nearest(&table, model, 3);
    if arguments.format == SummaryFormat::Json {
        let rows: Vec<_> = missing
            .iter()
            .map(|row| {
                serde_json::json!({
                    "provider": row.provider, "vendor": row.vendor, "model": row.model, "mode": row.mode, "status": row.status,
                    "requests": row.requests, "tokens": row.tokens, "first_day": row.first_day, "last_day": row.last_day,
                    "nearest": near(&row.model),
                })
            })
            .collect();
        let json = serde_json::json!({ "price_basis": table.basis().to_string(), "missing": rows });
        return Ok(format!("{json:#}\n"));
    }
    let mut text = String::new();
    for row in &missing {
        let vendor = if row.vendor.is_empty() { String::new() } else { format!(" of {}", row.vendor) };
        let mode = if row.mode == "standard" { String::new() } else { format!(" in mode {}", row.mode) };
        let name = if row.model.is_empty() { "(no model recorded)" } else { &row.model };
        let _ = writeln!(
            text,
            "{} {name}{vendor}{mode}: {} tokens in {} requests, {} to {}{}",
            row.provider,
            count(u64::try_from(row.tokens).unwrap_or(0)),
            count(u64::try_from(row.requests).unwrap_or(0)),
            row.first_day,
            row.last_day,
            if row.status == "estimated" { "; estimated by the tool's fallback" } else { "" },
        );
        for key in near(&row.model) {
            let _ = writeln!(text, "    near to it: {key}");
        }
    }
    if missing.is_empty() {
        text.push_str("every request with tokens has a price\n");
    } else {
        text.push_str("\nA [[price]] or [[alias]] in prices.toml gives them one; `agentlake prices show MODEL` shows how a name is read.\n");
    }
    let _ = writeln!(text, "\n{}", table.basis());
    Ok(text)
}

/// `agentlake query` with its command line.
///
/// # Errors
/// There is no lake, the arguments contradict each other, or the query fails.
pub fn query(arguments: &QueryArgs) -> Result<()> {
    let asked = QueryArguments {
        name: arguments.name.clone(),
        sql: arguments.sql.clone(),
        file: arguments.file.clone(),
        since: arguments.since,
        until: arguments.until,
        tz: Some(time_zone::chosen(arguments.tz.as_deref())?),
        week_start: arguments.week_start,
        parameters: arguments.param.clone(),
        queries: arguments.queries.clone(),
        cost: match arguments.cost {
            CostSource::Auto => CostMode::Auto,
            CostSource::Computed => CostMode::Computed,
            CostSource::Reported => CostMode::Reported,
        },
        prices_at: arguments.prices_at,
        providers: arguments.provider.clone(),
        project: arguments.project.clone(),
        format: arguments.format.map(|format| match format {
            QueryFormat::Table => Format::Table,
            QueryFormat::Csv => Format::Csv,
            QueryFormat::Json => Format::Json,
            QueryFormat::Ndjson => Format::NdJson,
            QueryFormat::Markdown => Format::Markdown,
            QueryFormat::Parquet => Format::Parquet,
        }),
        output: arguments.output.clone(),
    };
    let layout = Layout::new(&places::lake(&arguments.lake)?);
    if !asked.asks() {
        return query::run(&asked, &LakeSnapshot::default(), &mut std::io::stdout().lock());
    }
    if !layout.state_file().exists() {
        anyhow::bail!(
            "there is no lake in {}; run `agentlake export` first, or name one with --lake",
            places::short(layout.root())
        );
    }
    let prices = priced_with(&arguments.prices)?;
    let mut tries = 0;
    loop {
        let snapshot = snapshot(&layout, &State::open_read_only(&layout)?)?;
        let lake = LakeSnapshot { prices: prices.clone(), ..snapshot };
        let mut output = Output { out: std::io::stdout().lock(), is_begun: false };
        let answered = query::run(&asked, &lake, &mut output);
        tries += 1;
        let is_outrun = || lake.parts.iter().any(|part| !part.path.exists());
        // Compaction took parts away between the list and the reading; there is a new list now.
        if answered.is_err() && !output.is_begun && tries < MAX_TRIES && is_outrun() {
            continue;
        }
        return answered;
    }
}

/// How often a query is asked again because compaction replaced its parts meanwhile.
const MAX_TRIES: u32 = 10;

/// Notes whether anything was written.
struct Output<W> {
    out: W,
    is_begun: bool,
}

impl<W: std::io::Write> std::io::Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.is_begun = true;
        self.out.write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}
