//! The lake's tables: one declaration gives the schema, its documentation, the row struct and the Arrow builders.
//!
//! Columns are only added, nullable, at the end; [`SCHEMA_VERSION`] grows with each addition. Units are in the column's
//! text: tokens are counts, times are UTC, money is in the unit that its neighbour column names.

use arrow::array::{ArrayRef, StringArray};

use super::columns::{Column, ColumnKind, Flag, Integer, Kind, Money, ReadableKind, Text, TextList, Time};
use super::identity::Record;

/// Version of the schema below, written into every part.
pub const SCHEMA_VERSION: i64 = 1;

/// One column of a table.
#[derive(Debug, Clone, Copy)]
pub struct ColumnSpec {
    /// Name in Parquet and SQL.
    pub name: &'static str,
    /// Type.
    pub kind: ColumnKind,
    /// Meaning and unit, in Markdown.
    pub meaning: &'static str,
}

/// One table of the lake.
#[derive(Debug, Clone, Copy)]
pub struct TableSpec {
    /// Name of the folder in the lake and of the view in DuckDB.
    pub name: &'static str,
    /// What one row is, in Markdown.
    pub meaning: &'static str,
    /// The columns beside the common ones.
    pub columns: &'static [ColumnSpec],
}

/// Columns that every table begins with, written from a [`Record`].
pub const RECORD_COLUMNS: &[ColumnSpec] = &[
    ColumnSpec {
        name: "event_id",
        kind: ColumnKind::Text,
        meaning: "Id of the row, 32 hex digits; the same whenever and wherever the record is read. `(event_id, batch)` is unique.",
    },
    ColumnSpec {
        name: "record_key",
        kind: ColumnKind::Text,
        meaning: "The same without the session: a record copied into another file has the same one.",
    },
    ColumnSpec { name: "session_id", kind: ColumnKind::Text, meaning: "Durable id of the session." },
    ColumnSpec {
        name: "seq",
        kind: ColumnKind::Integer,
        meaning: "Position in the source: byte offset (decompressed), rowid or event index.",
    },
    ColumnSpec {
        name: "ts",
        kind: ColumnKind::Time,
        meaning: "When it happened, UTC. The partition `date` is its UTC day.",
    },
];

/// Columns that every table goes on with, the same for all rows of a source and a batch.
pub const BATCH_COLUMNS: &[ColumnSpec] = &[
    ColumnSpec { name: "batch", kind: ColumnKind::Integer, meaning: "The commit that published the row." },
    ColumnSpec { name: "host", kind: ColumnKind::Text, meaning: "The machine that the source was read on." },
    ColumnSpec {
        name: "source_path",
        kind: ColumnKind::Text,
        meaning: "The file or database that the row was read from.",
    },
];

/// Appends rows of one table to Arrow builders.
pub trait TableColumns: Default {
    /// Rows appended so far.
    fn len(&self) -> usize;
    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Takes the columns: [`RECORD_COLUMNS`], then the table's own.
    fn finish(&mut self) -> Vec<ArrayRef>;
}

/// Builders of [`RECORD_COLUMNS`].
#[derive(Debug, Default)]
pub struct RecordColumns {
    event_id: Column<Text>,
    record_key: Column<Text>,
    session_id: Column<Text>,
    seq: Column<Integer>,
    ts: Column<Time>,
    rows: usize,
}

impl RecordColumns {
    /// Appends the common columns of one row.
    pub fn push(&mut self, event_id: &str, record_key: &str, session_id: Option<&str>, seq: i64, ts: i64) {
        self.event_id.push(Some(event_id));
        self.record_key.push(Some(record_key));
        self.session_id.push(session_id);
        self.seq.push(Some(seq));
        self.ts.push(Some(ts));
        self.rows += 1;
    }

    fn finish(&mut self) -> Vec<ArrayRef> {
        self.rows = 0;
        vec![
            self.event_id.finish(),
            self.record_key.finish(),
            self.session_id.finish(),
            self.seq.finish(),
            self.ts.finish(),
        ]
    }
}

