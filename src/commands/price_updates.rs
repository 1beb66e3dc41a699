//! `agentlake prices update --from FILE`: takes present prices from a published list into a file of the user's own.
//!
//! The carried table stays as it is; `prices.updates.toml` beside prices.toml says what holds from a day on. So a month
//! that was priced does not move. The file is replaced whole, by a rename.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow};

use super::own_prices::{self, Places};
use super::prices::instant;
use crate::cli::prices::PricesUpdateArgs;
use crate::model::time;
use crate::pricing::{Cell, PriceTable, UserPrices, price_lists, rate_text};

/// Runs the command; returns what to tell.
///
/// # Errors
/// The list cannot be read, or the file cannot be written.
pub fn run(arguments: &PricesUpdateArgs) -> Result<String> {
    let places = Places::of(&arguments.prices)
        .ok_or_else(|| anyhow!("there is no home directory; say where your prices are with --prices FILE"))?;
    let name = arguments.from.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let list = fs_err::read_to_string(&arguments.from)?;
    let (form, statements) = price_lists::read(&list, &name)?;
    let noted = if places.updates.exists() { own_prices::read(&places.updates)? } else { UserPrices::default() };
    // A list is compared with what was known before it, not with what the user says otherwise.
    let table = PriceTable::builtin()?.with(&noted)?;
    let source = name.replace(['"', '\\'], "'");
    let at = instant(arguments.at);
    let changes = price_lists::changes(&table, &statements, at, &source)?;
    let mut text = format!("{form:?}: {} models with a price; {} differ\n", statements.len(), changes.len());
    for change in &changes {
        let Some(cell) = change.after.first() else { continue };
        let before = change.before.first().map_or_else(|| "no price".to_owned(), shown);
        let _ = writeln!(text, "  {}: {before} becomes {}", cell.price_key, shown(cell));
    }
    if changes.is_empty() || arguments.dry_run {
        return Ok(text);
    }
    let cells: Vec<Cell> = changes.into_iter().flat_map(|change| change.after).collect();
    let all = noted.with_cells(&cells);
    let table = PriceTable::builtin()?.with(&all)?;
    table.check().context("the prices of this list do not fit together; nothing was written")?;
    replace(&places.updates, &all)?;
    let _ = writeln!(text, "from {} on, noted in {}", time::text(at), places.updates.display());
    Ok(text)
}

fn shown(cell: &Cell) -> String {
    let [input, .., output] = cell.rates().map(rate_text);
    format!("{input} in, {output} out")
}

fn replace(file: &Path, prices: &UserPrices) -> Result<()> {
    let cells: Vec<Cell> = prices.cells.values().flatten().cloned().collect();
    let heading =
        "# Written by `agentlake prices update`; your own prices belong into prices.toml, which goes before this.\n";
    let text = format!("{heading}{}", UserPrices::text_of(&cells));
    UserPrices::parse(&text, "the new file").context("this is a mistake of agentlake's; nothing was written")?;
    if let Some(folder) = file.parent() {
        fs_err::create_dir_all(folder)?;
    }
    let fresh = file.with_extension("toml.new");
    fs_err::write(&fresh, text)?;
    fs_err::rename(&fresh, file)?;
    Ok(())
}
