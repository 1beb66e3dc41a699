//! Between the lake's state and the warehouse: which parts count, and the database after an export.

use anyhow::Result;

use super::query::{self, QueryArguments};
use crate::cli::{QueryArgs, QueryFormat};
use crate::ingest::RunSummary;
use crate::lake::{Lake, Layout, State};
use crate::warehouse::{self, CostAdded, Format, LakeSnapshot, Part, Target};

use super::places;

/// The committed parts of a lake, as its state lists them.
///
/// # Errors
/// The state cannot be read.
pub fn snapshot(layout: &Layout, state: &State) -> Result<LakeSnapshot> {
    let parts = state.parts()?.into_iter().map(|part| Part {
        path: layout.root().join(&part.path),
        table: part.table,
        provider: part.provider,
        batch: part.batch,
        schema_version: part.schema_version,
    });
    Ok(LakeSnapshot {
        lake_id: state.lake_id().to_owned(),
        generation: state.generation()?,
        parts: parts.collect(),
        revising_providers: crate::adapters::restating_slugs().map(str::to_owned).collect(),
        database: Some(layout.database()),
    })
}

/// Brings `agentlake.duckdb` up to date and prices what a run added: USD, and tokens that have no price. Without new
/// batches nothing is opened, if the database is there.
///
/// # Errors
/// The state or the database cannot be read or written.
pub fn refresh(lake: &Lake, run: &RunSummary) -> Result<Option<(String, i64)>> {
    let database = lake.layout.database();
    let has_news = !run.batches.is_empty() || !lake.recovered.is_empty();
    if !has_news && database.exists() {
        return Ok(None);
    }
    let snapshot = snapshot(&lake.layout, &lake.state)?;
    let target = Target { database: &database, scratch: &lake.layout.private() };
    warehouse::refresh(target, &snapshot)?;
    if run.added.requests == 0 {
        return Ok(None);
    }
    let CostAdded { usd, unpriced_tokens } = warehouse::cost_added(&snapshot, &run.batches)?;
    Ok(Some((usd, unpriced_tokens)))
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
        tz: None,
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
    let lake = match (asked.asks(), layout.state_file().exists()) {
        (false, _) => LakeSnapshot::default(),
        (true, true) => snapshot(&layout, &State::open_read_only(&layout)?)?,
        (true, false) => anyhow::bail!(
            "there is no lake in {}; run `agentlake export` first, or name one with --lake",
            places::short(layout.root())
        ),
    };
    query::run(&asked, &lake, &mut std::io::stdout().lock())
}