macro_rules! table {
    (
        $(#[doc = $meaning:literal])+
        $spec:ident $row:ident $columns:ident $($reader:ident)? $name:literal {
            $( #[doc = $column_meaning:literal] $column:ident: $kind:ident, )+
        }
    ) => {
        $(#[doc = $meaning])+
        pub const $spec: TableSpec = TableSpec {
            name: $name,
            meaning: concat!($($meaning),+),
            columns: &[$(ColumnSpec { name: stringify!($column), kind: <$kind as Kind>::KIND, meaning: $column_meaning }),+],
        };

        #[doc = concat!("One row of `", $name, "` beside the common columns; `None` is NULL.")]
        #[derive(Debug, Clone, Copy, Default)]
        pub struct $row<'a> {
            $( #[doc = $column_meaning] pub $column: Option<<$kind as Kind>::Value<'a>>, )+
        }

        #[doc = concat!("Arrow builders of `", $name, "`.")]
        #[derive(Debug, Default)]
        pub struct $columns {
            common: RecordColumns,
            $( $column: Column<$kind>, )+
        }

        impl $columns {
            /// Appends the row of a record; `block` tells the rows of one record apart.
            pub fn push(&mut self, provider: &str, record: &Record<'_>, block: u32, row: &$row<'_>) {
                let event_id = record.event_id($name, provider, block);
                let record_key = record.record_key($name, provider, block);
                self.push_with_ids(event_id.as_str(), record_key.as_str(), Some(record.session_id), record.seq, record.ts, row);
            }

            /// Appends a row whose ids are made elsewhere.
            pub fn push_with_ids(&mut self, event_id: &str, record_key: &str, session_id: Option<&str>, seq: i64, ts: i64, row: &$row<'_>) {
                self.common.push(event_id, record_key, session_id, seq, ts);
                $( self.$column.push(row.$column); )+
            }
        }

        impl TableColumns for $columns {
            fn len(&self) -> usize {
                self.common.rows
            }
            fn finish(&mut self) -> Vec<ArrayRef> {
                let mut columns = self.common.finish();
                $( columns.push(self.$column.finish()); )+
                columns
            }
        }

        row_reader! { $($reader)? $name $row { $($column: $kind,)+ } }
    };
}

/// For a table whose rows are read again before they are written: typed access to its finished columns.
macro_rules! row_reader {
    ( $name:literal $row:ident { $($column:ident: $kind:ident,)+ } ) => {};
    ( $reader:ident $name:literal $row:ident { $($column:ident: $kind:ident,)+ } ) => {
        #[doc = concat!("Finished columns of `", $name, "`, readable row by row.")]
        #[derive(Debug, Clone)]
        pub struct $reader {
            event_id: StringArray,
            record_key: StringArray,
            session_id: StringArray,
            $( $column: <$kind as ReadableKind>::Array, )+
        }

        impl $reader {
            /// Takes the columns that [`TableColumns::finish`] gave; `None` if they are of another table.
            #[must_use]
            pub fn new(columns: &[ArrayRef]) -> Option<Self> {
                let mut columns = columns.iter();
                let [event_id, record_key, session_id] =
                    [Text::read(columns.next()?)?, Text::read(columns.next()?)?, Text::read(columns.next()?)?];
                let (_seq, _ts) = (columns.next()?, columns.next()?);
                Some(Self { event_id, record_key, session_id, $( $column: $kind::read(columns.next()?)?, )+ })
            }

            /// Columns `event_id`, `record_key` and `session_id` of a row.
            #[must_use]
            pub fn ids(&self, row: usize) -> (&str, &str, &str) {
                (self.event_id.value(row), self.record_key.value(row), self.session_id.value(row))
            }

            /// The table's own columns of a row.
            #[must_use]
            pub fn row(&self, row: usize) -> $row<'_> {
                $row { $( $column: $kind::value(&self.$column, row), )+ }
            }
        }
    };
}

table! {
    /// What is known of a session. Written again when a fact changed: the newest batch wins. `date` is the day it started.
    SESSIONS SessionsRow SessionsColumns "sessions" {
        /// Where the work belongs: the directory the session began in.
        project: Text,
        /// The tool's own short name of the project.
        project_slug: Text,
        /// Working directory at the start.
        cwd: Text,
        /// Git branch at the start.
        git_branch: Text,
        /// Repository URL as recorded, without credentials.
        repo: Text,
        /// Title: given by a person, else made by the tool, else the first prompt.
        title: Text,
        /// Session that this one was started from.
        parent_session_id: Text,
        /// First session of the family.
        root_session_id: Text,
        /// `fork`, `resume` or `subagent`; NULL for a session of its own.
        relation: Text,
        /// `interactive`, `cron` or `system`, for tools that have such categories.
        category: Text,
        /// Name of the scheduled job.
        cron_job_name: Text,
        /// Channel that prompts came through.
        source_channel: Text,
        /// Time of the first record, UTC.
        started_at: Time,
        /// Time of the newest record, UTC.
        updated_at: Time,
        /// Version of the tool, newest seen.
        agent_version: Text,
        /// How the source is kept: `lines`, `zstd_lines`, `document`, `replayed_lines` (later lines change what earlier ones said) or `database`.
        source_kind: Text,
        /// Size of the source in bytes when it was read.
        file_size: Integer,
        /// What only one provider knows, JSON object.
        attributes: Text,
    }
}

table! {
    /// One record of a session: a prompt, an answer (or one block of it), a tool result, a note of the tool.
    MESSAGES MessagesRow MessagesColumns "messages" {
        /// The tool's own id of the record.
        uuid: Text,
        /// Id of the record it follows.
        parent_uuid: Text,
        /// Where `ts` comes from: `record`, `previous` (the record before), `session` (its start), `mtime` (of the file when first seen).
        ts_basis: Text,
        /// `user`, `assistant`, `system`, `developer` or `tool`.
        role: Text,
        /// `human`, `injected`, `assistant`, `tool_result`, `system`, `summary`, `error`, `progress` or `meta`.
        kind: Text,
        /// Model as recorded.
        model: Text,
        /// Visible text, blocks joined by a newline.
        content_text: Text,
        /// Reasoning text, where it is readable.
        thinking_text: Text,
        /// Names of the tools called in the record.
        tool_names: TextList,
        /// Ordered JSON array of block kinds and ids.
        blocks: Text,
        /// Label that a gateway put before the prompt.
        source_label: Text,
        /// Working directory.
        cwd: Text,
        /// Git branch.
        git_branch: Text,
        /// Whether it belongs to a side chain (a subagent inside the main file).
        is_sidechain: Flag,
        /// Id of the subagent.
        agent_id: Text,
        /// Why the model stopped.
        stop_reason: Text,
        /// What only one provider knows, JSON object.
        attributes: Text,
        /// The line as it stood, only with `--raw`.
        raw: Text,
    }
}

table! {
    /// A repeat or replay of a request that is counted elsewhere, with the counters it *claimed*. Never add these.
    USAGE_COPIES UsageRow UsageColumns UsageReader "usage_copies" {
        /// Names the billed model call across lines, files and runs.
        request_key: Text,
        /// `uuid` of the record that stands for the request.
        message_uuid: Text,
        /// The vendor's id of the response.
        response_id: Text,
        /// 0 for the first row of a request, then 1, 2 …
        rev: Integer,
        /// `counted`; `growth`: the difference to a better record; `reversal`: takes back what stood before.
        status: Text,
        /// Model as recorded.
        model: Text,
        /// Who made the model: `anthropic`, `openai`, `google` …
        vendor: Text,
        /// Speed class of the response (`standard`, `fast`).
        speed: Text,
        /// Service tier of the response.
        service_tier: Text,
        /// Where inference ran, if recorded.
        inference_geo: Text,
        /// Reasoning effort asked for.
        effort: Text,
        /// Prompt tokens that came from no cache.
        input_tokens: Integer,
        /// Prompt tokens read from a cache.
        cache_read_tokens: Integer,
        /// Prompt tokens written to a cache for five minutes, or for a time that is not recorded (see `cache_write_basis`).
        cache_write_5m_tokens: Integer,
        /// Prompt tokens written to a cache for one hour.
        cache_write_1h_tokens: Integer,
        /// Generated tokens, reasoning included.
        output_tokens: Integer,
        /// Searches billed by the piece.
        web_search_requests: Integer,
        /// Part of `output_tokens`, informational: never add it.
        reasoning_tokens: Integer,
        /// Whole prompt of the request in tokens (input + reads + writes), which picks the price tier. Not a counter.
        context_tokens: Integer,
        /// Why the model stopped.
        finish_reason: Text,
        /// Milliseconds of the call, if recorded.
        latency_ms: Integer,
        /// Milliseconds to the first token, if recorded.
        ttft_ms: Integer,
        /// Cost that the tool itself recorded, of the record that stands: not a counter, the newest `rev` holds.
        reported_cost: Money,
        /// Unit of `reported_cost` (`USD`, `credits` …).
        reported_cost_unit: Text,
        /// What one row covers: `request`, `turn`, `session` or `conversation`.
        grain: Text,
        /// How the counters were made: `exact`, `incomplete_output`, `rounded`, `local_tokenizer`, `char_estimate`, `context_snapshot` or `rollup`.
        count_basis: Text,
        /// `recorded`, or `assumed_5m` where the lifetime of cache writes is not recorded.
        cache_write_basis: Text,
        /// The source's own usage object, JSON.
        reported: Text,
        /// Where the work belongs: the directory the session began in.
        project: Text,
        /// Working directory.
        cwd: Text,
        /// Git branch.
        git_branch: Text,
        /// Whether it belongs to a side chain (a subagent inside the main file).
        is_sidechain: Flag,
        /// Id of the subagent.
        agent_id: Text,
        /// Kind of the subagent.
        agent_type: Text,
        /// Skill in use.
        skill: Text,
        /// What only one provider knows, JSON object.
        attributes: Text,
        /// Why it is a copy: `repeat` (same session), `replay` (another session), `mirror` (shown elsewhere), `rollup` (a sum).
        why: Text,
    }
}

/// Counters that add: `SUM` over any column of counters is the true total, in any engine.
pub const USAGE: TableSpec = TableSpec {
    name: "usage",
    meaning: "Counters that *add*: one row per billed model call, and one more each time a better record of it was found. `SUM` over any counter is the true total.",
    columns: match USAGE_COPIES.columns.split_last() {
        Some((_why, columns)) => columns,
        None => &[],
    },
};

table! {
    /// One call of a tool. Its result is in `tool_results` under the same `tool_use_id`; the view `tool_use` joins them.
    TOOL_CALLS ToolCallsRow ToolCallsColumns "tool_calls" {
        /// Links the call to its result.
        tool_use_id: Text,
        /// Name of the tool.
        name: Text,
        /// MCP server that offers it.
        mcp_server: Text,
        /// Arguments, JSON text (or the tool's own text where it has no JSON).
        input: Text,
        /// File that the call is about.
        file_path: Text,
        /// Lines that the call adds, where it says so.
        lines_added: Integer,
        /// Lines that the call removes, where it says so.
        lines_removed: Integer,
        /// Position of the call inside its record.
        block_index: Integer,
    }
}

table! {
    /// One result of a tool call.
    TOOL_RESULTS ToolResultsRow ToolResultsColumns "tool_results" {
        /// Links the result to its call.
        tool_use_id: Text,
        /// Whether the tool failed.
        is_error: Flag,
        /// What the tool returned, text.
        output: Text,
        /// Exit code of a command.
        exit_code: Integer,
        /// Milliseconds that the tool ran.
        duration_ms: Integer,
    }
}

table! {
    /// One thing that could not be read as expected.
    ISSUES IssuesRow IssuesColumns "issues" {
        /// What was wrong: `broken_line`, `repaired_line`, `line_too_long`, `broken_document`, `bad_counter`, `unknown_record`, `unreadable`, `not_a_file`, `rewritten`, `removed_from_source`, `changed_while_read` or `contradiction`.
        kind: Text,
        /// More of it, for people.
        detail: Text,
    }
}

/// All tables, in the order that docs list them.
pub const TABLES: [&TableSpec; 7] = [&SESSIONS, &MESSAGES, &USAGE, &USAGE_COPIES, &TOOL_CALLS, &TOOL_RESULTS, &ISSUES];

impl TableSpec {
    /// Every column of a part, in order: [`RECORD_COLUMNS`], [`BATCH_COLUMNS`], then the table's own.
    pub fn all_columns(&self) -> impl Iterator<Item = &'static ColumnSpec> {
        RECORD_COLUMNS.iter().chain(BATCH_COLUMNS).chain(self.columns)
    }
}
