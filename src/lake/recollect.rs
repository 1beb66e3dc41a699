//! What parts tell of the state that they were committed with: sources, sessions, problems, and what each request adds up to.
//!
//! Not in any part, and therefore learned again from the sources: how to go on in a source, what the record that stands is
//! worth (see [`super::rebuilt`]), and how good a title is.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use arrow::array::{Array as _, AsArray as _, BooleanArray, RecordBatch};
use arrow::datatypes::TimestampMicrosecondType;

use super::ledger::{Entry, Origin};
use super::part_file::{PartReader, integer, integers, request_of, text, texts};
use super::rebuilt;
use super::state::Part;
use super::usage_sums::COUNTER_COLUMNS;
use super::{Layout, Result};
use crate::model::claim::variant_of;
use crate::model::tables::{ISSUES, SESSIONS, USAGE, USAGE_COPIES};
use crate::model::{Counters, IssueKind, RequestKey, SessionFacts, TitleRank};

/// What was found in the parts.
#[derive(Debug, Default)]
pub struct Recollection {
    /// Sources of this machine by provider and path.
    pub sources: BTreeSet<(String, String)>,
    /// Paths that could not be taken, by provider and path, with the reason.
    pub problems: BTreeMap<(String, String), String>,
    /// Sessions of which another machine has read rows.
    pub shared_sessions: BTreeSet<(String, String)>,
    /// Rows by the batch that they say.
    pub batches: BTreeMap<i64, i64>,
    /// The newest row of each session, by provider and id.
    pub sessions: BTreeMap<(String, String), RecalledSession>,
    requests: HashMap<RequestKey, RecalledRequest>,
    origins: Vec<Origin>,
    origin_ids: HashMap<Origin, usize>,
}

/// The newest row of a session.
#[derive(Debug, Clone)]
pub struct RecalledSession {
    /// Its batch.
    pub batch: i64,
    /// The source that it was read from.
    pub path: String,
    /// What it says.
    pub facts: SessionFacts,
}

#[derive(Debug)]
struct RecalledRequest {
    counters: [Option<i64>; 7],
    rows: i64,
    rev: i64,
    origin: usize,
    first_ts: i64,
    last_ts: i64,
}

impl Recollection {
    /// Reads the parts. `host` is the name of this machine.
    ///
    /// # Errors
    /// One of them cannot be read.
    pub fn read(layout: &Layout, parts: &[Part], host: &str) -> Result<Self> {
        let mut found = Self::default();
        for part in parts {
            found.part(layout, part, host)?;
        }
        // Copies only tell how long a request was seen, so they come when all requests are known.
        for part in parts.iter().filter(|part| part.table == USAGE_COPIES.name) {
            let reader = PartReader::open(&layout.root().join(&part.path))?;
            for rows in reader.columns(&["request_key", "session_id", "ts"])? {
                found.copies(&rows?, &part.provider);
            }
        }
        Ok(found)
    }

    fn part(&mut self, layout: &Layout, part: &Part, host: &str) -> Result<()> {
        let reader = PartReader::open(&layout.root().join(&part.path))?;
        let is_whole = [SESSIONS.name, USAGE.name, ISSUES.name].contains(&part.table.as_str());
        let batches =
            if is_whole { reader.all()? } else { reader.columns(&["source_path", "batch", "host", "session_id"])? };
        for rows in batches {
            let rows = rows?;
            self.paths(&rows, part, host);
            match part.table.as_str() {
                "sessions" => self.sessions(&rows, &part.provider),
                "usage" => self.usage(&rows, &part.provider),
                _ => {}
            }
        }
        Ok(())
    }

