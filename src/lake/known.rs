//! Which rows the lake has already, asked only where it matters: a source that was ever read again from its start, and a session
//! that stands in two sources. Everything else is new by construction, since reading resumes at an offset; or it is the new
//! form of a record that changed in a document or a database, which lands beside the old one, once a batch.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use arrow::array::{Array as _, ArrayRef, AsArray as _, BooleanArray};
use arrow::datatypes::TimestampMicrosecondType;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::statistics::Statistics;

use super::parts::TableRows;
use super::wave::{ReadSource, WaveContext};
use super::{Lake, Result};
use crate::model::IssueKind;
use crate::model::identity::id_of;
use crate::model::tables::{ISSUES, IssuesColumns, IssuesRow, MESSAGES, SESSIONS, TableColumns as _};
use crate::source::walk::Problem;

/// Rows that the lake has of some sessions.
#[derive(Debug, Default)]
struct Known {
    /// Whether rows without a session are looked for, too.
    with_homeless: bool,
    ids: HashSet<u128>,
    /// Those that land with this wave.
    landing: HashSet<u128>,
    /// Messages by the file they were read from: id, session, time.
    messages: HashMap<String, Vec<(u128, String, i64)>>,
}

/// Drops the rows that the lake has, marks the claims of such records, and tells which records a rewritten source lost.
///
/// # Errors
/// The state or a part cannot be read.
pub fn drop_known(lake: &Lake, sources: &mut [ReadSource], context: &WaveContext) -> Result<()> {
    for source in sources.iter_mut().filter(|source| source.claims.iter().any(|placed| placed.is_restated)) {
        source.known_claims = source.claims.iter().map(|placed| placed.is_restated).collect();
    }
    let contested = contested(lake, sources)?;
    if contested.is_empty() {
        return Ok(());
    }
    let mut sessions: BTreeMap<&'static str, BTreeSet<String>> = BTreeMap::new();
    for source in contested.iter().filter_map(|&at| sources.get(at)) {
        sessions.entry(source.provider).or_default().extend(source.sessions.keys().cloned());
    }
    // Rows of another lake can stand outside of any session; from sources of this machine such rows come once.
    let with_homeless = contested.iter().any(|&at| sources.get(at).is_some_and(|source| source.host.is_some()));
    let mut known = Known { with_homeless, ..Known::default() };
    for (provider, sessions) in &sessions {
        known.load(lake, provider, sessions)?;
    }
    for at in contested {
        if let Some(source) = sources.get_mut(at) {
            if source.reread_ends {
                tell_removed(source, &known, context.now)?;
            }
            drop_from(source, &mut known)?;
        }
    }
    Ok(())
}

/// Sources whose rows may be in the lake, or in another source of the wave.
fn contested(lake: &Lake, sources: &[ReadSource]) -> Result<Vec<usize>> {
    let mut holders: HashMap<(&str, &str), usize> = HashMap::new();
    for source in sources {
        for session_id in source.sessions.keys() {
            *holders.entry((source.provider, session_id)).or_default() += 1;
        }
    }
    let mut contested = Vec::new();
    for (at, source) in sources.iter().enumerate() {
        let mut is_contested = source.was_rewritten;
        for session_id in source.sessions.keys() {
            is_contested = is_contested
                || holders.get(&(source.provider, session_id.as_str())).is_some_and(|&count| count > 1)
                || lake.state.session(source.provider, session_id)?.is_some_and(|(_, owner)| source.id != Some(owner));
        }
        if is_contested {
            contested.push(at);
        }
    }
    Ok(contested)
}

fn drop_from(source: &mut ReadSource, known: &mut Known) -> Result<()> {
    for columns in source.tables.values_mut() {
        let Some(ids) = columns.first().and_then(|column| column.as_string_opt::<i32>()) else { continue };
        let fresh: BooleanArray = ids
            .iter()
            .map(|id| {
                Some(id.map(parse).is_none_or(|id| {
                    let lands = known.ids.insert(id) || source.restated.contains(&id);
                    lands && known.landing.insert(id)
                }))
            })
            .collect();
        if fresh.true_count() < fresh.len() {
            *columns = columns
                .iter()
                .map(|column| arrow::compute::filter(column, &fresh))
                .collect::<std::result::Result<_, _>>()?;
        }
    }
    source.tables.retain(|_, columns| columns.first().is_some_and(|column| !column.is_empty()));
    if let Some(reader) = &source.claim_rows {
        source.known_claims = (0..source.claims.len()).map(|row| !known.ids.insert(parse(reader.ids(row).0))).collect();
    }
    Ok(())
}

