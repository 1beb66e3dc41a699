//! The dated price table: what a build carries, and what a user's files put over it.
//!
//! The text of some 1,800 cells is not parsed at start: one pass notes where the lines of each key stand, and cells are read
//! when a key is asked for. A user's cells are few and are kept parsed. Left to others: which key a model id means
//! ([`super::names`]) and the arithmetic over rows (SQL).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use xxhash_rust::xxh3::xxh3_64;

use super::PricingError;
use super::aliases::{self, Alias};
use super::cell::{Cell, check_partition};
use super::data_files::{ALIASES, HOLIDAYS, PRICES, Row, SCHEDULES, rows};
use super::schedules::{Holidays, Schedule};
use super::user_prices::UserPrices;

/// Fields of a line of prices.csv.
const PRICE_FIELDS: usize = 16;

/// The files of a table, as text.
#[derive(Debug, Clone, Default)]
pub struct DataFiles {
    /// prices.csv.
    pub prices: Cow<'static, str>,
    /// aliases.csv.
    pub aliases: Cow<'static, str>,
    /// schedules.csv.
    pub schedules: Cow<'static, str>,
    /// holidays.csv.
    pub holidays: Cow<'static, str>,
    /// Day of the newest price list that went in, `YYYY-MM-DD`.
    pub date: Cow<'static, str>,
}

/// All prices, aliases and schedules.
#[derive(Debug, Clone)]
pub struct PriceTable {
    text: Cow<'static, str>,
    /// By key, in ascending order: where its lines stand.
    index: Vec<(Range<usize>, Block)>,
    folded: OnceLock<HashMap<String, Option<String>>>,
    /// Keys that a user's file changed, with all their cells.
    overlay: BTreeMap<String, Vec<Cell>>,
    aliases: Vec<Alias>,
    schedules: Vec<Schedule>,
    holidays: Holidays,
    basis: Basis,
}

/// The lines of one key.
#[derive(Debug, Clone)]
struct Block {
    lines: Range<usize>,
    first_line: usize,
}

/// What a report was priced with: enough to know whether two reports can be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Basis {
    /// Version of the program that carries the table.
    pub version: &'static str,
    /// Day of the newest price list that went in.
    pub date: String,
    /// Equal text of all files, equal hash.
    pub hash: String,
    /// User's files that were put over it, each with how many entries.
    pub over: Vec<String>,
}

impl std::fmt::Display for Basis {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "prices of {} (agentlake {}, {})", self.date, self.version, self.hash)?;
        self.over.iter().try_for_each(|over| write!(formatter, " + {over}"))
    }
}

static BUILTIN: LazyLock<Result<PriceTable, PricingError>> = LazyLock::new(|| {
    PriceTable::parse(DataFiles {
        prices: include_str!("data/prices.csv").into(),
        aliases: include_str!("data/aliases.csv").into(),
        schedules: include_str!("data/schedules.csv").into(),
        holidays: include_str!("data/holidays.csv").into(),
        date: include_str!("data/date.txt").trim_ascii_end().into(),
    })
});