    fn paths(&mut self, rows: &RecordBatch, part: &Part, host: &str) {
        for batch in integers(rows, "batch").into_iter().flatten().flatten() {
            *self.batches.entry(batch).or_default() += 1;
        }
        let Some(paths) = texts(rows, "source_path") else { return };
        let (kinds, details) = (texts(rows, "kind"), texts(rows, "detail"));
        let is_problem = |kind: &str| {
            part.table == ISSUES.name
                && (kind == IssueKind::Unreadable.as_str() || kind == IssueKind::NotAFile.as_str())
        };
        let (hosts, sessions) = (texts(rows, "host"), texts(rows, "session_id"));
        let mut last = None;
        for row in 0..rows.num_rows() {
            let Some(path) = text(paths, row) else { continue };
            if hosts.and_then(|hosts| text(hosts, row)) != Some(host) {
                let session_id = sessions.and_then(|sessions| text(sessions, row)).unwrap_or_default();
                let key = (part.provider.clone(), session_id.to_owned());
                if !self.shared_sessions.contains(&key) {
                    self.shared_sessions.insert(key);
                }
                continue;
            }
            if let (Some(kinds), Some(details)) = (kinds, details)
                && is_problem(text(kinds, row).unwrap_or_default())
            {
                let reason = text(details, row).unwrap_or_default().to_owned();
                self.problems.insert((part.provider.clone(), path.to_owned()), reason);
            } else if last != Some(path) {
                last = Some(path);
                self.sources.insert((part.provider.clone(), path.to_owned()));
            }
        }
    }

    fn sessions(&mut self, rows: &RecordBatch, provider: &str) {
        for row in 0..rows.num_rows() {
            let of = |name| texts(rows, name).and_then(|column| text(column, row)).map(str::to_owned);
            let Some(session_id) = of("session_id") else { continue };
            let batch = integers(rows, "batch").and_then(|column| integer(column, row)).unwrap_or_default();
            let key = (provider.to_owned(), session_id);
            if self.sessions.get(&key).is_some_and(|held| held.batch > batch) {
                continue;
            }
            let cwd = of("cwd");
            let facts = SessionFacts {
                // The row shows the directory where no project is known; which of both it was makes no difference to it.
                project: of("project").filter(|project| Some(project) != cwd.as_ref()),
                cwd,
                project_slug: of("project_slug"),
                git_branch: of("git_branch"),
                repo: of("repo"),
                title: of("title").map(|title| (TitleRank::FirstPrompt, title)),
                parent_session_id: of("parent_session_id"),
                root_session_id: of("root_session_id"),
                relation: of("relation"),
                category: of("category"),
                cron_job_name: of("cron_job_name"),
                source_channel: of("source_channel"),
                started_at: time(rows, "started_at", row),
                updated_at: time(rows, "updated_at", row),
                agent_version: of("agent_version"),
                attributes: members(&of("attributes").unwrap_or_default()),
            };
            let path = of("source_path").unwrap_or_default();
            self.sessions.insert(key, RecalledSession { batch, path, facts });
        }
    }

    fn usage(&mut self, rows: &RecordBatch, provider: &str) {
        let number = |name: &str, row| integers(rows, name).and_then(|column| integer(column, row));
        for row in 0..rows.num_rows() {
            let of = |name| texts(rows, name).and_then(|column| text(column, row));
            let request = request_of(provider, of("request_key").unwrap_or_default(), of("session_id"));
            let rev = number("rev", row).unwrap_or_default();
            let ts = time(rows, "ts", row).unwrap_or_default();
            let counters = COUNTER_COLUMNS.map(|name| number(name, row));
            let is_newest = self.requests.get(&request).is_none_or(|held| held.rev <= rev);
            let origin = if is_newest { self.origin(origin_of(rows, row)) } else { 0 };
            let held = self.requests.entry(request).or_insert(RecalledRequest {
                counters: [None; 7],
                rows: 0,
                rev,
                origin,
                first_ts: ts,
                last_ts: ts,
            });
            for (sum, count) in held.counters.iter_mut().zip(counters) {
                if let Some(count) = count {
                    *sum = Some(sum.unwrap_or(0).saturating_add(count));
                }
            }
            held.rows += 1;
            held.last_ts = held.last_ts.max(ts);
            if is_newest {
                (held.rev, held.origin, held.first_ts) = (rev, origin, ts);
            }
        }
    }

    fn copies(&mut self, rows: &RecordBatch, provider: &str) {
        let (Some(keys), Some(sessions)) = (texts(rows, "request_key"), texts(rows, "session_id")) else { return };
        for row in 0..rows.num_rows() {
            let request = request_of(provider, text(keys, row).unwrap_or_default(), text(sessions, row));
            if let (Some(held), Some(ts)) = (self.requests.get_mut(&request), time(rows, "ts", row)) {
                held.last_ts = held.last_ts.max(ts);
            }
        }
    }

