//! The dated price table: cells, their parser, and the rule that they partition what they price.
//!
//! A cell is one price for (price key, channel, mode) between two instants and for one band of prompt sizes. Nothing is
//! multiplied at run time except the surcharge for inference in the US: each of the five rates is written out, because
//! vendors do not keep their ratios (Anthropic's cache reads cost 0.1, 0.05 or 0.025 of the input, depending on the
//! model). Left to others: which cell a model id means ([`super::names`]) and the arithmetic over rows (SQL).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use xxhash_rust::xxh3::xxh3_64;

use crate::model::{Counters, time};

use super::PricingError;

/// Where an open `valid_from` begins: before any of the models existed. 1970-01-01, in microseconds.
pub const OPEN_FROM: i64 = 0;
/// Where an open `valid_to` ends: 9999-01-01T00:00:00Z, in microseconds.
pub const OPEN_TO: i64 = 253_370_764_800_000_000;
/// The `prompt_over` of a band that begins at an empty prompt (the bound is exclusive).
pub const NO_PROMPT: i64 = -1;
/// The channel of the vendor's own API, the only one that the table holds today.
pub const API: &str = "api";

/// Decimal places of a rate: a micro-dollar per million tokens is a pico-dollar per token.
const RATE_SCALE: u32 = 6;

/// One price: micro-dollars per million tokens, which is the same as pico-dollars per token.
pub type Rate = i64;

/// Prices of one (key, channel, mode) for a span of time and a band of prompt sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// `vendor/model`.
    pub price_key: String,
    /// How the vendor was reached: `api`.
    pub channel: String,
    /// `standard`, `batch`, `flex`, `fast` or `ultrafast`.
    pub mode: String,
    /// First instant that it holds for, microseconds since the epoch.
    pub valid_from: i64,
    /// First instant that it no longer holds for.
    pub valid_to: i64,
    /// Holds for prompts of more tokens than this …
    pub prompt_over: i64,
    /// … and of at most as many as this.
    pub prompt_upto: i64,
    /// Uncached prompt tokens.
    pub input: Rate,
    /// Prompt tokens read from a cache.
    pub cache_read: Rate,
    /// Prompt tokens written to a cache for five minutes or an unrecorded time.
    pub cache_write_5m: Rate,
    /// Prompt tokens written to a cache for an hour (OpenAI: for twelve).
    pub cache_write_1h: Rate,
    /// Generated tokens, reasoning included.
    pub output: Rate,
    /// Micro-dollars per thousand web searches.
    pub web_search_per_1k: Rate,
    /// Millionths by which the five rates grow for inference in the US: 1,100,000 is ten per cent more.
    pub geo_us_mult: Rate,
    /// How the price is known: `documented` by the vendor, `observed` in a price list, or the `commit` that listed it.
    pub basis: String,
    /// Where it can be looked up.
    pub source: String,
}

impl Cell {
    /// Whether the cell prices a request at `at` (microseconds) with `prompt` tokens of context.
    #[must_use]
    pub fn holds(&self, at: i64, prompt: i64) -> bool {
        self.valid_from <= at && at < self.valid_to && self.prompt_over < prompt && prompt <= self.prompt_upto
    }

    /// Cost in pico-dollars (10^-12 USD), the exact twin of what `priced_requests` computes in SQL. A counter that is
    /// not recorded costs nothing.
    #[must_use]
    pub fn cost(&self, counters: &Counters, in_us: bool) -> i128 {
        let tokens = [
            (counters.input, self.input),
            (counters.cache_read, self.cache_read),
            (counters.cache_write_5m, self.cache_write_5m),
            (counters.cache_write_1h, self.cache_write_1h),
            (counters.output, self.output),
        ];
        let multiplier = if in_us { i128::from(self.geo_us_mult) } else { 1_000_000 };
        let rated: i128 = tokens
            .iter()
            .map(|&(count, rate)| i128::from(count.unwrap_or(0)) * (i128::from(rate) * multiplier / 1_000_000))
            .sum();
        // Micro-dollars per thousand searches are 1,000 pico-dollars per search each.
        let searches =
            i128::from(counters.web_search_requests.unwrap_or(0)) * i128::from(self.web_search_per_1k) * 1_000;
        rated + searches
    }

    fn rates(&self) -> [Rate; 7] {
        let Self { input, cache_read, cache_write_5m, cache_write_1h, output, web_search_per_1k, geo_us_mult, .. } =
            *self;
        [input, cache_read, cache_write_5m, cache_write_1h, output, web_search_per_1k, geo_us_mult]
    }
}

/// Another name of a model, for a span of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alias {
    /// The name, as recorded.
    pub name: String,
    /// What it is priced as.
    pub price_key: String,
    /// First instant that it means this, microseconds since the epoch.
    pub valid_from: i64,
    /// First instant that it no longer does.
    pub valid_to: i64,
}