impl PriceTable {
    /// The table that this build carries.
    ///
    /// # Errors
    /// Only if the data files were edited into something that cannot be read; the tests catch that.
    pub fn builtin() -> Result<&'static Self, PricingError> {
        BUILTIN.as_ref().map_err(Clone::clone)
    }

    /// Takes the data files (see `data/NOTICES.md` for their columns). Cells are read when they are asked for; [`check`]
    /// reads all.
    ///
    /// # Errors
    /// Names the file and line of an alias or schedule that cannot be read.
    ///
    /// [`check`]: Self::check
    pub fn parse(files: DataFiles) -> Result<Self, PricingError> {
        let texts: [&str; 4] = [&files.prices, &files.aliases, &files.schedules, &files.holidays];
        let hash = format!("{:016x}", xxh3_64(texts.concat().as_bytes()));
        let aliases = rows(&files.aliases, ALIASES, 7)?.map(|row| row?.alias()).collect::<Result<Vec<_>, _>>()?;
        let schedules =
            rows(&files.schedules, SCHEDULES, 9)?.map(|row| row?.schedule()).collect::<Result<Vec<_>, _>>()?;
        let holidays = rows(&files.holidays, HOLIDAYS, 3)?.map(|row| row?.holiday()).collect::<Result<Vec<_>, _>>()?;
        let basis = Basis { version: env!("CARGO_PKG_VERSION"), date: files.date.into_owned(), hash, over: Vec::new() };
        Ok(Self {
            index: index(&files.prices),
            text: files.prices,
            folded: OnceLock::new(),
            overlay: BTreeMap::new(),
            aliases,
            schedules,
            holidays: Holidays(holidays),
            basis,
        })
    }

    /// The table with a user's prices over it: they hold where they speak, and everything else stays.
    ///
    /// # Errors
    /// A cell below cannot be read, or an alias points to a key without prices.
    pub fn with(&self, user: &UserPrices) -> Result<Self, PricingError> {
        let mut table = self.clone();
        table.folded = OnceLock::new();
        for (key, cells) in &user.cells {
            let merged = put_over(self.cells_of(key)?, cells);
            table.overlay.insert(key.clone(), merged);
        }
        for alias in &user.aliases {
            if let Some(key) = alias.target.price_key().filter(|key| !table.has_key(key)) {
                return Err(PricingError::DanglingAlias { name: alias.name.clone(), price_key: key.to_owned() });
            }
        }
        table.aliases.splice(0..0, user.aliases.iter().cloned());
        table.basis.hash = format!("{:016x}", xxh3_64(format!("{} {}", self.basis.hash, user.hash).as_bytes()));
        table.basis.over.push(user.summary.clone());
        Ok(table)
    }

    /// The table without a user's aliases, for the time in which they say nothing.
    pub(super) fn without_own_aliases(&self) -> Self {
        let mut table = self.clone();
        table.aliases.retain(|alias| !alias.of_user);
        table
    }

    /// Tells price tables apart: equal text, equal fingerprint.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        &self.basis.hash
    }

    /// What reports say they were priced with.
    #[must_use]
    pub fn basis(&self) -> &Basis {
        &self.basis
    }

    /// All keys in ascending order.
    #[must_use]
    pub fn keys(&self) -> BTreeSet<&str> {
        let carried = self.index.iter().filter_map(|(key, _)| self.text.get(key.clone()));
        carried.chain(self.overlay.keys().map(String::as_str)).collect()
    }

    /// Whether a key has prices.
    #[must_use]
    pub fn has_key(&self, key: &str) -> bool {
        self.overlay.contains_key(key) || self.block(key).is_some()
    }

    /// Whether a key has prices of a user's own.
    #[must_use]
    pub fn is_of_user(&self, key: &str) -> bool {
        self.overlay.contains_key(key)
    }

    /// The cells of a key, by channel, mode, time and prompt size; none if there is no such key.
    ///
    /// # Errors
    /// Names the line that cannot be read.
    pub fn cells_of(&self, key: &str) -> Result<Vec<Cell>, PricingError> {
        if let Some(cells) = self.overlay.get(key) {
            return Ok(cells.clone());
        }
        let Some(block) = self.block(key) else { return Ok(Vec::new()) };
        let lines = self.text.get(block.lines.clone()).unwrap_or_default().lines().enumerate();
        lines.map(|(at, line)| Row::of(line, PRICES, block.first_line + at, PRICE_FIELDS)?.cell()).collect()
    }

    /// All cells of all keys.
    ///
    /// # Errors
    /// Names the line that cannot be read.
    pub fn cells(&self) -> Result<Vec<Cell>, PricingError> {
        let cells = self.keys().into_iter().map(|key| self.cells_of(key)).collect::<Result<Vec<_>, _>>()?;
        Ok(cells.into_iter().flatten().collect())
    }

    /// The bands that hold at an instant for a key, channel and mode: one, or one per prompt size.
    ///
    /// # Errors
    /// Names the line that cannot be read.
    pub fn rates_for(&self, key: &str, channel: &str, mode: &str, at: i64) -> Result<Vec<Cell>, PricingError> {
        let mut cells = self.cells_of(key)?;
        cells.retain(|cell| cell.channel == channel && cell.mode == mode && cell.holds_at(at));
        Ok(cells)
    }

    /// All aliases, a user's first.
    #[must_use]
    pub fn aliases(&self) -> &[Alias] {
        &self.aliases
    }

    /// The hours at which a key is billed in another mode.
    pub fn schedules_of<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a Schedule> {
        self.schedules.iter().filter(move |schedule| schedule.price_key == key)
    }

    /// Days on which schedules do not hold.
    #[must_use]
    pub fn holidays(&self) -> &Holidays {
        &self.holidays
    }

    /// The one key that is `key` when all separators are the same; `None` if there is none or more than one.
    #[must_use]
    pub fn same_folded(&self, key: &str) -> Option<&str> {
        let folded = self.folded.get_or_init(|| {
            let mut folded = HashMap::new();
            for key in self.keys() {
                let once = folded.entry(fold(key)).or_insert_with(|| Some(key.to_owned()));
                if once.as_deref() != Some(key) {
                    *once = None;
                }
            }
            folded
        });
        folded.get(&fold(key))?.as_deref()
    }

    /// Reads everything and asks of it what makes prices certain: cells partition time and prompt sizes, no rate is
    /// negative, no alias dangles or means two things.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), PricingError> {
        let cells = self.cells()?;
        let mut groups: BTreeMap<[&str; 3], Vec<&Cell>> = BTreeMap::new();
        for cell in &cells {
            groups.entry([&cell.price_key, &cell.channel, &cell.mode]).or_default().push(cell);
        }
        for ([key, ..], group) in &groups {
            check_partition(group, !self.is_of_user(key))?;
        }
        aliases::check(&self.aliases)?;
        let dangling = |alias: &&Alias| alias.target.price_key().is_some_and(|key| !self.has_key(key));
        if let Some(alias) = self.aliases.iter().find(dangling) {
            let price_key = alias.target.price_key().unwrap_or_default().to_owned();
            return Err(PricingError::DanglingAlias { name: alias.name.clone(), price_key });
        }
        let unpriced = |schedule: &&Schedule| {
            !groups.keys().any(|[key, _, mode]| *key == schedule.price_key && *mode == schedule.mode)
        };
        match self.schedules.iter().find(unpriced) {
            Some(schedule) => Err(PricingError::DanglingAlias {
                name: format!("the hours of {}", schedule.mode),
                price_key: schedule.price_key.clone(),
            }),
            None => Ok(()),
        }
    }

    fn block(&self, key: &str) -> Option<&Block> {
        let at =
            self.index.binary_search_by(|(known, _)| self.text.get(known.clone()).unwrap_or_default().cmp(key)).ok()?;
        self.index.get(at).map(|(_, block)| block)
    }
}

