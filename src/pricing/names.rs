//! From a model id as recorded to a price key, step by step, and never by likeness.
//!
//! Order: exact, alias of that time, lower case, separators (`.` as `-`), prefix of vendor or router, one decoration
//! (`[1m]`), effort, date. After each step the rest must be a name of the table, whole: a substring or prefix match would
//! price a new model as an old one, which is worse than no price. Every step taken is recorded in the [`MatchKind`].

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use super::{API, Alias, OPEN_FROM, OPEN_TO, PriceTable};

/// How a name was matched: `exact`, or the steps it took joined by `+`, e.g. `prefix+date`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchKind(Cow<'static, str>);

impl MatchKind {
    /// No price is known for the name.
    pub const UNKNOWN: Self = Self(Cow::Borrowed("unknown"));
    /// The tool wrote the record itself: no model was called.
    pub const NOT_BILLABLE: Self = Self(Cow::Borrowed("not_billable"));

    fn of(steps: &[&str]) -> Self {
        if steps.is_empty() { Self(Cow::Borrowed("exact")) } else { Self(Cow::Owned(steps.join("+"))) }
    }
}

impl fmt::Display for MatchKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// What a model id means for a span of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canonical {
    /// `vendor/model`.
    pub price_key: String,
    /// How the vendor was reached, as far as the id says.
    pub channel: String,
    /// Mode that the id names (`-fast`).
    pub mode: Option<String>,
    /// How it was found.
    pub match_kind: MatchKind,
    /// First instant that it means this, microseconds since the epoch.
    pub valid_from: i64,
    /// First instant that it no longer does.
    pub valid_to: i64,
}

/// Which endings of a vendor's names are no part of the model.
#[derive(Debug, Clone, Copy)]
pub struct Endings {
    /// Efforts. `-max` is one for Claude, but part of a name in `gpt-5.1-codex-max`.
    pub efforts: &'static [&'static str],
    /// Endings that name the fast mode. For some vendors `-fast` is another model.
    pub fast: &'static [&'static str],
}

/// Gateways that put their name before the vendor's, and the channel that they mean.
const ROUTERS: [(&str, &str); 6] = [
    ("openrouter/", API),
    ("litellm/", API),
    ("models/", API),
    ("bedrock/", "bedrock"),
    ("vertex_ai/", "vertex"),
    ("azure/", "azure"),
];

/// Vendor prefixes as they are written in front of a model.
const VENDORS: [(&str, &str); 6] = [
    ("anthropic/", "anthropic"),
    ("anthropic--", "anthropic"),
    ("anthropic.", "anthropic"),
    ("openai/", "openai"),
    ("google/", "google"),
    ("gemini/", "google"),
];

/// Regions before `anthropic.` in ids of Amazon Bedrock, and the channel whose price they pay.
const REGIONS: [(&str, &str); 6] = [
    ("global.", "bedrock-global"),
    ("us.", "bedrock-regional"),
    ("eu.", "bedrock-regional"),
    ("apac.", "bedrock-regional"),
    ("au.", "bedrock-regional"),
    ("jp.", "bedrock-regional"),
];

/// The vendor whose pricer is to be asked about a name whose vendor was not recorded.
pub fn family(model_id: &str) -> Option<&'static str> {
    let lower = model_id.to_ascii_lowercase();
    let unrouted = Unprefixed::of(&lower);
    if let Some(vendor) = unrouted.vendor {
        return Some(vendor);
    }
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| unrouted.name.starts_with(prefix));
    if begins(&["claude"]) {
        Some("anthropic")
    } else if begins(&["gpt-", "codex-", "o1", "o3", "o4"]) {
        Some("openai")
    } else if begins(&["gemini"]) {
        Some("google")
    } else {
        None
    }
}

/// Whether a record names no model because none was called: Claude Code writes its own notes as `<synthetic>`.
pub fn is_not_billable(model_id: &str) -> bool {
    model_id == "<synthetic>"
}