/// All cells and aliases, checked.
#[derive(Debug, Clone)]
pub struct PriceTable {
    cells: Vec<Cell>,
    aliases: Vec<Alias>,
    fingerprint: String,
}

static BUILTIN: LazyLock<Result<PriceTable, PricingError>> =
    LazyLock::new(|| PriceTable::parse(include_str!("data/prices.csv"), include_str!("data/aliases.csv")));

impl PriceTable {
    /// The table that this build carries.
    ///
    /// # Errors
    /// Only if the data files were edited into something that breaks the partition; the tests catch that.
    pub fn builtin() -> Result<&'static Self, PricingError> {
        BUILTIN.as_ref().map_err(Clone::clone)
    }

    /// Reads the two data files (see `data/NOTICES.md` for their columns) and checks them.
    ///
    /// # Errors
    /// Names the file and line of a field that cannot be read, and the cells that overlap or leave a gap.
    pub fn parse(prices: &str, aliases: &str) -> Result<Self, PricingError> {
        let fingerprint = format!("{:016x}", xxh3_64([prices, aliases].concat().as_bytes()));
        let cells =
            rows(prices, PRICES, 16)?.map(|row| row.and_then(|row| row.cell())).collect::<Result<Vec<_>, _>>()?;
        let aliases =
            rows(aliases, ALIASES, 5)?.map(|row| row.and_then(|row| row.alias())).collect::<Result<Vec<_>, _>>()?;
        let table = Self { cells, aliases, fingerprint };
        table.check()?;
        Ok(table)
    }

    /// Tells price tables apart: equal text, equal fingerprint.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// All cells, by key, channel, mode, time and prompt size.
    #[must_use]
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// All aliases.
    #[must_use]
    pub fn aliases(&self) -> &[Alias] {
        &self.aliases
    }

    /// The bands that hold at an instant for a key, channel and mode: one, or one per prompt size.
    pub fn rates_for<'a>(
        &'a self,
        key: &'a str,
        channel: &'a str,
        mode: &'a str,
        at: i64,
    ) -> impl Iterator<Item = &'a Cell> {
        self.cells.iter().filter(move |cell| {
            cell.price_key == key
                && cell.channel == channel
                && cell.mode == mode
                && cell.valid_from <= at
                && at < cell.valid_to
        })
    }

    fn check(&self) -> Result<(), PricingError> {
        let mut groups: BTreeMap<[&str; 3], Vec<&Cell>> = BTreeMap::new();
        for cell in &self.cells {
            if cell.rates().iter().any(|&rate| rate < 0) {
                return Err(PricingError::Negative { cell: describe(cell) });
            }
            groups.entry([&cell.price_key, &cell.channel, &cell.mode]).or_default().push(cell);
        }
        for group in groups.values() {
            check_partition(group)?;
        }
        let mut spans: BTreeMap<&str, Vec<(i64, i64)>> = BTreeMap::new();
        for alias in &self.aliases {
            if !self.cells.iter().any(|cell| cell.price_key == alias.price_key) {
                return Err(PricingError::DanglingAlias {
                    name: alias.name.clone(),
                    price_key: alias.price_key.clone(),
                });
            }
            spans.entry(&alias.name).or_default().push((alias.valid_from, alias.valid_to));
        }
        for (name, mut spans) in spans {
            spans.sort_unstable();
            if spans.iter().zip(spans.iter().skip(1)).any(|(first, second)| second.0 < first.1) {
                return Err(PricingError::AmbiguousAlias { name: name.to_owned() });
            }
        }
        Ok(())
    }
}

/// A group must cover all of time, and each of its spans of time all prompt sizes, without gap or overlap: then a join on
/// it returns exactly one row per request.
fn check_partition(group: &[&Cell]) -> Result<(), PricingError> {
    let mut spans: BTreeMap<(i64, i64), Vec<&Cell>> = BTreeMap::new();
    for cell in group {
        spans.entry((cell.valid_from, cell.valid_to)).or_default().push(cell);
    }
    let mut reached = OPEN_FROM;
    for ((from, to), bands) in &mut spans {
        let at = bands.first().map(|cell| describe(cell)).unwrap_or_default();
        if *from != reached || to <= from {
            return Err(PricingError::NotAPartition { cell: at, axis: "time", expected: time::text(reached) });
        }
        reached = *to;
        bands.sort_unstable_by_key(|cell| cell.prompt_over);
        let mut covered = NO_PROMPT;
        for band in bands.iter() {
            if band.prompt_over != covered || band.prompt_upto <= band.prompt_over {
                let expected = covered.to_string();
                return Err(PricingError::NotAPartition { cell: describe(band), axis: "prompt size", expected });
            }
            covered = band.prompt_upto;
        }
        if covered != i64::MAX {
            return Err(PricingError::NotAPartition { cell: at, axis: "prompt size", expected: covered.to_string() });
        }
    }
    if reached != OPEN_TO {
        let cell = group.first().map(|cell| describe(cell)).unwrap_or_default();
        return Err(PricingError::NotAPartition { cell, axis: "time", expected: time::text(reached) });
    }
    Ok(())
}

