//! `agentlake sources`: what was found where, how much of it is new, and why a provider is empty.

use std::io::Write as _;

use anyhow::Result;

use super::places;
use super::summary::{count, size};
use crate::adapters::SourceAdapter;
use crate::cli::{SourcesArgs, SummaryFormat};
use crate::ingest::Plan;
use crate::lake::{Layout, State};

/// What is known of one provider.
struct Provider {
    adapter: &'static dyn SourceAdapter,
    /// Whether `export` would read it.
    is_on: bool,
    sources: u64,
    bytes: u64,
    changed: u64,
    new_bytes: u64,
    /// Sessions in the lake; `None` without a lake.
    sessions: Option<i64>,
    vanished: u64,
    roots: Vec<(String, bool)>,
    problems: Vec<String>,
}

/// Prints the sources.
///
/// # Errors
/// The lake's state cannot be read, or standard output is closed.
pub fn run(arguments: &SourcesArgs) -> Result<()> {
    let layout = Layout::new(&places::lake(&arguments.lake)?);
    let adapters = places::named_adapters(&arguments.roots)?;
    let roots = places::roots(&arguments.roots)?;
    let state = if layout.state_file().exists() { Some(State::open_read_only(&layout)?) } else { None };
    let now = chrono::Utc::now().timestamp_micros();
    let plan = Plan::make(&adapters, &roots, state.as_ref(), now)?;
    let mut providers = Vec::new();
    for adapter in adapters {
        let is_on = places::is_on(adapter, &arguments.roots);
        providers.push(Provider::of(adapter, is_on, &plan, state.as_ref())?);
    }
    let text = match arguments.format {
        SummaryFormat::Table => as_text(&providers),
        SummaryFormat::Json => as_json(&providers),
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

impl Provider {
    fn of(adapter: &'static dyn SourceAdapter, is_on: bool, plan: &Plan, state: Option<&State>) -> Result<Self> {
        let slug = adapter.info().slug;
        let found = || plan.found.iter().filter(|source| source.provider == slug);
        let roots = plan.roots.iter().filter(|(provider, _)| *provider == slug).flat_map(|(_, roots)| roots);
        let problems = plan.problems.iter().filter(|(provider, _)| *provider == slug);
        Ok(Self {
            adapter,
            is_on,
            sources: found().count() as u64,
            bytes: found().map(|source| source.bytes).sum(),
            changed: plan.work.iter().filter(|work| work.source.provider == slug).count() as u64,
            new_bytes: found().map(|source| source.new_bytes).sum(),
            sessions: state.map(|state| state.count_sessions(slug)).transpose()?,
            vanished: plan.vanished.get(slug).copied().unwrap_or(0),
            roots: roots.map(|root| (places::short(root), root.exists())).collect(),
            problems: problems
                .map(|(_, problem)| format!("{}: {}", places::short(&problem.path), problem.reason))
                .collect(),
        })
    }

    /// `on`, `beta` (on, because it was asked for) or `off` (beta, and not asked for).
    fn state(&self) -> &'static str {
        match (self.adapter.info().beta, self.is_on) {
            (false, _) => "on",
            (true, true) => "beta",
            (true, false) => "off",
        }
    }

    /// Why there is nothing, where there is nothing.
    fn why_empty(&self) -> Option<&'static str> {
        match (self.sources, self.roots.iter().any(|(_, exists)| *exists)) {
            (0, false) => Some("none of the places exists: the tool is not installed, or keeps its files elsewhere"),
            (0, true) => Some("the places exist but hold no session"),
            _ => None,
        }
    }
}

fn as_text(providers: &[Provider]) -> String {
    let mut lines = Vec::new();
    for provider in providers {
        let info = provider.adapter.info();
        let state = match provider.state() {
            "off" => format!(", beta: off; --beta or {}=1 turns it on", places::beta_variable(info.slug)),
            "beta" => ", beta: on".to_owned(),
            _ => String::new(),
        };
        lines.push(format!("{} ({}){state}", info.name, info.slug));
        for (root, exists) in &provider.roots {
            lines.push(format!("  {root}{}", if *exists { "" } else { "  (not there)" }));
        }
        if let Some(why) = provider.why_empty() {
            lines.push(format!("  nothing found: {why}"));
        } else {
            let (files, bytes) = (count(provider.sources), size(provider.bytes));
            let (changed, new_bytes) = (count(provider.changed), size(provider.new_bytes));
            lines.push(format!("  {files} files, {bytes}; {changed} of them with {new_bytes} to read"));
        }
        if let Some(sessions) = provider.sessions {
            let gone = if provider.vanished == 0 {
                String::new()
            } else {
                format!("; {} files are gone from disk", count(provider.vanished))
            };
            lines.push(format!("  in the lake: {} sessions{gone}", count(u64::try_from(sessions).unwrap_or(0))));
        }
        lines.push(format!("  numbers: {}", info.numbers));
        lines.extend(provider.problems.iter().map(|problem| format!("  problem: {problem}")));
        lines.push(String::new());
    }
    lines.join("\n")
}

fn as_json(providers: &[Provider]) -> String {
    let providers: Vec<serde_json::Value> = providers
        .iter()
        .map(|provider| {
            let info = provider.adapter.info();
            let roots: Vec<_> = provider
                .roots
                .iter()
                .map(|(path, exists)| serde_json::json!({ "path": path, "exists": exists }))
                .collect();
            serde_json::json!({
                "provider": info.slug,
                "name": info.name,
                "beta": info.beta,
                "state": provider.state(),
                "numbers": info.numbers,
                "roots": roots,
                "files": provider.sources,
                "bytes": provider.bytes,
                "files_to_read": provider.changed,
                "bytes_to_read": provider.new_bytes,
                "sessions_in_lake": provider.sessions,
                "files_gone": provider.vanished,
                "why_empty": provider.why_empty(),
                "problems": provider.problems,
            })
        })
        .collect();
    format!("{:#}\n", serde_json::Value::Array(providers))
}
