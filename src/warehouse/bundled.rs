//! The bundled queries: one SQL file each under `queries/`, and the table macros made of them.
//!
//! Parameters are DuckDB variables in the files, so that a file also runs as pasted into a notebook, with
//! `SET VARIABLE since = …` or without. The macro of a file is the same text with arguments in their place, so that
//! `FROM daily_cost(since := DATE '2026-11-01')` and the file never drift apart.

use std::fmt::Write as _;

use super::header::{Column, NamedQuery};
use super::{Result, WarehouseError};

macro_rules! bundled {
    ($($name:literal)+) => {
        /// All bundled queries, by theme, in the order they are listed.
        pub const BUNDLED: &[NamedQuery<'static>] = &[
            $(NamedQuery { name: $name, sql: include_str!(concat!("../../queries/", $name, ".sql")) },)+
        ];
    };
}

bundled! {
    "daily_cost" "weekly_cost" "monthly_cost" "run_rate" "heat_map" "five_hour_windows" "plan_value"
    "model_cost" "project_cost" "branch_cost" "agent_cost" "model_mix"
    "session_cost" "session_tree" "dearest_prompts" "outlier_sessions"
    "cache_savings" "cache_waste" "context_growth"
    "tool_use" "tool_cost" "retry_waste" "file_edits"
    "what_if" "unpriced_models" "reported_vs_computed"
    "latency_split" "work_habits" "data_health"
}

/// The bundled query of a name.
///
/// # Errors
/// Names those that there are.
pub fn bundled(name: &str) -> Result<&'static NamedQuery<'static>> {
    BUNDLED.iter().find(|query| query.name == name).ok_or_else(|| WarehouseError::UnknownQuery {
        name: name.to_owned(),
        known: BUNDLED.iter().map(|query| query.name).collect::<Vec<_>>().join(", "),
    })
}

/// What makes the table macro of a query; may be run again.
pub(super) fn macro_of(query: &NamedQuery<'_>) -> String {
    let (mut arguments, mut body) = (Vec::new(), query.statement().to_owned());
    for parameter in query.parameters() {
        let argument = argument_of(parameter);
        body = body.replace(&format!("getvariable('{parameter}')"), &argument);
        arguments.push(format!("{argument} := NULL"));
    }
    format!("CREATE OR REPLACE MACRO {}({}) AS TABLE\n{body}", query.name, arguments.join(", "))
}

/// What a macro calls a parameter: an argument may not be named like a column.
fn argument_of(parameter: &str) -> String {
    match parameter {
        "provider" | "project" => format!("only_{parameter}"),
        other => other.to_owned(),
    }
}

/// Queries by theme, each theme where its first query stands.
#[must_use]
pub fn by_theme<'a, 'q>(queries: &'q [NamedQuery<'a>]) -> Vec<(&'a str, Vec<&'q NamedQuery<'a>>)> {
    let mut themes: Vec<(&str, Vec<&NamedQuery<'_>>)> = Vec::new();
    for query in queries {
        match themes.iter_mut().find(|(theme, _)| *theme == query.theme()) {
            Some((_, queries)) => queries.push(query),
            None => themes.push((query.theme(), vec![query])),
        }
    }
    themes
}

/// The text of docs/queries.md.
#[must_use]
pub fn markdown() -> String {
    let mut text = INTRODUCTION.to_owned();
    for (theme, queries) in by_theme(BUNDLED) {
        let _ = writeln!(
            text,
            "\n## {}{}",
            theme.get(..1).unwrap_or_default().to_uppercase(),
            theme.get(1..).unwrap_or_default()
        );
        text.extend(queries.into_iter().map(section));
    }
    text
}

fn section(query: &NamedQuery<'_>) -> String {
    let parameters = query.parameters().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let columns = query
        .columns()
        .map(|Column { name, sql_type, meaning }| format!("| {name} | {sql_type} | {meaning} |\n"))
        .collect::<String>();
    format!(
        "\n### {}\n\n{}. {}\n\nParameters: {parameters}.\n\n| column | type | meaning |\n|---|---|---|\n{columns}",
        query.name,
        query.title(),
        query.question(),
    )
}

const INTRODUCTION: &str = include_str!("queries_introduction.md");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_macro_reads_arguments_instead_of_variables() {
        let sql = "-- parameters: since, provider\nSELECT 1 WHERE getvariable('since') = getvariable('provider');\n";
        assert_eq!(
            macro_of(&NamedQuery { name: "q", sql }),
            "CREATE OR REPLACE MACRO q(since := NULL, only_provider := NULL) AS TABLE\nSELECT 1 WHERE since = only_provider"
        );
    }

    /// Else it would work as a file and silently ignore an argument as a macro.
    #[test]
    fn every_variable_that_is_read_is_declared() {
        for query in BUNDLED {
            let read = query.statement().split("getvariable('").skip(1).filter_map(|rest| rest.split('\'').next());
            for variable in read {
                assert!(query.parameters().any(|name| name == variable), "{} reads {variable}", query.name);
            }
            for parameter in query.parameters() {
                assert!(
                    query.sql.contains(&format!("getvariable('{parameter}')")),
                    "{} has no {parameter}",
                    query.name
                );
            }
        }
    }

    #[test]
    fn queries_of_a_theme_stand_together() {
        let listed: Vec<&str> =
            by_theme(BUNDLED).into_iter().flat_map(|(_, queries)| queries).map(|query| query.name).collect();
        let known: Vec<&str> = BUNDLED.iter().map(|query| query.name).collect();
        assert_eq!(listed, known);
        assert!(BUNDLED.iter().all(|query| !query.theme().is_empty()));
    }
}
