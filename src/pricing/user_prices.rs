//! A user's own prices: `prices.toml`, and the file of the same form that `prices update` writes.
//!
//! Strict on purpose: an unknown field, an overlap, a number that is none, or a rate left out is an error with its line, for
//! a price that is silently not applied is worse than none. docs/prices.md describes the form.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::xxh3_64;

use crate::model::time;

use super::PricingError;
use super::aliases::{self, Alias, Billing, Target};
use super::cell::{API, Cell, NO_PROMPT, OPEN_FROM, OPEN_TO, Rate, STANDARD, check_partition, parse_rate, rate_text};
use super::table::put_over;
use super::toml_entries::{self, Entry, Value};

/// The entries of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserPrices {
    /// Cells by price key.
    pub cells: BTreeMap<String, Vec<Cell>>,
    /// Aliases, flat rates and free models.
    pub aliases: Vec<Alias>,
    /// Equal text, equal hash.
    pub hash: String,
    /// The file's name and how much is in it.
    pub summary: String,
}

const SPAN: [&str; 2] = ["valid_from", "valid_to"];
const RATES: [&str; 5] = ["input", "cache_read", "cache_write_5m", "cache_write_1h", "output"];

impl UserPrices {
    /// Reads a file; `name` is what messages call it.
    ///
    /// # Errors
    /// Names the line of the first thing that is wrong.
    pub fn parse(text: &str, name: &str) -> Result<Self, PricingError> {
        let mut user = Self { hash: format!("{:016x}", xxh3_64(text.as_bytes())), ..Self::default() };
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let mut lines: BTreeMap<(String, String, String), usize> = BTreeMap::new();
        for entry in toml_entries::parse(text, name)? {
            let entry = Fields { entry, file: name };
            let table = match entry.entry.table.as_str() {
                "price" => {
                    let cell = entry.price()?;
                    let place = (cell.price_key.clone(), cell.channel.clone(), cell.mode.clone());
                    lines.insert(place, entry.entry.line);
                    user.cells.entry(cell.price_key.clone()).or_default().push(cell);
                    "price"
                }
                "alias" => {
                    user.aliases.push(entry.alias()?);
                    "alias"
                }
                "flat_rate" => {
                    user.aliases.push(entry.unmetered(Billing::FlatRate)?);
                    "flat rate"
                }
                "free" => {
                    user.aliases.push(entry.unmetered(Billing::Free)?);
                    "free model"
                }
                other => {
                    let problem =
                        format!("[[{other}]] is not known; there are [[price]], [[alias]], [[flat_rate]] and [[free]]");
                    return Err(entry.wrong(entry.entry.line, problem));
                }
            };
            *counts.entry(table).or_default() += 1;
        }
        let file = || name.to_owned();
        for ((key, channel, mode), line) in lines {
            let cells = user.cells.get(&key).into_iter().flatten();
            let group: Vec<&Cell> = cells.filter(|cell| cell.channel == channel && cell.mode == mode).collect();
            check_partition(&group, false).map_err(|error| PricingError::File {
                file: file(),
                line,
                problem: error.to_string(),
            })?;
        }
        aliases::check(&user.aliases).map_err(|error| {
            let line = match &error {
                PricingError::AmbiguousAlias { name } => line_of(text, name),
                _ => 1,
            };
            PricingError::File { file: file(), line, problem: error.to_string() }
        })?;
        let counted = counts.iter().map(|(table, count)| match (*count, *table) {
            (1, table) => format!("1 {table}"),
            (count, "alias") => format!("{count} aliases"),
            (count, table) => format!("{count} {table}s"),
        });
        user.summary = format!("{name} ({})", counted.collect::<Vec<_>>().join(", "));
        Ok(user)
    }
}

impl UserPrices {
    /// These prices with others over them, which hold where they speak.
    #[must_use]
    pub fn with_cells(&self, over: &[Cell]) -> Self {
        let mut all = self.clone();
        let mut by_key: BTreeMap<&str, Vec<Cell>> = BTreeMap::new();
        for cell in over {
            by_key.entry(&cell.price_key).or_default().push(cell.clone());
        }
        for (key, cells) in by_key {
            let merged = put_over(all.cells.remove(key).unwrap_or_default(), &cells);
            all.cells.insert(key.to_owned(), merged);
        }
        all
    }

    /// Cells as the text of a file.
    #[must_use]
    pub fn text_of(cells: &[Cell]) -> String {
        cells.iter().map(entry_text).collect()
    }
}

