//! Answering a question over a lake.
//!
//! Bundled queries are answered from the database for notebooks where it is up to date. Everything else is answered from
//! the parts, in memory: only what the text names is bound, and only the parts of the days and providers asked for. Either
//! way an answer covers whole batches, since both follow the snapshot.

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use chrono::{Days, NaiveDate, Weekday};
use chrono_tz::Tz;
use duckdb::Connection;
use duckdb::arrow::array::RecordBatch;
use fs_err::File;

use super::bundled::bundled;
use super::header::NamedQuery;
use super::objects::{Needed, macro_and_view};
use super::render::Sheet;
use super::usage_parts::UsageParts;
use super::{
    LakeSnapshot, Result, Trying, Wanted, WarehouseError, connection, prices, quoted, refresh, statements, stored,
    time_zones,
};

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub enum Question<'a> {
    /// A bundled query by name.
    Bundled(&'a str),
    /// SQL of one's own: any statements, the last of which is the answer. A header may say that it looks at all days.
    Sql(&'a str),
}

/// What the answer is limited to. Own SQL sees only parts of these UTC days and providers; it can read the limits as
/// `getvariable('since')`, `'until'`, `'tz'`, `'week_start'`, `'provider'`, `'project'`, `'cost_mode'` and `'prices_at'`.
#[derive(Debug, Clone, Default)]
pub struct Filters {
    /// First day, local in `tz`.
    pub since: Option<NaiveDate>,
    /// Last day, local in `tz`, included.
    pub until: Option<NaiveDate>,
    /// Time zone of the days; UTC if not given.
    pub tz: Option<String>,
    /// The day that weeks begin with; Monday if not given.
    pub week_start: Option<Weekday>,
    /// Providers; empty: all.
    pub providers: Vec<String>,
    /// Project: its directory, or the end of it after a slash.
    pub project: Option<String>,
    /// Whether costs are computed or taken as reported.
    pub cost: CostMode,
    /// Price all history as if on this day (its midnight in UTC).
    pub prices_at: Option<NaiveDate>,
    /// Other variables that the question reads, as texts.
    pub parameters: Vec<(String, String)>,
}

/// Where `cost_usd` comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CostMode {
    /// What the source reported, where it reported more than zero; else computed.
    #[default]
    Auto,
    /// From counters and prices alone.
    Computed,
    /// What the source reported alone; NULL where it reported nothing.
    Reported,
}

impl CostMode {
    /// As the variable `cost_mode` has it.
    fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Computed => "computed",
            Self::Reported => "reported",
        }
    }
}

/// How the answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Aligned columns for people, money rounded to four decimals.
    Table,
    /// Comma-separated, with a header; NULL is empty.
    Csv,
    /// One JSON array of objects.
    Json,
    /// One JSON object per line.
    NdJson,
    /// A Markdown table, money rounded to four decimals.
    Markdown,
    /// A Parquet file, zstd.
    Parquet,
}

