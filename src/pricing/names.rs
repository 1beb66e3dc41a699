//! From a model id as recorded to a price key, step by step, and never by likeness.
//!
//! Order: exact, alias of that time, lower case, separators (`.` as `-`), prefix of vendor or router, one decoration
//! (`[1m]`), effort or mode, date. After each step the rest must be a name of the table, whole: a substring or prefix match
//! would price a new model as an old one, which is worse than no price. Every step taken is recorded in the [`MatchKind`].
//! Left to others: what stands before a name ([`super::prefixes`]).

use std::borrow::Cow;
use std::fmt;

use super::PriceTable;
use super::aliases::{Alias, Billing, Target};
use super::cell::{API, OPEN_FROM, OPEN_TO};
use super::prefixes::Unprefixed;
use super::table::fold;

/// How a name was matched: `exact`, or the steps it took joined by `+`, e.g. `prefix+date`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchKind(Cow<'static, str>);

impl MatchKind {
    /// No price is known for the name.
    pub const UNKNOWN: Self = Self(Cow::Borrowed("unknown"));
    /// The tool wrote the record itself: no model was called.
    pub const NOT_BILLABLE: Self = Self(Cow::Borrowed("not_billable"));
    /// The name is one of a model that runs on the user's own machine.
    pub const LOCAL: Self = Self(Cow::Borrowed("local"));
    /// Nothing is known of the name, and the tool's rule says what to take instead.
    pub const FALLBACK: Self = Self(Cow::Borrowed("fallback"));

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
    /// `vendor/model`; `None` where nothing is billed by the token.
    pub price_key: Option<String>,
    /// How it is billed.
    pub billing: Billing,
    /// How the vendor was reached, as far as the id says.
    pub channel: String,
    /// Mode that the id names (`-fast`).
    pub mode: Option<String>,
    /// How it was found.
    pub match_kind: MatchKind,
    /// Whether it was found by a user's own alias.
    pub of_user: bool,
    /// First instant that it means this, microseconds since the epoch.
    pub valid_from: i64,
    /// First instant that it no longer does.
    pub valid_to: i64,
}

/// Which endings of a vendor's names are no part of the model.
#[derive(Debug, Clone, Copy, Default)]
pub struct Endings {
    /// Efforts. `-max` is one for Claude, but part of a name in `gpt-5.1-codex-max`.
    pub efforts: &'static [&'static str],
    /// Endings that name a mode, and which. For some vendors `-fast` is another model.
    pub modes: &'static [(&'static str, &'static str)],
}

/// Whose names a search may find.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// The vendor; without one only aliases and keys of a user's own are found.
    pub vendor: Option<&'a str>,
    /// The tool that recorded the name: an alias may be for one only.
    pub provider: &'a str,
}

/// Whether a record names no model because none was called: Claude Code writes its own notes as `<synthetic>`.
pub fn is_not_billable(model_id: &str) -> bool {
    model_id == "<synthetic>"
}

/// Whether an id is one of a model on the user's own machine: a weights file, a local server's prefix, or Ollama's
/// `name:size`.
pub fn is_local(model_id: &str) -> bool {
    const SERVERS: [&str; 6] = ["ollama/", "ollama_chat/", "lmstudio/", "lm_studio/", "llamacpp/", "mlx-community/"];
    let lower = model_id.to_ascii_lowercase();
    if SERVERS.iter().any(|server| lower.starts_with(server)) || lower.ends_with(".gguf") {
        return true;
    }
    let Some((name, tag)) = lower.split_once(':').filter(|(name, _)| !name.contains('/')) else { return false };
    let size = tag.strip_prefix('e').unwrap_or(tag);
    let digits = size.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let is_size = digits.len() < size.len() && digits.starts_with('b');
    !name.is_empty() && (tag == "latest" || is_size)
}

