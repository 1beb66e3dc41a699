//! From a recorded use of a model to its price: whose names are asked, what is local or free, what a tool falls back to.

use super::aliases::Billing;
use super::cell::{API, Cell, OPEN_FROM, OPEN_TO, STANDARD};
use super::compatible::{COMPATIBLE, OPENAI};
use super::names::{self, Canonical, Endings, MatchKind, Scope};
use super::prefixes::{self, Unprefixed, channel_named, vendor_named};
use super::table::fold;
use super::{Anthropic, Google, ModelPrice, ModelUse, PriceTable, PricingError, ProviderPricer};
use crate::model::Counters;

/// What Cursor is priced as where it names no model that is known: a Sonnet of its time, as an estimate.
const CURSOR_FALLBACK: &str = "cursor/sonnet-tier";

/// All pricers.
pub(super) fn pricers() -> impl Iterator<Item = &'static dyn ProviderPricer> {
    let own: [&'static dyn ProviderPricer; 3] = [&Anthropic, &OPENAI, &Google];
    own.into_iter().chain(COMPATIBLE.iter().map(|pricer| pricer as &dyn ProviderPricer))
}

/// The pricer of a use: by the recorded vendor, else by the family that the name belongs to. A router or a cloud that is
/// recorded as the vendor is none.
#[must_use]
pub fn pricer_for(model_use: &ModelUse) -> Option<&'static dyn ProviderPricer> {
    let recorded = model_use.vendor.as_str();
    let vendor = match vendor_named(recorded) {
        Some(vendor) => vendor,
        None if recorded.is_empty() || channel_named(recorded).is_some() => prefixes::family(&model_use.model)?,
        None => return None,
    };
    pricers().find(|pricer| pricer.vendor() == vendor)
}

/// What a use is priced as: rows that do not overlap in time and together cover all of it. A span that no alias covers has a
/// row without price key.
#[must_use]
pub fn resolve(table: &PriceTable, model_use: &ModelUse) -> Vec<ModelPrice> {
    let row = |canonical: Canonical, mode: String| ModelPrice {
        model_use: model_use.clone(),
        price_key: canonical.price_key,
        billing: canonical.billing,
        channel: canonical.channel,
        mode,
        match_kind: canonical.match_kind.to_string(),
        valid_from: canonical.valid_from,
        valid_to: canonical.valid_to,
    };
    if names::is_not_billable(&model_use.model) {
        return vec![row(unpriced(Billing::Nothing, MatchKind::NOT_BILLABLE, OPEN_FROM, OPEN_TO), STANDARD.to_owned())];
    }
    let pricer = pricer_for(model_use);
    let mut found = meanings(table, model_use, pricer);
    if found.iter().any(|canonical| canonical.of_user) {
        // Where a user's alias holds for a time only, the name means what it means to everybody at other times.
        found = filled(found, &meanings(&table.without_own_aliases(), model_use, pricer));
    }
    if found.is_empty() && names::is_local(&model_use.model) {
        found.push(unpriced(Billing::Local, MatchKind::LOCAL, OPEN_FROM, OPEN_TO));
    }
    found.sort_by_key(|canonical| canonical.valid_from);
    let mut rows = Vec::new();
    let mut reached = OPEN_FROM;
    for canonical in found {
        if canonical.valid_from > reached {
            rows.push(row(otherwise(model_use, reached, canonical.valid_from), STANDARD.to_owned()));
        }
        reached = canonical.valid_to;
        // A name may mean another vendor's model (an alias): that vendor says what its modes are.
        let vendor = canonical.price_key.as_deref().and_then(|key| key.split_once('/')).map(|(vendor, _)| vendor);
        let pricer = pricers().find(|pricer| Some(pricer.vendor()) == vendor).or(pricer);
        let named = canonical.mode.as_deref();
        let mode = pricer.map_or_else(|| named.unwrap_or(STANDARD).to_owned(), |pricer| pricer.mode(model_use, named));
        rows.push(row(canonical, mode));
    }
    if reached < OPEN_TO {
        rows.push(row(otherwise(model_use, reached, OPEN_TO), STANDARD.to_owned()));
    }
    rows
}

fn meanings(table: &PriceTable, model_use: &ModelUse, pricer: Option<&dyn ProviderPricer>) -> Vec<Canonical> {
    let (provider, model) = (model_use.provider.as_str(), model_use.model.as_str());
    let is_known_vendor = model_use.vendor.is_empty()
        || vendor_named(&model_use.vendor).is_some()
        || channel_named(&model_use.vendor).is_some();
    let mut found = match pricer {
        Some(pricer) => pricer.canonicalize(table, provider, model),
        None if is_known_vendor => names::lookup(table, Scope { vendor: None, provider }, model, Endings::default()),
        // A recorded vendor that nobody knows is not overruled; but its own key may be priced by the user.
        None => {
            let key = format!("{}/{model}", model_use.vendor);
            let own = table.is_of_user(&key).then_some(key);
            names::lookup(
                table,
                Scope { vendor: None, provider },
                own.as_deref().unwrap_or_default(),
                Endings::default(),
            )
        }
    };
    // A cloud that is recorded beside the model, not in its name.
    let channel = channel_named(&model_use.vendor).filter(|channel| *channel != API);
    for canonical in &mut found {
        if let Some(channel) = channel.filter(|_| canonical.channel == API) {
            canonical.channel = channel.to_owned();
        }
    }
    found
}