/// Where the lines of each key stand. The lines of a key are neighbours.
fn index(text: &str) -> Vec<(Range<usize>, Block)> {
    let mut index: Vec<(Range<usize>, Block)> = Vec::new();
    let mut start = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let end = start + line.len();
        if number > 0 && !line.trim_end().is_empty() {
            let key = start..start + line.find(',').unwrap_or(line.trim_end().len());
            match index.last_mut() {
                Some((known, block)) if text.get(known.clone()) == text.get(key.clone()) => block.lines.end = end,
                _ => index.push((key, Block { lines: start..end, first_line: number + 1 })),
            }
        }
        start = end;
    }
    index.sort_by(|(first, _), (second, _)| text.get(first.clone()).cmp(&text.get(second.clone())));
    index
}

/// A name with all separators as one: points, spaces and underscores, and the `p` of `glm-5p2`.
pub(super) fn fold(name: &str) -> String {
    let bytes = name.as_bytes();
    let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let folded = name.char_indices().map(|(at, letter)| match letter {
        '.' | ' ' | '_' => '-',
        'p' if digit(at.checked_sub(1)) && digit(Some(at + 1)) => '-',
        other => other,
    });
    folded.collect()
}

/// The cells of a key with others over them: where `over` speaks of a channel, mode and time, it alone is heard.
pub(super) fn put_over(below: Vec<Cell>, over: &[Cell]) -> Vec<Cell> {
    let mut pieces = below;
    let spans: BTreeSet<_> =
        over.iter().map(|cell| (&cell.channel, &cell.mode, cell.valid_from, cell.valid_to)).collect();
    for (channel, mode, from, to) in spans {
        pieces = pieces
            .into_iter()
            .flat_map(|cell| {
                if (&cell.channel, &cell.mode) != (channel, mode) || cell.valid_to <= from || to <= cell.valid_from {
                    return vec![cell];
                }
                let before = Cell { valid_to: from, ..cell.clone() };
                let after = Cell { valid_from: to, ..cell };
                [before, after].into_iter().filter(|piece| piece.valid_from < piece.valid_to).collect()
            })
            .collect();
    }
    pieces.extend_from_slice(over);
    pieces.sort_by(|first, second| {
        let order = |cell: &Cell| (cell.channel.clone(), cell.mode.clone(), cell.valid_from, cell.prompt_over);
        order(first).cmp(&order(second))
    });
    pieces
}

#[cfg(test)]
mod tests;