fn entry_text(cell: &Cell) -> String {
    let mut text = format!("\n[[price]]\nprice_key = \"{}\"\n", cell.price_key);
    let mut field = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            text.extend([name, " = ", &value, "\n"]);
        }
    };
    let quoted = |text: &str| Some(format!("\"{text}\""));
    field("channel", quoted(&cell.channel).filter(|_| cell.channel != API));
    field("mode", quoted(&cell.mode).filter(|_| cell.mode != STANDARD));
    field("valid_from", (cell.valid_from != OPEN_FROM).then(|| time::text(cell.valid_from)));
    field("valid_to", (cell.valid_to != OPEN_TO).then(|| time::text(cell.valid_to)));
    field("prompt_over", (cell.prompt_over != NO_PROMPT).then(|| cell.prompt_over.to_string()));
    field("prompt_upto", (cell.prompt_upto != i64::MAX).then(|| cell.prompt_upto.to_string()));
    for (name, rate) in RATES.into_iter().zip(cell.rates()) {
        field(name, Some(rate_text(rate)));
    }
    field("web_search_per_1k", (cell.web_search_per_1k != 0).then(|| rate_text(cell.web_search_per_1k)));
    field("geo_us_mult", (cell.geo_us_mult != 1_000_000).then(|| rate_text(cell.geo_us_mult)));
    field("basis", quoted(&cell.basis));
    field("source", quoted(&cell.source));
    text
}

/// The last line that speaks of a name.
fn line_of(text: &str, name: &str) -> usize {
    (1..).zip(text.lines()).filter(|(_, line)| line.contains(name)).map(|(at, _)| at).last().unwrap_or(1)
}

struct Fields<'a> {
    entry: Entry,
    file: &'a str,
}