fn describe(cell: &Cell) -> String {
    format!(
        "{} {} {} from {} over {}",
        cell.price_key,
        cell.channel,
        cell.mode,
        time::text(cell.valid_from),
        cell.prompt_over
    )
}

const PRICES: &str = "prices.csv";
const ALIASES: &str = "aliases.csv";

/// One line of a data file. The files hold no quotes and no commas inside fields.
struct Row<'a> {
    file: &'static str,
    line: usize,
    fields: Vec<&'a str>,
}

fn rows<'a>(
    text: &'a str,
    file: &'static str,
    width: usize,
) -> Result<impl Iterator<Item = Result<Row<'a>, PricingError>>, PricingError> {
    let mut lines = text.lines().enumerate();
    lines.next().ok_or_else(|| PricingError::Field { file, line: 1, problem: "is empty".to_owned() })?;
    Ok(lines.filter(|(_, line)| !line.is_empty()).map(move |(index, line)| {
        let fields: Vec<&str> = line.split(',').collect();
        if fields.len() == width {
            Ok(Row { file, line: index + 1, fields })
        } else {
            let problem = format!("has {} fields, not {width}", fields.len());
            Err(PricingError::Field { file, line: index + 1, problem })
        }
    }))
}

impl Row<'_> {
    fn cell(&self) -> Result<Cell, PricingError> {
        let cell = Cell {
            price_key: self.text(0)?,
            channel: self.text(1)?,
            mode: self.text(2)?,
            valid_from: self.time(3, OPEN_FROM)?,
            valid_to: self.time(4, OPEN_TO)?,
            prompt_over: self.count(5, NO_PROMPT)?,
            prompt_upto: self.count(6, i64::MAX)?,
            input: self.decimal(7)?,
            cache_read: self.decimal(8)?,
            cache_write_5m: self.decimal(9)?,
            cache_write_1h: self.decimal(10)?,
            output: self.decimal(11)?,
            web_search_per_1k: self.decimal(12)?,
            geo_us_mult: self.decimal(13)?,
            basis: self.text(14)?,
            source: self.text(15)?,
        };
        // SQL casts the surcharged rate back to six decimals; it must not round there.
        let [input, cache_read, cache_write_5m, cache_write_1h, output, ..] = cell.rates();
        let rates = [input, cache_read, cache_write_5m, cache_write_1h, output];
        if rates.iter().any(|rate| i128::from(*rate) * i128::from(cell.geo_us_mult) % 1_000_000 != 0) {
            return Err(self.error("has a rate that the US surcharge would round"));
        }
        Ok(cell)
    }

    fn alias(&self) -> Result<Alias, PricingError> {
        Ok(Alias {
            name: self.text(0)?,
            price_key: self.text(1)?,
            valid_from: self.time(2, OPEN_FROM)?,
            valid_to: self.time(3, OPEN_TO)?,
        })
    }

    fn text(&self, column: usize) -> Result<String, PricingError> {
        match self.fields.get(column) {
            Some(text) if !text.is_empty() => Ok((*text).to_owned()),
            _ => Err(self.error(&format!("has nothing in column {}", column + 1))),
        }
    }

    fn time(&self, column: usize, open: i64) -> Result<i64, PricingError> {
        match self.fields.get(column) {
            Some(&"") => Ok(open),
            Some(text) => time::parse(text).ok_or_else(|| self.error(&format!("has no RFC 3339 time in `{text}`"))),
            None => Err(self.error("is too short")),
        }
    }

    fn count(&self, column: usize, open: i64) -> Result<i64, PricingError> {
        match self.fields.get(column) {
            Some(&"") => Ok(open),
            Some(text) => text.parse().map_err(|_| self.error(&format!("has no count of tokens in `{text}`"))),
            None => Err(self.error("is too short")),
        }
    }

    fn decimal(&self, column: usize) -> Result<Rate, PricingError> {
        let text = self.text(column)?;
        parse_decimal(&text).ok_or_else(|| self.error(&format!("has no number of at most six decimals in `{text}`")))
    }

    fn error(&self, problem: &str) -> PricingError {
        PricingError::Field { file: self.file, line: self.line, problem: problem.to_owned() }
    }
}