/// Adds an issue for each message that the lake has from this file and the file has no more.
fn tell_removed(source: &mut ReadSource, known: &Known, now: i64) -> Result<()> {
    let held = known.messages.get(&source.path.display().to_string()).map(Vec::as_slice).unwrap_or_default();
    let here: HashSet<u128> = source
        .tables
        .get(MESSAGES.name)
        .and_then(|columns| columns.first())
        .and_then(|column| column.as_string_opt::<i32>())
        .map(|ids| ids.iter().flatten().map(parse).collect())
        .unwrap_or_default();
    let mut issues = IssuesColumns::default();
    for (id, session_id, ts) in held.iter().filter(|(id, ..)| !here.contains(id)) {
        let detail = format!("the source holds the message with event_id {id:032x} no more; its row stays");
        let kind = IssueKind::RemovedFromSource;
        let event_id = id_of(&[
            b"issues",
            source.provider.as_bytes(),
            session_id.as_bytes(),
            kind.as_str().as_bytes(),
            &id.to_le_bytes(),
        ]);
        let row = IssuesRow { kind: Some(kind.as_str()), detail: Some(&detail) };
        issues.push_with_ids(event_id.as_str(), event_id.as_str(), Some(session_id), 0, (*ts).min(now), &row);
    }
    if issues.is_empty() {
        return Ok(());
    }
    let fresh = issues.finish();
    let columns = match source.tables.remove(ISSUES.name) {
        None => fresh,
        Some(columns) => columns
            .iter()
            .zip(&fresh)
            .map(|(old, new)| arrow::compute::concat(&[old, new]))
            .collect::<std::result::Result<_, _>>()?,
    };
    source.tables.insert(ISSUES.name, columns);
    Ok(())
}

impl Known {
    fn load(&mut self, lake: &Lake, provider: &str, sessions: &BTreeSet<String>) -> Result<()> {
        for part in lake.state.parts()? {
            if part.provider == provider && part.table != SESSIONS.name {
                self.load_part(&lake.layout.root().join(&part.path), part.table == MESSAGES.name, sessions)?;
            }
        }
        Ok(())
    }

    fn load_part(&mut self, path: &Path, is_messages: bool, sessions: &BTreeSet<String>) -> Result<()> {
        let builder = ParquetRecordBatchReaderBuilder::try_new(fs_err::File::open(path)?.into_parts().0)?;
        let schema = builder.parquet_schema();
        let Some(session_leaf) = schema.columns().iter().position(|column| column.name() == "session_id") else {
            return Ok(());
        };
        let groups: Vec<usize> = builder
            .metadata()
            .row_groups()
            .iter()
            .enumerate()
            .filter(|(_, group)| self.with_homeless || may_hold(group, session_leaf, sessions))
            .map(|(at, _)| at)
            .collect();
        if groups.is_empty() {
            return Ok(());
        }
        let mask = ProjectionMask::columns(schema, ["event_id", "session_id", "ts", "source_path"]);
        for batch in builder.with_projection(mask).with_row_groups(groups).build()? {
            let batch = batch?;
            let text = |name: &str| batch.column_by_name(name).and_then(|column| column.as_string_opt::<i32>());
            let times =
                batch.column_by_name("ts").and_then(|column| column.as_primitive_opt::<TimestampMicrosecondType>());
            let (Some(ids), Some(held), Some(paths), Some(times)) =
                (text("event_id"), text("session_id"), text("source_path"), times)
            else {
                continue;
            };
            for row in 0..batch.num_rows() {
                if held.is_null(row) {
                    if self.with_homeless {
                        self.ids.insert(parse(ids.value(row)));
                    }
                } else if sessions.contains(held.value(row)) {
                    let id = parse(ids.value(row));
                    self.ids.insert(id);
                    if is_messages {
                        let message = (id, held.value(row).to_owned(), times.value(row));
                        self.messages.entry(paths.value(row).to_owned()).or_default().push(message);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Whether a row group can hold one of the sessions, as far as its statistics tell.
fn may_hold(group: &RowGroupMetaData, column: usize, sessions: &BTreeSet<String>) -> bool {
    let Some(Statistics::ByteArray(statistics)) = group.columns().get(column).and_then(|column| column.statistics())
    else {
        return true;
    };
    let (Some(min), Some(max)) = (statistics.min_opt(), statistics.max_opt()) else { return true };
    sessions.iter().any(|session| session.as_bytes() >= min.data() && session.as_bytes() <= max.data())
        || !statistics.max_is_exact()
        || !statistics.min_is_exact()
}

fn parse(id: &str) -> u128 {
    u128::from_str_radix(id, 16).unwrap_or_default()
}

/// The `issues` row of a path that could not be taken. Its id is made of the path: there is nothing else.
#[must_use]
pub fn problem_rows(provider: &'static str, problem: &Problem, now: i64) -> TableRows {
    let kind = problem_kind(problem);
    let path = problem.path.display().to_string();
    let event_id =
        id_of(&[b"issues", provider.as_bytes(), kind.as_str().as_bytes(), path.as_bytes(), problem.reason.as_bytes()]);
    let mut issues = IssuesColumns::default();
    let row = IssuesRow { kind: Some(kind.as_str()), detail: Some(&problem.reason) };
    issues.push_with_ids(event_id.as_str(), event_id.as_str(), None, 0, now, &row);
    let columns: Vec<ArrayRef> = issues.finish();
    TableRows { provider, path, host: None, columns }
}

/// The kind of issue that a path is.
#[must_use]
pub fn problem_kind(problem: &Problem) -> IssueKind {
    if problem.not_a_file { IssueKind::NotAFile } else { IssueKind::Unreadable }
}