/// Meanings that hold for a time, and others in the gaps between them.
fn filled(mut own: Vec<Canonical>, others: &[Canonical]) -> Vec<Canonical> {
    own.sort_by_key(|canonical| canonical.valid_from);
    let ends = [OPEN_FROM].into_iter().chain(own.iter().map(|canonical| canonical.valid_to));
    let starts = own.iter().map(|canonical| canonical.valid_from).chain([OPEN_TO]);
    let gaps: Vec<(i64, i64)> = ends.zip(starts).filter(|(end, start)| end < start).collect();
    for (from, to) in gaps {
        own.extend(others.iter().filter(|other| other.valid_from < to && from < other.valid_to).map(|other| {
            Canonical { valid_from: other.valid_from.max(from), valid_to: other.valid_to.min(to), ..other.clone() }
        }));
    }
    own
}

/// What stands for a span in which the name means nothing.
fn otherwise(model_use: &ModelUse, from: i64, to: i64) -> Canonical {
    if model_use.provider == "cursor" {
        let price_key = Some(CURSOR_FALLBACK.to_owned());
        return Canonical { price_key, ..unpriced(Billing::Estimate, MatchKind::FALLBACK, from, to) };
    }
    unpriced(Billing::Metered, MatchKind::UNKNOWN, from, to)
}

fn unpriced(billing: Billing, match_kind: MatchKind, valid_from: i64, valid_to: i64) -> Canonical {
    Canonical {
        price_key: None,
        billing,
        channel: API.to_owned(),
        mode: None,
        match_kind,
        of_user: false,
        valid_from,
        valid_to,
    }
}

/// One request, for [`cost_of`].
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The model as recorded.
    pub model_use: &'a ModelUse,
    /// Where inference ran, as recorded.
    pub geo: Option<&'a str>,
    /// When the response came, microseconds since the epoch.
    pub at: i64,
    /// The whole prompt in tokens; where it is not recorded, that of the counters is taken.
    pub prompt: Option<i64>,
    /// The counters.
    pub counters: &'a Counters,
    /// Prices of this instant instead of those of `at`.
    pub priced_at: Option<i64>,
}

/// Cost of one request in pico-dollars, for summaries that must not need a database; `None` if it has no price.
///
/// The exact twin of `cost_computed_usd` in SQL.
///
/// # Errors
/// A line of the price table cannot be read.
pub fn cost_of(table: &PriceTable, request: &Request<'_>) -> Result<Option<i128>, PricingError> {
    let Request { model_use, at, counters, .. } = *request;
    let rows = resolve(table, model_use);
    let Some(price) = rows.iter().find(|row| row.valid_from <= at && at < row.valid_to) else { return Ok(None) };
    if price.billing.is_nothing() {
        return Ok(Some(0));
    }
    let Some(key) = &price.price_key else { return Ok(None) };
    let priced_at = request.priced_at.unwrap_or(at);
    let hours = |mode: &str| {
        let mut schedules = table.schedules_of(key).filter(|_| mode == STANDARD && price.channel == API);
        schedules.find(|schedule| schedule.holds(at, priced_at, table.holidays())).map(|schedule| schedule.mode.clone())
    };
    let mode = hours(&price.mode).unwrap_or_else(|| price.mode.clone());
    let recorded = [counters.input, counters.cache_read, counters.cache_write_5m, counters.cache_write_1h];
    let prompt =
        request.prompt.unwrap_or_else(|| recorded.iter().flatten().fold(0, |sum, count| sum.saturating_add(*count)));
    let cells = table.rates_for(key, &price.channel, &mode, priced_at)?;
    let cell = cells.iter().find(|cell: &&Cell| cell.holds(priced_at, prompt));
    Ok(cell.map(|cell| cell.cost(counters, request.geo == Some("us"))))
}

/// Keys whose names look like an unknown one, nearest first: for a person to choose from, never to price by.
#[must_use]
pub fn nearest(table: &PriceTable, model_id: &str, count: usize) -> Vec<String> {
    let lower = model_id.to_ascii_lowercase();
    let name = fold(Unprefixed::of(&lower).name);
    let words: Vec<&str> = name.split('-').filter(|word| !word.is_empty()).collect();
    let mut scored: Vec<(usize, usize, String)> = Vec::new();
    for key in table.keys() {
        let folded = fold(key.split_once('/').map_or(key, |(_, model)| model));
        let theirs: Vec<&str> = folded.split('-').collect();
        let shared = words.iter().filter(|word| theirs.contains(word)).count();
        let is_likely = words.first().is_some_and(|first| theirs.contains(first));
        if shared > 0 && is_likely {
            scored.push((shared, theirs.len().abs_diff(words.len()), key.to_owned()));
        }
    }
    scored.sort_by(|first, second| second.0.cmp(&first.0).then(first.1.cmp(&second.1)).then(first.2.cmp(&second.2)));
    scored.into_iter().take(count).map(|(_, _, key)| key).collect()
}