impl Fields<'_> {
    fn price(&self) -> Result<Cell, PricingError> {
        let known = [
            "price_key",
            "channel",
            "mode",
            "prompt_over",
            "prompt_upto",
            "web_search_per_1k",
            "geo_us_mult",
            "missing",
            "basis",
            "source",
        ];
        self.only(&[&known[..], &SPAN, &RATES].concat())?;
        let price_key = self.required("price_key")?;
        if !price_key.split_once('/').is_some_and(|(vendor, model)| !vendor.is_empty() && !model.is_empty()) {
            return Err(self.wrong(
                self.line("price_key"),
                format!("`{price_key}` is no price key; write it as \"vendor/model\""),
            ));
        }
        let as_input = match self.text("missing")?.as_deref() {
            None => false,
            Some("input") => true,
            Some(other) => {
                let problem = format!(
                    "missing = \"{other}\" is not known; \"input\" prices classes that are left out like input"
                );
                return Err(self.wrong(self.line("missing"), problem));
            }
        };
        let input = self.rate("input")?.ok_or_else(|| self.lacks("input"))?;
        let rate = |name: &str| match self.rate(name)? {
            Some(rate) => Ok(rate),
            None if as_input => Ok(input),
            None => Err(self.lacks(name)),
        };
        let (valid_from, valid_to) = self.span()?;
        let cell = Cell {
            channel: self.text("channel")?.unwrap_or_else(|| API.to_owned()),
            mode: self.text("mode")?.unwrap_or_else(|| STANDARD.to_owned()),
            valid_from,
            valid_to,
            prompt_over: self.count("prompt_over")?.unwrap_or(NO_PROMPT),
            prompt_upto: self.count("prompt_upto")?.unwrap_or(i64::MAX),
            input,
            cache_read: rate("cache_read")?,
            cache_write_5m: rate("cache_write_5m")?,
            cache_write_1h: rate("cache_write_1h")?,
            output: self.rate("output")?.ok_or_else(|| self.lacks("output"))?,
            web_search_per_1k: self.rate("web_search_per_1k")?.unwrap_or(0),
            geo_us_mult: self.rate("geo_us_mult")?.unwrap_or(1_000_000),
            basis: self.text("basis")?.unwrap_or_else(|| "override".to_owned()),
            source: self.text("source")?.unwrap_or_else(|| self.file.to_owned()),
            price_key,
        };
        match cell.impossible() {
            Some(problem) => Err(self.wrong(self.entry.line, format!("the price of {} {problem}", cell.price_key))),
            None => Ok(cell),
        }
    }

    fn alias(&self) -> Result<Alias, PricingError> {
        self.only(&[&["name", "provider", "price_key", "mode", "source"][..], &SPAN].concat())?;
        let price_key = self.required("price_key")?;
        let Some(target @ Target::Price(_)) = Target::named(&price_key) else {
            let problem = format!("`{price_key}` is no price key; write it as \"vendor/model\"");
            return Err(self.wrong(self.line("price_key"), problem));
        };
        self.named(target, self.text("mode")?)
    }

    fn unmetered(&self, billing: Billing) -> Result<Alias, PricingError> {
        self.only(&[&["name", "provider", "source"][..], &SPAN].concat())?;
        self.named(Target::Unmetered(billing), None)
    }

    fn named(&self, target: Target, mode: Option<String>) -> Result<Alias, PricingError> {
        let (valid_from, valid_to) = self.span()?;
        let (name, provider) = (self.required("name")?, self.text("provider")?);
        Ok(Alias { name, provider, target, mode, valid_from, valid_to, of_user: true })
    }

    fn span(&self) -> Result<(i64, i64), PricingError> {
        let (from, to) = (self.time("valid_from")?.unwrap_or(OPEN_FROM), self.time("valid_to")?.unwrap_or(OPEN_TO));
        if from < to {
            Ok((from, to))
        } else {
            Err(self.wrong(self.line("valid_to"), "valid_to is not after valid_from".to_owned()))
        }
    }

    fn only(&self, known: &[&str]) -> Result<(), PricingError> {
        match self.entry.fields.iter().find(|field| !known.contains(&field.name.as_str())) {
            Some(field) => {
                let problem =
                    format!("[[{}]] has no field `{}`; it has {}", self.entry.table, field.name, known.join(", "));
                Err(self.wrong(field.line, problem))
            }
            None => Ok(()),
        }
    }

    fn value(&self, name: &str) -> Option<&Value> {
        self.entry.fields.iter().find(|field| field.name == name).map(|field| &field.value)
    }

    fn line(&self, name: &str) -> usize {
        self.entry.fields.iter().find(|field| field.name == name).map_or(self.entry.line, |field| field.line)
    }

    fn text(&self, name: &str) -> Result<Option<String>, PricingError> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::Text(text)) if !text.trim().is_empty() => Ok(Some(text.clone())),
            Some(_) => Err(self.wrong(self.line(name), format!("`{name}` must be a text in quotes"))),
        }
    }

    fn required(&self, name: &str) -> Result<String, PricingError> {
        self.text(name)?.ok_or_else(|| self.lacks(name))
    }

    /// A number of USD, in quotes or not.
    fn rate(&self, name: &str) -> Result<Option<Rate>, PricingError> {
        let Some(Value::Bare(text) | Value::Text(text)) = self.value(name) else { return Ok(None) };
        let rate = parse_rate(text.trim_start_matches('+'))
            .ok_or_else(|| self.wrong(self.line(name), format!("`{text}` is no number of at most six decimals")))?;
        if rate < 0 { Err(self.wrong(self.line(name), format!("`{name}` is negative"))) } else { Ok(Some(rate)) }
    }

    fn count(&self, name: &str) -> Result<Option<i64>, PricingError> {
        let Some(value) = self.value(name) else { return Ok(None) };
        match value {
            Value::Bare(text) => text.replace('_', "").parse().ok().filter(|&count: &i64| count > 0),
            Value::Text(_) => None,
        }
        .map(Some)
        .ok_or_else(|| self.wrong(self.line(name), format!("`{name}` is no number of tokens")))
    }

    /// A day (its midnight in UTC) or a time.
    fn time(&self, name: &str) -> Result<Option<i64>, PricingError> {
        let Some(Value::Bare(text) | Value::Text(text)) = self.value(name) else { return Ok(None) };
        time::parse(text).or_else(|| time::parse(&format!("{text}T00:00:00Z"))).map(Some).ok_or_else(|| {
            self.wrong(self.line(name), format!("`{text}` is no day such as 2026-08-21 and no RFC 3339 time"))
        })
    }

    fn lacks(&self, name: &str) -> PricingError {
        let remedy = if RATES.contains(&name) && name != "input" && name != "output" {
            "; say its rate, or missing = \"input\""
        } else {
            ""
        };
        self.wrong(self.entry.line, format!("this [[{}]] has no `{name}`{remedy}", self.entry.table))
    }

    fn wrong(&self, line: usize, problem: String) -> PricingError {
        PricingError::File { file: self.file.to_owned(), line, problem }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: &str = "[[price]]\nprice_key = \"acme/rocket\"\ninput = 1.5\noutput = 3\nmissing = \"input\"\n";

    #[test]
    fn a_file_is_read_with_its_defaults() {
        let text = format!(
            "{FULL}\n[[alias]]\nname = \"rkt\"\nprice_key = \"acme/rocket\"\nprovider = \"cline\"\n\
             [[flat_rate]]\nname = \"plan-model\"\nvalid_from = 2026-01-01\n[[free]]\nname = \"gift\"\n"
        );
        let user = UserPrices::parse(&text, "prices.toml").unwrap();
        let cell = &user.cells["acme/rocket"][0];
        assert_eq!((cell.channel.as_str(), cell.mode.as_str(), cell.basis.as_str()), ("api", "standard", "override"));
        assert_eq!(cell.rates(), [1_500_000, 1_500_000, 1_500_000, 1_500_000, 3_000_000]);
        assert_eq!(user.aliases.len(), 3);
        assert_eq!(user.aliases[1].target, Target::Unmetered(Billing::FlatRate));
        assert_eq!(user.summary, "prices.toml (1 alias, 1 flat rate, 1 free model, 1 price)");
    }

    #[test]
    fn explicit_zero_is_a_price() {
        let text = "[[price]]\nprice_key = \"acme/gift\"\ninput = 0\noutput = 0\nmissing = \"input\"\n";
        assert_eq!(UserPrices::parse(text, "f").unwrap().cells["acme/gift"][0].rates(), [0; 5]);
    }

    #[test]
    fn whatever_is_wrong_is_told_with_its_line() {
        for (text, message) in [
            ("[[price]]\nprice_key = \"a/b\"\ninptu = 1\n", "line 3 of f: [[price]] has no field `inptu`"),
            ("[[price]]\nprice_key = \"a/b\"\ninput = 1\noutput = x\n", "line 4 of f: `x` is no text in quotes"),
            ("[[price]]\nprice_key = \"a/b\"\ninput = 1.0000001\n", "line 3 of f: `1.0000001` is no number"),
            ("[[price]]\nprice_key = \"a/b\"\ninput = -1\n", "line 3 of f: `input` is negative"),
            ("[[price]]\nprice_key = \"ab\"\n", "line 2 of f: `ab` is no price key"),
            ("[[price]]\nprice_key = \"a/b\"\noutput = 1\n", "line 1 of f: this [[price]] has no `input`"),
            (
                "[[price]]\nprice_key = \"a/b\"\ninput = 1\noutput = 1\n",
                "line 1 of f: this [[price]] has no `cache_read`; say its rate, or missing = \"input\"",
            ),
            (
                "[[price]]\nprice_key = \"a/b\"\nvalid_from = 2026-02-30\ninput = 1\n",
                "line 3 of f: `2026-02-30` is no day",
            ),
            ("[[price]]\nprice_key = \"a/b\"\nmissing = \"zero\"\n", "line 3 of f: missing = \"zero\" is not known"),
            ("[[prices]]\n", "line 1 of f: [[prices]] is not known"),
            ("[[alias]]\nname = \"x\"\n", "line 1 of f: this [[alias]] has no `price_key`"),
            ("[[alias]]\nname = \"x\"\nprice_key = \"free\"\n", "line 3 of f: `free` is no price key"),
            ("[[free]]\nname = 5\n", "line 2 of f: `name` must be a text in quotes"),
            (
                "[[free]]\nname = \"x\"\nvalid_from = 2026-02-01\nvalid_to = 2026-01-01\n",
                "line 4 of f: valid_to is not after valid_from",
            ),
            ("[[free]]\nname = \"x\"\n[[free]]\nname = \"x\"\n", "line 4 of f: alias x has spans of time that overlap"),
        ] {
            let error = UserPrices::parse(text, "f").unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
        let twice = format!("{FULL}{FULL}");
        let error = UserPrices::parse(&twice, "f").unwrap_err().to_string();
        assert!(error.starts_with("line 6 of f: prices of acme/rocket api standard"), "{error}");
        let half = FULL.replace("output = 3", "output = 3\nprompt_upto = 1_000");
        assert!(UserPrices::parse(&half, "f").unwrap_err().to_string().contains("prompt size"));
    }
}
