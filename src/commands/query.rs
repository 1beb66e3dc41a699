//! `agentlake query`: a bundled query, or SQL of one's own, over the lake.
//!
//! Owned here: which of the arguments go together, and the list of what there is. Left to others: the answer
//! ([`crate::warehouse`]) and the definitions of the flags (`cli.rs`).

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use chrono::{NaiveDate, Weekday};

use super::query_files::QueryFiles;
use crate::warehouse::{self, BUNDLED, CostMode, Filters, Format, LakeSnapshot, NamedQuery, Question};

/// What was asked on the command line.
#[derive(Debug, Clone, Default)]
pub struct QueryArguments {
    /// Name of a bundled query, or of one's own.
    pub name: Option<String>,
    /// SQL.
    pub sql: Option<String>,
    /// File with SQL.
    pub file: Option<PathBuf>,
    /// First day, local in `tz`.
    pub since: Option<NaiveDate>,
    /// Last day, local in `tz`, included.
    pub until: Option<NaiveDate>,
    /// Time zone of the days.
    pub tz: Option<String>,
    /// Day that weeks begin with.
    pub week_start: Option<Weekday>,
    /// Other parameters of the query.
    pub parameters: Vec<(String, String)>,
    /// Folder with queries of one's own.
    pub queries: Option<PathBuf>,
    /// Providers; empty: all.
    pub providers: Vec<String>,
    /// Project: its directory, or the end of it after a slash.
    pub project: Option<String>,
    /// Whether costs are computed or taken as reported.
    pub cost: CostMode,
    /// Price all history as if on this day.
    pub prices_at: Option<NaiveDate>,
    /// How to write the answer; `None`: what the name of the output says, else a table.
    pub format: Option<Format>,
    /// File to write the answer to, instead of standard output.
    pub output: Option<PathBuf>,
}

impl QueryArguments {
    /// Whether anything is asked; if not, [`list`] says what can be, and no lake is needed.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.name.is_some() || self.sql.is_some() || self.file.is_some()
    }
}

/// Answers what was asked.
///
/// # Errors
/// Arguments that contradict each other, and whatever keeps the warehouse from answering.
pub fn run(arguments: &QueryArguments, lake: &LakeSnapshot, out: &mut dyn Write) -> Result<()> {
    let from_file;
    let own = arguments.queries.as_deref().map_or_else(|| Ok(QueryFiles::default()), QueryFiles::read)?;
    let question = match (&arguments.name, &arguments.sql, &arguments.file) {
        (Some(name), None, None) => {
            let named = own.named(name);
            check_parameters(arguments, &named.map_or_else(|| warehouse::bundled(name).copied(), Ok)?)?;
            named.map_or(Question::Bundled(name), |query| Question::Sql(query.sql))
        }
        (None, Some(sql), None) => Question::Sql(sql),
        (None, None, Some(file)) => {
            from_file = fs_err::read_to_string(file)?;
            Question::Sql(&from_file)
        }
        (None, None, None) => return list(arguments.format, &own.all(), out),
        _ => bail!("name one of: a bundled query, --sql or --file"),
    };
    if let (Some(since), Some(until)) = (arguments.since, arguments.until)
        && since > until
    {
        bail!("--since {since} is after --until {until}");
    }
    let filters = Filters {
        since: arguments.since,
        until: arguments.until,
        tz: arguments.tz.clone(),
        week_start: arguments.week_start,
        parameters: arguments.parameters.clone(),
        providers: arguments.providers.clone(),
        project: arguments.project.clone(),
        cost: arguments.cost,
        prices_at: arguments.prices_at,
    };
    let output = arguments.output.as_deref();
    let format = arguments.format.or_else(|| format_of(output?)).unwrap_or(Format::Table);
    let basis = warehouse::run(lake, question, &filters, format, output, out)?;
    // Answers for people end with it; those for programs must stay what their form says.
    if let Some(basis) = basis.filter(|_| !matches!(format, Format::Table | Format::Markdown)) {
        let _ = writeln!(std::io::stderr(), "{basis}");
    }
    Ok(())
}

/// Refuses parameters that a query does not read: ignored, they would make a wrong answer look right.
fn check_parameters(arguments: &QueryArguments, query: &NamedQuery<'_>) -> Result<()> {
    let known: Vec<&str> = query.parameters().collect();
    let week_start = arguments.week_start.map(|_| ("--week-start", "week_start"));
    let own = arguments.parameters.iter().map(|(name, _)| ("--param", name.as_str()));
    for (flag, name) in own.chain(week_start) {
        if !known.contains(&name) {
            bail!("{flag}: {} has no parameter {name}; it has {}", query.name, known.join(", "));
        }
    }
    Ok(())
}

/// The format that the name of a file asks for.
fn format_of(output: &Path) -> Option<Format> {
    match output.extension()?.to_str()? {
        "csv" => Some(Format::Csv),
        "json" => Some(Format::Json),
        "ndjson" | "jsonl" => Some(Format::NdJson),
        "md" => Some(Format::Markdown),
        "parquet" => Some(Format::Parquet),
        _ => None,
    }
}

/// Lists queries by theme, name and question each; the bundled ones as Markdown with all columns, which is docs/queries.md.
///
/// # Errors
/// If `out` cannot be written to.
pub fn list(format: Option<Format>, own: &[NamedQuery<'_>], out: &mut dyn Write) -> Result<()> {
    let text = if format == Some(Format::Markdown) { warehouse::bundled_markdown() } else { themes(own) };
    match out.write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context("the list could not be written"),
    }
}

fn themes(own: &[NamedQuery<'_>]) -> String {
    let width = BUNDLED.iter().chain(own).map(|query| query.name.len()).max().unwrap_or(0);
    let line = |query: &NamedQuery<'_>| {
        let about = if query.question().is_empty() { query.title() } else { query.question() };
        format!("  {:width$}  {about}\n", query.name)
    };
    let mut text = String::new();
    for (theme, queries) in warehouse::by_theme(BUNDLED) {
        text.extend([theme, "\n"]);
        text.extend(queries.into_iter().map(line));
        text.push('\n');
    }
    if !own.is_empty() {
        text.push_str("your own\n");
        text.extend(own.iter().map(line));
        text.push('\n');
    }
    text.push_str("agentlake query NAME runs one; --sql and --file run your own over the same views.\n");
    text
}
