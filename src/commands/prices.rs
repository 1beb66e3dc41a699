//! `agentlake prices`: what models cost, which in the lake have no price, and the user's own files of prices.

use std::fmt::Write as _;
use std::io::Write as _;

use anyhow::Result;
use chrono::NaiveDate;

use super::own_prices;
use super::price_updates;
use crate::cli::SummaryFormat;
use crate::cli::prices::{PricesCheckArgs, PricesCommand, PricesCommandArgs, PricesListArgs, PricesShowArgs};
use crate::model::time;
use crate::pricing::{self, Cell, ModelPrice, ModelUse, OPEN_FROM, OPEN_TO, PriceTable, STANDARD, nearest, rate_text};

/// Runs one of the subcommands.
///
/// # Errors
/// A file of prices cannot be read, or there is no lake.
pub fn run(arguments: &PricesCommandArgs) -> Result<()> {
    let text = match &arguments.command {
        PricesCommand::List(arguments) => list(arguments)?,
        PricesCommand::Show(arguments) => show(arguments)?,
        #[cfg(feature = "duckdb")]
        PricesCommand::Missing(arguments) => super::database::missing_prices(arguments)?,
        PricesCommand::Check(arguments) => check(arguments)?,
        PricesCommand::Update(arguments) => price_updates::run(arguments)?,
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// The midnight that a day begins with, or now.
pub(super) fn instant(day: Option<NaiveDate>) -> i64 {
    day.and_then(|day| day.and_hms_opt(0, 0, 0))
        .map_or_else(|| chrono::Utc::now().timestamp_micros(), |midnight| midnight.and_utc().timestamp_micros())
}

fn list(arguments: &PricesListArgs) -> Result<String> {
    let table = own_prices::table(&arguments.prices)?;
    let at = instant(arguments.at);
    let of_vendor = |key: &&str| {
        arguments.vendor.as_deref().is_none_or(|vendor| key.split_once('/').is_some_and(|(of, _)| of == vendor))
    };
    let mut cells = Vec::new();
    for key in table.keys().into_iter().filter(of_vendor) {
        cells.extend(table.rates_for(key, pricing::API, STANDARD, at)?);
    }
    if arguments.format == SummaryFormat::Json {
        let cells: Vec<_> = cells.iter().map(cell_json).collect();
        return Ok(format!("{:#}\n", serde_json::json!({ "price_basis": table.basis().to_string(), "prices": cells })));
    }
    let mut text = format!("{:<44} {HEADS}\n", "USD per million tokens");
    for cell in &cells {
        let _ = writeln!(text, "{:<44} {}", format!("{}{}", cell.price_key, band(cell)), columns(cell));
    }
    let _ = writeln!(text, "\n{}", table.basis());
    Ok(text)
}

fn show(arguments: &PricesShowArgs) -> Result<String> {
    let table = own_prices::table(&arguments.prices)?;
    let model_use =
        ModelUse { provider: arguments.provider.clone(), model: arguments.model.clone(), ..ModelUse::default() };
    let mut meanings = pricing::resolve(&table, &model_use);
    if table.has_key(&arguments.model) {
        // A price key, not a name: all there is to say is its prices.
        let first = meanings.first().cloned();
        meanings = first
            .map(|row| ModelPrice {
                price_key: Some(arguments.model.clone()),
                match_kind: "exact".to_owned(),
                valid_from: OPEN_FROM,
                valid_to: OPEN_TO,
                ..row
            })
            .into_iter()
            .collect();
    }
    let mut cells = Vec::new();
    for key in meanings.iter().filter_map(|row| row.price_key.as_deref()) {
        cells.extend(table.cells_of(key)?);
    }
    let near = if cells.is_empty() { nearest(&table, &arguments.model, 5) } else { Vec::new() };
    if arguments.format == SummaryFormat::Json {
        let rows: Vec<_> = meanings.iter().map(meaning_json).collect();
        let cells: Vec<_> = cells.iter().map(cell_json).collect();
        let json = serde_json::json!({
            "price_basis": table.basis().to_string(), "model": arguments.model, "meanings": rows, "prices": cells, "nearest": near,
        });
        return Ok(format!("{json:#}\n"));
    }
    Ok(shown(&table, &arguments.model, &meanings, &cells, &near))
}

fn shown(table: &PriceTable, model: &str, meanings: &[ModelPrice], cells: &[Cell], near: &[String]) -> String {
    let mut text = String::new();
    for row in meanings {
        let what = match &row.price_key {
            Some(key) => format!("{key}, channel {}, mode {} ({})", row.channel, row.mode, row.match_kind),
            None if row.billing.is_nothing() => {
                format!("not billed by the token: {} ({})", row.billing.name(), row.match_kind)
            }
            None => "no price is known".to_owned(),
        };
        let _ = writeln!(text, "{model}{}: {what}", span(row.valid_from, row.valid_to));
    }
    for name in near {
        let _ = writeln!(text, "  near to it: {name}");
    }
    if !cells.is_empty() {
        let _ = writeln!(text, "\n{:<72} {HEADS}  basis", "USD per million tokens");
    }
    for cell in cells {
        let place = format!(
            "{} {} {}{}{}",
            cell.price_key,
            cell.channel,
            cell.mode,
            band(cell),
            span(cell.valid_from, cell.valid_to)
        );
        let _ = writeln!(text, "{place:<72} {}  {} {}", columns(cell), cell.basis, cell.source);
    }
    let _ = writeln!(text, "\n{}", table.basis());
    text
}

const HEADS: &str = "   input cache read  write 5m  write 1h    output";

fn columns(cell: &Cell) -> String {
    let [input, rest @ ..] = cell.rates().map(rate_text);
    rest.iter().fold(format!("{input:>8}"), |text, rate| format!("{text} {rate:>9}"))
}

fn band(cell: &Cell) -> String {
    match (cell.prompt_over, cell.prompt_upto) {
        (pricing::NO_PROMPT, i64::MAX) => String::new(),
        (pricing::NO_PROMPT, upto) => format!(" up to {upto}"),
        (over, _) => format!(" over {over}"),
    }
}

fn span(from: i64, to: i64) -> String {
    let since = if from == OPEN_FROM { String::new() } else { format!(" from {}", time::text(from)) };
    let until = if to == OPEN_TO { String::new() } else { format!(" until {}", time::text(to)) };
    since + &until
}

fn open_text(at: i64, open: i64) -> Option<String> {
    (at != open).then(|| time::text(at))
}

fn meaning_json(row: &ModelPrice) -> serde_json::Value {
    serde_json::json!({
        "price_key": row.price_key, "billing": row.billing.name(), "channel": row.channel, "mode": row.mode,
        "match_kind": row.match_kind,
        "valid_from": open_text(row.valid_from, OPEN_FROM), "valid_to": open_text(row.valid_to, OPEN_TO),
    })
}

/// Rates are texts: a JSON number would become a binary fraction in most readers.
fn cell_json(cell: &Cell) -> serde_json::Value {
    let [input, cache_read, cache_write_5m, cache_write_1h, output] = cell.rates().map(rate_text);
    serde_json::json!({
        "price_key": cell.price_key, "channel": cell.channel, "mode": cell.mode,
        "valid_from": open_text(cell.valid_from, OPEN_FROM), "valid_to": open_text(cell.valid_to, OPEN_TO),
        "prompt_over": (cell.prompt_over != pricing::NO_PROMPT).then_some(cell.prompt_over),
        "prompt_upto": (cell.prompt_upto != i64::MAX).then_some(cell.prompt_upto),
        "input": input, "cache_read": cache_read, "cache_write_5m": cache_write_5m, "cache_write_1h": cache_write_1h,
        "output": output, "web_search_per_1k": rate_text(cell.web_search_per_1k),
        "geo_us_mult": rate_text(cell.geo_us_mult), "basis": cell.basis, "source": cell.source,
    })
}

fn check(arguments: &PricesCheckArgs) -> Result<String> {
    let user = own_prices::read(&arguments.file)?;
    let table = PriceTable::builtin()?.with(&user)?;
    table.check()?;
    let mut text = format!("{} is fine: {}\n", arguments.file.display(), user.summary);
    for cell in user.cells.values().flatten() {
        if let Some(doubt) = cell.doubtful() {
            let _ = writeln!(text, "doubtful, though accepted: {}: {doubt}", cell.place());
        }
    }
    Ok(text)
}