/// Reads `3.75` as 3,750,000. Prices are never read as floating point: `2.8e-09` is not exact there.
fn parse_decimal(text: &str) -> Option<Rate> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let decimals = u32::try_from(fraction.len()).ok().filter(|&decimals| decimals <= RATE_SCALE)?;
    let unscaled: Rate = format!("{whole}{fraction}").parse().ok()?;
    let scaled = unscaled.checked_mul(10_i64.pow(RATE_SCALE - decimals))?;
    Some(if negative { -scaled } else { scaled })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "price_key,channel,mode,valid_from,valid_to,prompt_over,prompt_upto,…\n";
    const NO_ALIASES: &str = "name,price_key,valid_from,valid_to,source\n";

    fn line(span: &str, bands: &str, input: &str) -> String {
        format!("v/m,api,standard,{span},{bands},{input},1,1,1,1,10,1,documented,https://example.org\n")
    }

    fn parsed(lines: &[String]) -> Result<PriceTable, PricingError> {
        PriceTable::parse(&format!("{HEADER}{}", lines.concat()), NO_ALIASES)
    }

    #[test]
    fn the_builtin_table_is_a_partition() {
        let table = PriceTable::builtin().unwrap();
        assert!(table.cells().len() > 200);
    }

    #[test]
    fn a_full_partition_is_accepted() {
        let day = "2026-01-01T00:00:00Z";
        parsed(&[
            line(&format!(",{day}"), ",", "1"),
            line(&format!("{day},"), ",200000", "1"),
            line(&format!("{day},"), "200000,", "2"),
        ])
        .unwrap();
    }

    #[test]
    fn gaps_and_overlaps_in_time_are_refused() {
        let gap = [line(",2026-01-01T00:00:00Z", ",", "1"), line("2026-01-02T00:00:00Z,", ",", "1")];
        let overlap = [line(",2026-01-02T00:00:00Z", ",", "1"), line("2026-01-01T00:00:00Z,", ",", "1")];
        let unfinished = [line(",2026-01-01T00:00:00Z", ",", "1")];
        let late = [line("2026-01-01T00:00:00Z,", ",", "1")];
        for lines in [&gap[..], &overlap[..], &unfinished[..], &late[..]] {
            assert!(matches!(parsed(lines), Err(PricingError::NotAPartition { axis: "time", .. })), "{lines:?}");
        }
    }

    #[test]
    fn gaps_and_overlaps_in_prompt_size_are_refused() {
        let gap = [line(",", ",1000", "1"), line(",", "1001,", "1")];
        let overlap = [line(",", ",1000", "1"), line(",", "999,", "1")];
        let unfinished = [line(",", ",1000", "1")];
        let twice = [line(",", ",", "1"), line(",", ",", "1")];
        for lines in [&gap[..], &overlap[..], &unfinished[..], &twice[..]] {
            assert!(matches!(parsed(lines), Err(PricingError::NotAPartition { axis: "prompt size", .. })), "{lines:?}");
        }
    }

    /// A tier with another validity than its base row made a prototype's join duplicate rows.
    #[test]
    fn a_tier_must_share_the_span_of_its_base() {
        let lines = [line(",", ",1000", "1"), line(",2026-01-01T00:00:00Z", "1000,", "2")];
        assert!(parsed(&lines).is_err());
    }

    #[test]
    fn negative_rates_are_refused() {
        assert!(matches!(parsed(&[line(",", ",", "-1")]), Err(PricingError::Negative { .. })));
    }

    #[test]
    fn decimals_are_exact_text() {
        assert_eq!(parse_decimal("3.75"), Some(3_750_000));
        assert_eq!(parse_decimal("0.0025"), Some(2_500));
        assert_eq!(parse_decimal("10"), Some(10_000_000));
        for text in ["", ".5", "1e3", "0.0000001", "1.2.3", "∞"] {
            assert_eq!(parse_decimal(text), None, "{text}");
        }
    }

    /// The rules that `data/NOTICES.md` states, so that a typing error in one of 300 lines does not pass.
    #[test]
    fn the_table_keeps_the_vendors_ratios() {
        let cells = PriceTable::builtin().unwrap().cells();
        let twin = |cell: &Cell, mode: &str| {
            cells.iter().find(|other| {
                other.mode == mode
                    && other.price_key == cell.price_key
                    && other.valid_from == cell.valid_from
                    && other.prompt_over == cell.prompt_over
            })
        };
        for cell in cells {
            assert!(cell.cache_read <= cell.input, "{}", describe(cell));
            if cell.price_key.starts_with("anthropic/") {
                assert_eq!(cell.cache_write_1h, 2 * cell.input, "{}", describe(cell));
            }
            if let ("batch" | "flex", Some(standard)) = (cell.mode.as_str(), twin(cell, "standard")) {
                assert_eq!([2 * cell.input, 2 * cell.output], [standard.input, standard.output], "{}", describe(cell));
            }
        }
    }
}