    fn origin(&mut self, origin: Origin) -> usize {
        if let Some(&id) = self.origin_ids.get(&origin) {
            return id;
        }
        let id = self.origins.len();
        self.origins.push(origin.clone());
        self.origin_ids.insert(origin, id);
        id
    }

    /// Whether a request has rows.
    #[must_use]
    pub fn knows(&self, request: RequestKey) -> bool {
        self.requests.contains_key(&request)
    }

    /// The ledger's entries as far as rows tell.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        self.requests.iter().map(|(&request, held)| {
            let origin = self.origins.get(held.origin).cloned().unwrap_or_default();
            let (model, speed) = (origin.model.as_deref(), origin.speed.as_deref());
            let variant = variant_of([model, speed, origin.service_tier.as_deref(), origin.inference_geo.as_deref()]);
            Entry {
                request,
                rev: held.rev,
                // Every revision has one row.
                standing: rebuilt::standing(held.rows == held.rev.saturating_add(1)),
                counters: Counters::from_array(held.counters),
                variant,
                guard: None,
                first_ts: held.first_ts,
                last_ts: held.last_ts,
                origin,
            }
        })
    }
}

fn origin_of(rows: &RecordBatch, row: usize) -> Origin {
    let of = |name| texts(rows, name).and_then(|column| text(column, row)).map(str::to_owned);
    let sidechain: Option<&BooleanArray> =
        rows.column_by_name("is_sidechain").and_then(|column| column.as_boolean_opt());
    Origin {
        session_id: of("session_id").unwrap_or_default(),
        project: of("project"),
        cwd: of("cwd"),
        git_branch: of("git_branch"),
        is_sidechain: sidechain.filter(|column| column.is_valid(row)).map(|column| column.value(row)),
        agent_id: of("agent_id"),
        agent_type: of("agent_type"),
        skill: of("skill"),
        model: of("model"),
        vendor: of("vendor"),
        speed: of("speed"),
        service_tier: of("service_tier"),
        inference_geo: of("inference_geo"),
    }
}

fn time(rows: &RecordBatch, name: &str, row: usize) -> Option<i64> {
    let column = rows.column_by_name(name)?.as_primitive_opt::<TimestampMicrosecondType>()?;
    column.is_valid(row).then(|| column.value(row))
}

/// The members of a JSON object, each value as the text that it stands as: facts keep it to the letter.
fn members(object: &str) -> BTreeMap<String, String> {
    let mut members = BTreeMap::new();
    let Some(inside) = object.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else { return members };
    let (mut depth, mut in_text, mut is_escaped) = (0_i32, false, false);
    let ends = inside.char_indices().filter_map(|(at, letter)| {
        match (in_text, letter) {
            (true, _) if is_escaped => is_escaped = false,
            (true, '\\') => is_escaped = true,
            (_, '"') => in_text = !in_text,
            (false, '{' | '[') => depth += 1,
            (false, '}' | ']') => depth -= 1,
            (false, ',') if depth == 0 => return Some(at),
            _ => {}
        }
        None
    });
    let mut start = 0;
    for end in ends.chain([inside.len()]) {
        let member = inside.get(start..end).unwrap_or_default();
        start = end + 1;
        // The name is the first JSON text, the value everything behind the colon that follows it.
        let mut names = serde_json::Deserializer::from_str(member).into_iter::<String>();
        if let Some(Ok(name)) = names.next()
            && let Some(value) = member.get(names.byte_offset()..).and_then(|rest| rest.strip_prefix(':'))
        {
            members.insert(name, value.to_owned());
        }
    }
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_stand_as_they_were_written() {
        let text = r#"{"a":1.50,"b, \"c\"":{"x":[1,2],"y":"}, \\"},"d":"e,f"}"#;
        let members = members(text);
        let pairs: Vec<(&str, &str)> = members.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(pairs, [("a", "1.50"), ("b, \"c\"", r#"{"x":[1,2],"y":"}, \\"}"#), ("d", "\"e,f\"")]);
        assert!(super::members("").is_empty() && super::members("{}").is_empty());
    }
}