/// What a model id means, among the names of one vendor. Empty: not known, or not this vendor's.
pub fn lookup(table: &PriceTable, vendor: &str, model_id: &str, endings: Endings) -> Vec<Canonical> {
    let mut search = Search { table, vendor, steps: Vec::new(), channel: API, mode: None, folded: false };
    let mut name = Cow::Borrowed(model_id.trim());
    if name.is_empty() {
        return Vec::new();
    }
    macro_rules! attempt {
        () => {
            let found = search.attempt(&name);
            if !found.is_empty() {
                return found;
            }
        };
    }
    attempt!();
    let lower = name.to_ascii_lowercase();
    if lower != name {
        search.steps.push("lower_case");
        name = Cow::Owned(lower);
        attempt!();
    }
    search.folded = true;
    attempt!();
    let unprefixed = Unprefixed::of(&name);
    if unprefixed.vendor.is_some_and(|named| named != vendor) || unprefixed.name.contains('/') {
        return Vec::new();
    }
    search.channel = unprefixed.channel;
    if unprefixed.name != name {
        search.steps.push("prefix");
        name = Cow::Owned(unprefixed.name.to_owned());
        attempt!();
    }
    if let Some(rest) = without_decoration(&name) {
        search.steps.push("decoration");
        name = Cow::Owned(rest.to_owned());
        attempt!();
    }
    while let Some((rest, step, mode)) = without_ending(&name, endings) {
        if !search.steps.contains(&step) {
            search.steps.push(step);
        }
        search.mode = search.mode.or(mode);
        name = Cow::Owned(rest.to_owned());
        attempt!();
    }
    if let Some(rest) = without_date(&name) {
        search.steps.push("date");
        name = Cow::Owned(rest.to_owned());
        attempt!();
    }
    Vec::new()
}

/// A search on its way through the steps.
struct Search<'a> {
    table: &'a PriceTable,
    vendor: &'a str,
    steps: Vec<&'static str>,
    channel: &'static str,
    mode: Option<&'static str>,
    folded: bool,
}

impl Search<'_> {
    fn attempt(&self, name: &str) -> Vec<Canonical> {
        for folded in [false, true] {
            if folded && !self.folded {
                break;
            }
            let mut steps = self.steps.clone();
            if folded {
                steps.push("separators");
            }
            let keys: BTreeSet<&str> = self.keys().filter(|key| same(model_of(key), name, folded)).collect();
            if let (1, Some(key)) = (keys.len(), keys.first()) {
                return vec![self.canonical(key, &steps, OPEN_FROM, OPEN_TO)];
            }
            steps.push("alias");
            let aliases: Vec<&Alias> = self.aliases().filter(|alias| same(&alias.name, name, folded)).collect();
            if !aliases.is_empty() {
                let known = aliases
                    .iter()
                    .map(|alias| self.canonical(&alias.price_key, &steps, alias.valid_from, alias.valid_to));
                return known.collect();
            }
        }
        Vec::new()
    }

    fn canonical(&self, price_key: &str, steps: &[&str], valid_from: i64, valid_to: i64) -> Canonical {
        Canonical {
            price_key: price_key.to_owned(),
            channel: self.channel.to_owned(),
            mode: self.mode.map(str::to_owned),
            match_kind: MatchKind::of(steps),
            valid_from,
            valid_to,
        }
    }

    fn keys(&self) -> impl Iterator<Item = &str> {
        self.table.cells().iter().map(|cell| cell.price_key.as_str()).filter(|key| self.is_ours(key))
    }

    fn aliases(&self) -> impl Iterator<Item = &Alias> {
        self.table.aliases().iter().filter(|alias| self.is_ours(&alias.price_key))
    }

    fn is_ours(&self, price_key: &str) -> bool {
        price_key.split_once('/').is_some_and(|(vendor, _)| vendor == self.vendor)
    }
}