/// Answers a question into `output`, or into `out` if no file is named. A reader that goes away early is no error.
///
/// Returns what the answer was priced with and whose days it counts, as far as they are part of it; answers for people end
/// with it too.
///
/// # Errors
/// An unknown query, zone or column; a part that cannot be read; an output that cannot be written.
pub fn run(
    lake: &LakeSnapshot,
    question: Question<'_>,
    filters: &Filters,
    format: Format,
    output: Option<&Path>,
    out: &mut dyn Write,
) -> Result<Option<String>> {
    if format == Format::Parquet && output.is_none() {
        return Err(WarehouseError::ParquetNeedsFile);
    }
    let sql = match question {
        Question::Bundled(name) => bundled(name)?.sql,
        Question::Sql(sql) => sql,
    };
    let zone = filters.tz.as_deref().map_or(Ok(Tz::UTC), time_zones::zone_named)?;
    let connection = match question {
        Question::Bundled(_) => database(lake, filters),
        // What own SQL sees depends on the limits, and it may want to make tables.
        Question::Sql(_) => None,
    };
    let connection = match connection {
        Some(connection) => connection,
        None => parts(lake, sql, filters, zone)?,
    };
    set_variables(&connection, filters, zone)?;
    let basis = basis(lake, sql, filters, zone)?;
    let written = answer(&connection, sql, format, output, basis.as_deref(), out);
    match written {
        Err(WarehouseError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(None),
        written => written.map(|()| basis),
    }
}

/// What an answer was priced with, and whose days it counts if a zone was asked for; `None` if neither is part of it.
fn basis(lake: &LakeSnapshot, sql: &str, filters: &Filters, zone: Tz) -> Result<Option<String>> {
    let needed = Needed::named_in(sql);
    let mut said = Vec::new();
    if needed.prices() {
        let mut prices = lake.price_table()?.basis().to_string();
        if let Some(day) = filters.prices_at {
            prices.extend([", all as on ", &day.to_string()]);
        }
        if filters.cost != CostMode::Auto {
            prices.extend([", costs ", filters.cost.name()]);
        }
        said.push(prices);
    }
    if needed.contains("tz_offsets") && filters.tz.is_some() {
        said.push(format!("days in {}", zone.name()));
    }
    Ok(Some(said.join("; ")).filter(|basis| !basis.is_empty()))
}

/// The database for notebooks, if it is up to date and nobody writes to it; then it holds the same rows as the parts.
fn database(lake: &LakeSnapshot, filters: &Filters) -> Option<Connection> {
    // A list of providers is no parameter of the queries.
    let path = lake.database.as_deref().filter(|path| filters.providers.len() < 2 && path.exists())?;
    let connection = connection::file_to_read(path).ok()?;
    refresh::is_current(&connection, lake).ok()?.then_some(connection)
}

/// A database in memory with views over the parts of the days and providers asked for.
fn parts(lake: &LakeSnapshot, sql: &str, filters: &Filters, zone: Tz) -> Result<Connection> {
    let connection = connection::in_memory()?;
    let zones: HashSet<Tz> =
        statements::literals(sql).filter_map(|text| time_zones::zone_named(text).ok()).chain([zone]).collect();
    let is_local = zones.iter().any(|zone| *zone != Tz::UTC);
    let query = NamedQuery { name: "", sql };
    let lake = lake.clone().pruned(&wanted(filters, is_local, query.looks_at_all_days()));
    bind(&connection, &lake, &Needed::by(sql), zones)?;
    Ok(connection)
}

/// The UTC days in which rows of the local days can lie: offsets reach from -12 to +14 hours.
fn wanted(filters: &Filters, is_local: bool, looks_at_all_days: bool) -> Wanted {
    let margin = Days::new(u64::from(is_local));
    let limit = |day: Option<NaiveDate>| day.filter(|_| !looks_at_all_days);
    Wanted {
        first: limit(filters.since).map(|day| day.checked_sub_days(margin).unwrap_or(day)),
        last: limit(filters.until).map(|day| day.checked_add_days(margin).unwrap_or(day)),
        providers: filters.providers.clone(),
    }
}

/// Makes what is needed in an empty database: the objects, the tables they read, views over the parts.
///
/// `zones` are those that the question names, beside UTC.
pub(super) fn bind(
    connection: &Connection,
    lake: &LakeSnapshot,
    needed: &Needed,
    zones: impl IntoIterator<Item = Tz>,
) -> Result<()> {
    stored::create_tables(connection)?;
    let usage = if needed.contains("usage_single") { UsageParts::of(lake)? } else { UsageParts::default() };
    if needed.prices() {
        let table = lake.price_table()?;
        let meanings = prices::meanings(table, usage.uses.iter().cloned());
        let looks_at_any = ["prices", "rates", "price_hours"].into_iter().any(|name| needed.mentions(name));
        let keys = if looks_at_any { table.keys() } else { prices::keys_of(&meanings) };
        prices::create(connection)?;
        prices::fill_prices(connection, table, &keys)?;
        prices::fill_model_prices(connection, &meanings)?;
    }
    if needed.contains("tz_offsets") {
        time_zones::create(connection)?;
        if needed.mentions("tz_offsets") {
            time_zones::fill(connection, time_zones::all())?;
        } else {
            let zones: HashSet<Tz> = zones.into_iter().chain([Tz::UTC]).collect();
            time_zones::fill(connection, zones)?;
        }
    }
    for object in needed.objects() {
        connection.execute_batch(object.sql).trying(&format!("make {}", object.name))?;
    }
    for query in needed.queries() {
        connection.execute_batch(&macro_and_view(query)).trying(&format!("make {}", query.name))?;
    }
    stored::replace_by_views(connection, needed, lake, &usage)
}

fn set_variables(connection: &Connection, filters: &Filters, zone: Tz) -> Result<()> {
    let date = |day: NaiveDate| format!("DATE {}", quoted(&day.to_string()));
    let provider = match filters.providers.as_slice() {
        [only] => Some(quoted(only)),
        _ => None,
    };
    let variables = [
        ("tz", Some(quoted(zone.name()))),
        ("week_start", filters.week_start.map(|day| quoted(day_name(day)))),
        ("since", filters.since.map(date)),
        ("until", filters.until.map(date)),
        ("provider", provider),
        ("project", filters.project.as_deref().map(quoted)),
        ("cost_mode", Some(quoted(filters.cost.name()))),
        ("prices_at", filters.prices_at.map(|day| format!("TIMESTAMP {}", quoted(&day.to_string())))),
    ];
    let own = filters.parameters.iter().map(|(name, value)| (name.as_str(), Some(quoted(value))));
    for (name, value) in variables.into_iter().chain(own) {
        if let Some(value) = value {
            connection.execute_batch(&format!("SET VARIABLE \"{name}\" = {value}")).trying(&format!("set {name}"))?;
        }
    }
    Ok(())
}

/// The name of a day of the week, as the variable `week_start` has it.
fn day_name(day: Weekday) -> &'static str {
    match day {
        Weekday::Mon => "monday",
        Weekday::Tue => "tuesday",
        Weekday::Wed => "wednesday",
        Weekday::Thu => "thursday",
        Weekday::Fri => "friday",
        Weekday::Sat => "saturday",
        Weekday::Sun => "sunday",
    }
}