/// What a model id means, among the names in `scope`. Empty: not known, or not this vendor's.
pub fn lookup(table: &PriceTable, scope: Scope<'_>, model_id: &str, endings: Endings) -> Vec<Canonical> {
    let mut search = Search { table, scope, steps: Vec::new(), channel: API, mode: None, folded: false };
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
    let is_foreign = unprefixed.vendor.is_some_and(|named| Some(named) != scope.vendor);
    if is_foreign || unprefixed.name.contains('/') {
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
    scope: Scope<'a>,
    steps: Vec<&'static str>,
    channel: &'static str,
    mode: Option<&'static str>,
    folded: bool,
}

impl Search<'_> {
    fn attempt(&self, name: &str) -> Vec<Canonical> {
        // A user's own words go before the table's.
        let found = self.aliases(name, false, true);
        if !found.is_empty() {
            return found;
        }
        if let Some(key) = self.key(name) {
            return vec![self.priced(key, &self.steps)];
        }
        let found = self.aliases(name, false, false);
        if !found.is_empty() || !self.folded {
            return found;
        }
        let folded = self.scope.vendor.and_then(|vendor| self.table.same_folded(&format!("{vendor}/{name}")));
        if let Some(key) = folded {
            let steps = [&self.steps[..], &["separators"]].concat();
            return vec![self.priced(key.to_owned(), &steps)];
        }
        self.aliases(name, true, false)
    }

    /// The key of a name as it stands.
    fn key(&self, name: &str) -> Option<String> {
        match self.scope.vendor {
            Some(vendor) => Some(format!("{vendor}/{name}")).filter(|key| self.table.has_key(key)),
            // Of an unknown vendor only what the user wrote counts: the whole key, or its model if there is one only.
            None if self.table.is_of_user(name) => Some(name.to_owned()),
            None => {
                let ending = format!("/{name}");
                let keys = self.table.keys();
                let mut own = keys.iter().filter(|key| self.table.is_of_user(key) && key.ends_with(&ending));
                own.next().filter(|_| own.next().is_none()).map(|key| (*key).to_owned())
            }
        }
    }

    fn aliases(&self, name: &str, folded: bool, of_user: bool) -> Vec<Canonical> {
        let is_same = |alias: &&Alias| {
            alias.of_user == of_user
                && alias.is_for(self.scope.provider)
                && self.is_ours(alias)
                && if folded { fold(&alias.name) == fold(name) } else { alias.name == name }
        };
        let mut found: Vec<&Alias> = self.table.aliases().iter().filter(is_same).collect();
        // One that is for this tool only knows better than one for all.
        if found.iter().any(|alias| alias.provider.is_some()) {
            found.retain(|alias| alias.provider.is_some());
        }
        let mut steps = self.steps.clone();
        if folded {
            steps.push("separators");
        }
        steps.push(if of_user { "own_alias" } else { "alias" });
        let meanings = found.into_iter().map(|alias| {
            let billing = match alias.target {
                Target::Price(_) => Billing::Metered,
                Target::Unmetered(billing) => billing,
            };
            Canonical {
                price_key: alias.target.price_key().map(str::to_owned),
                billing,
                mode: self.mode.map(str::to_owned).or_else(|| alias.mode.clone()),
                of_user: alias.of_user,
                valid_from: alias.valid_from,
                valid_to: alias.valid_to,
                ..self.priced(String::new(), &steps)
            }
        });
        meanings.collect()
    }

    fn priced(&self, price_key: String, steps: &[&str]) -> Canonical {
        Canonical {
            price_key: Some(price_key),
            billing: Billing::Metered,
            channel: self.channel.to_owned(),
            mode: self.mode.map(str::to_owned),
            match_kind: MatchKind::of(steps),
            of_user: false,
            valid_from: OPEN_FROM,
            valid_to: OPEN_TO,
        }
    }

    /// A recorded or named vendor is not overruled by an alias, unless it is the user's or for one tool only.
    fn is_ours(&self, alias: &Alias) -> bool {
        let vendor = alias.target.price_key().and_then(|key| key.split_once('/')).map(|(vendor, _)| vendor);
        alias.of_user
            || alias.provider.is_some()
            || self.scope.vendor.is_none()
            || vendor.is_none()
            || vendor == self.scope.vendor
    }
}

/// `claude-opus-4-6[1m]`, `gpt-5.3 codex (high reasoning)`, `claude-4-sonnet-1m` ⇒ the name before it.
fn without_decoration(name: &str) -> Option<&str> {
    let rest = match name.as_bytes().last()? {
        b']' => name.rsplit_once('[')?.0,
        b')' => name.rsplit_once('(')?.0,
        _ => name.strip_suffix("-1m").or_else(|| name.strip_suffix("@default"))?,
    };
    Some(rest.trim_end()).filter(|rest| !rest.is_empty())
}

/// The name without one effort or mode at its end: the rest, the step to record, the mode it names.
fn without_ending(name: &str, endings: Endings) -> Option<(&str, &'static str, Option<&'static str>)> {
    let without =
        |ending: &str| name.strip_suffix(ending)?.strip_suffix(['-', ' ', '_']).filter(|rest| !rest.is_empty());
    if let Some((rest, mode)) = endings.modes.iter().find_map(|&(ending, mode)| Some((without(ending)?, mode))) {
        return Some((rest, "mode", Some(mode)));
    }
    endings.efforts.iter().find_map(|ending| without(ending)).map(|rest| (rest, "effort", None))
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