fn model_of(price_key: &str) -> &str {
    price_key.split_once('/').map_or(price_key, |(_, model)| model)
}

/// Whether two names are the same, `folded` with all separators as one.
fn same(known: &str, name: &str, folded: bool) -> bool {
    let fold = |byte: u8| if matches!(byte, b'.' | b' ' | b'_') { b'-' } else { byte };
    if folded {
        known.len() == name.len() && known.bytes().zip(name.bytes()).all(|(left, right)| fold(left) == fold(right))
    } else {
        known == name
    }
}

/// A name without what routers, regions and vendors put in front.
struct Unprefixed<'a> {
    name: &'a str,
    vendor: Option<&'static str>,
    channel: &'static str,
}

impl<'a> Unprefixed<'a> {
    fn of(lower: &'a str) -> Self {
        let mut name = lower;
        let mut channel = API;
        while let Some((rest, meant)) = strip_one(name, &ROUTERS) {
            name = rest;
            channel = meant;
        }
        if let Some((rest, meant)) = strip_one(name, &REGIONS).filter(|(rest, _)| rest.starts_with("anthropic.")) {
            name = rest;
            channel = meant;
        }
        let vendor = strip_one(name, &VENDORS);
        if let Some((rest, _)) = vendor {
            if name.starts_with("anthropic.") {
                channel = if channel == API { "bedrock" } else { channel };
                name = without_bedrock_version(rest);
            } else {
                name = rest;
            }
        }
        Self { name, vendor: vendor.map(|(_, vendor)| vendor), channel }
    }
}

fn strip_one<'a>(name: &'a str, prefixes: &[(&str, &'static str)]) -> Option<(&'a str, &'static str)> {
    prefixes.iter().find_map(|&(prefix, meant)| Some((name.strip_prefix(prefix)?, meant)))
}

/// `claude-opus-4-5-20251101-v1:0` ⇒ `claude-opus-4-5-20251101`.
fn without_bedrock_version(name: &str) -> &str {
    let Some((rest, version)) = name.rsplit_once("-v") else { return name };
    let is_version = version.split(':').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    if is_version { rest } else { name }
}

/// `claude-opus-4-6[1m]`, `gpt-5.3 codex (high reasoning)`, `claude-4-sonnet-1m` ⇒ the name before it.
fn without_decoration(name: &str) -> Option<&str> {
    let rest = match name.as_bytes().last()? {
        b']' => name.rsplit_once('[')?.0,
        b')' => name.rsplit_once('(')?.0,
        _ => name.strip_suffix("-1m")?,
    };
    Some(rest.trim_end()).filter(|rest| !rest.is_empty())
}

/// The name without one effort or mode at its end: the rest, the step to record, the mode it names.
fn without_ending(name: &str, endings: Endings) -> Option<(&str, &'static str, Option<&'static str>)> {
    let ending =
        |endings: &[&str]| endings.iter().find_map(|ending| name.strip_suffix(ending)?.strip_suffix(['-', ' ', '_']));
    if let Some(rest) = ending(endings.fast) {
        return Some((rest, "mode", Some("fast")));
    }
    ending(endings.efforts).map(|rest| (rest, "effort", None))
}

/// The name without a date at its end: `-20250929`, `-2025-08-07` or `@20250929`. Four digits can be a version and stay.
fn without_date(name: &str) -> Option<&str> {
    let digits_at_end = |count: usize| {
        let (rest, date) = name.split_at_checked(name.len().checked_sub(count)?)?;
        Some((rest.strip_suffix(['-', '@'])?, date))
    };
    let is_date = |date: &str| chrono::NaiveDate::parse_from_str(date, "%Y%m%d").is_ok() && date.starts_with("20");
    digits_at_end(8)
        .filter(|(_, date)| is_date(date))
        .or_else(|| digits_at_end(10).filter(|(_, date)| is_date(&date.replace('-', ""))))
        .map(|(rest, _)| rest)
}
