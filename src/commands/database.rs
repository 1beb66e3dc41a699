//! Between the lake's state and the warehouse: which parts count, and the database after an export.

use std::collections::BTreeSet;

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
        database: Some(layout.database()),
        ..LakeSnapshot::default()
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
    if !asked.asks() {
        return query::run(&asked, &LakeSnapshot::default(), &mut std::io::stdout().lock());
    }
    if !layout.state_file().exists() {
        anyhow::bail!(
            "there is no lake in {}; run `agentlake export` first, or name one with --lake",
            places::short(layout.root())
        );
    }
    let mut tries = 0;
    loop {
        let lake = snapshot(&layout, &State::open_read_only(&layout)?)?;
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