fn answer(
    connection: &Connection,
    sql: &str,
    format: Format,
    output: Option<&Path>,
    basis: Option<&str>,
    out: &mut dyn Write,
) -> Result<()> {
    let statements = statements::split(sql);
    let Some((last, before)) = statements.split_last() else {
        return Err(WarehouseError::Query("there is no statement in it".to_owned()));
    };
    for statement in before {
        connection.execute_batch(statement).map_err(|error| refused(&error))?;
    }
    let copy_options = match format {
        Format::Table | Format::Markdown => return print(connection, last, format, output, basis, out),
        Format::Csv => "FORMAT csv, HEADER",
        Format::Json => "FORMAT json, ARRAY true",
        Format::NdJson => "FORMAT json, ARRAY false",
        Format::Parquet => "FORMAT parquet, COMPRESSION zstd",
    };
    let copy = |path: &Path| {
        let sql = format!("COPY ({}\n) TO {} ({copy_options})", as_table(last), quoted(&path.to_string_lossy()));
        connection.execute_batch(&sql).map_err(|error| refused(&error))
    };
    if let Some(path) = output {
        return copy(path);
    }
    let passing = PassingFile::new()?;
    copy(&passing.path)?;
    io::copy(&mut File::open(&passing.path)?, out)?;
    Ok(())
}

/// A statement as something that can be copied: `DESCRIBE`, `SHOW` and `SUMMARIZE` only can as tables.
fn as_table(statement: &str) -> String {
    let first = statement.split_whitespace().next().unwrap_or_default().to_lowercase();
    match first.as_str() {
        "describe" | "desc" | "show" | "summarize" => format!("FROM ({statement}\n)"),
        _ => statement.to_owned(),
    }
}

fn print(
    connection: &Connection,
    statement: &str,
    format: Format,
    output: Option<&Path>,
    basis: Option<&str>,
    out: &mut dyn Write,
) -> Result<()> {
    let mut statement = connection.prepare(statement).map_err(|error| refused(&error))?;
    let answer = statement.query_arrow([]).map_err(|error| refused(&error))?;
    let schema = answer.get_schema();
    let batches: Vec<RecordBatch> = answer.collect();
    let sheet = Sheet::from_batches(&schema, &batches).map_err(|error| WarehouseError::Query(error.to_string()))?;
    let mut text = Vec::new();
    match format {
        Format::Markdown => sheet.write_markdown(&mut text)?,
        _ => sheet.write_table(&mut text)?,
    }
    if let Some(basis) = basis {
        writeln!(text, "\n{basis}")?;
    }
    match output {
        Some(path) => fs_err::write(path, text)?,
        None => out.write_all(&text)?,
    }
    Ok(())
}

/// DuckDB's words about somebody's SQL, without the address of what is inside this program.
fn refused(error: &duckdb::Error) -> WarehouseError {
    WarehouseError::Query(error.to_string())
}

/// A file that only passes an answer on: DuckDB writes files, standard output may be a pipe or be appended to.
struct PassingFile {
    folder: PathBuf,
    path: PathBuf,
}

impl PassingFile {
    fn new() -> Result<Self> {
        let tag = format!("agentlake-{}-{:?}", std::process::id(), std::thread::current().id());
        let folder = std::env::temp_dir().join(tag.replace(['(', ')'], "-"));
        // Answers can hold what was said in sessions: nobody else may look into them. The folder must not be there yet,
        // since it could be somebody else's.
        fs_err::create_dir(&folder)?;
        let passing = Self { path: folder.join("answer"), folder };
        restrict(&passing.folder)?;
        Ok(passing)
    }
}

#[cfg(unix)]
fn restrict(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs_err::set_permissions(folder, std::fs::Permissions::from_mode(0o700))
}

#[cfg(not(unix))]
fn restrict(_folder: &Path) -> io::Result<()> {
    Ok(())
}

impl Drop for PassingFile {
    fn drop(&mut self) {
        // What cannot be removed stays in a private folder of the system's temporary directory, which the system empties.
        let _ = fs_err::remove_dir_all(&self.folder);
    }
}
