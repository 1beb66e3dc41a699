//! `agentlake query`: a bundled query, or SQL of one's own, over the lake.
//!
//! Owned here: which arguments go together, and the list of what there is. Left to others: the answer
//! ([`crate::warehouse`]) and the definitions of the flags ([`crate::cli`]).

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Result, bail};

use super::places;
use crate::cli::{QueryArgs, QueryFormat};
use crate::lake::{Layout, State};
use crate::warehouse::{self, BUNDLED, Filters, Format, LakeSnapshot, Question};

/// Answers what was asked, or lists what can be.
///
/// # Errors
/// Arguments that contradict each other, no lake, and whatever keeps the warehouse from answering.
pub fn command(arguments: &QueryArgs) -> Result<()> {
    let mut out = io::stdout().lock();
    let format = arguments.format.map(format_named);
    let from_file;
    let question = match (&arguments.name, &arguments.sql, &arguments.file) {
        (Some(name), ..) => Question::Bundled(name),
        (None, Some(sql), _) => Question::Sql(sql),
        (None, None, Some(file)) => {
            from_file = fs_err::read_to_string(file)?;
            Question::Sql(&from_file)
        }
        (None, None, None) => return Ok(out.write_all(list(format).as_bytes())?),
    };
    if let (Some(since), Some(until)) = (arguments.since, arguments.until)
        && since > until
    {
        bail!("--since {since} is after --until {until}");
    }
    let filters = Filters {
        since: arguments.since,
        until: arguments.until,
        tz: None,
        providers: arguments.provider.clone(),
        project: arguments.project.clone(),
    };
    let output = arguments.output.as_deref();
    let format = format.or_else(|| format_of(output?)).unwrap_or(Format::Table);
    let lake = snapshot(&places::lake(&arguments.lake)?)?;
    Ok(warehouse::run(&lake, question, &filters, format, output, &mut out)?)
}

/// The published parts of the lake at `root`.
fn snapshot(root: &Path) -> Result<LakeSnapshot> {
    let layout = Layout::new(root);
    if !layout.state_file().exists() {
        bail!("there is no lake at {}; `agentlake export` makes one, --lake names another", root.display());
    }
    Ok(LakeSnapshot::of(&layout, &State::open_read_only(&layout)?)?)
}

/// The bundled queries: name and question; as Markdown with all columns, which is docs/queries.md.
fn list(format: Option<Format>) -> String {
    if format == Some(Format::Markdown) {
        return warehouse::bundled_markdown();
    }
    let width = BUNDLED.iter().map(|query| query.name.len()).max().unwrap_or(0);
    let lines = BUNDLED.iter().map(|query| format!("{:width$}  {}\n", query.name, query.question()));
    let usage = "\nagentlake query NAME runs one; --sql and --file run your own over the same views.\n";
    lines.collect::<String>() + usage
}

fn format_named(format: QueryFormat) -> Format {
    match format {
        QueryFormat::Table => Format::Table,
        QueryFormat::Csv => Format::Csv,
        QueryFormat::Json => Format::Json,
        QueryFormat::Ndjson => Format::NdJson,
        QueryFormat::Markdown => Format::Markdown,
        QueryFormat::Parquet => Format::Parquet,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_names_every_query() {
        let text = list(None);
        for query in BUNDLED {
            assert!(text.contains(query.name) && text.contains(query.question()), "{}", query.name);
        }
        assert!(list(Some(Format::Markdown)).starts_with("# Bundled queries"));
    }

    #[test]
    fn a_file_says_its_format() {
        assert_eq!(format_of(Path::new("a/b.csv")), Some(Format::Csv));
        assert_eq!(format_of(Path::new("answer.jsonl")), Some(Format::NdJson));
        assert_eq!(format_of(Path::new("answer.txt")), None);
        assert_eq!(format_of(Path::new("csv")), None);
    }
}
