//! Price lists that others publish, as files: what they say that the table does not.
//!
//! Three forms are read: LiteLLM's `model_prices_and_context_window.json` (USD per token), genai-prices' `data.json` and
//! models.dev's `api.json` (USD per million tokens). Such a list knows the present only. So a price that differs holds from
//! a day on and never before it, and what the table knows of later days stays. A model that the table lacks has no past to
//! protect: its price holds for all of time.

use serde_json::Value;

use crate::model::money;

use super::cell::{API, Cell, NO_PROMPT, OPEN_FROM, OPEN_TO, Rate, STANDARD};
use super::prefixes::vendor_named;
use super::{MatchKind, ModelUse, PriceTable, PricingError, resolve};

/// The form of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListForm {
    /// LiteLLM's.
    LiteLlm,
    /// That of genai-prices.
    Genai,
    /// That of models.dev.
    ModelsDev,
}

/// What a list says of one model now: bands of prompt sizes by the tokens they begin over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Vendor, in the table's spelling.
    pub vendor: &'static str,
    /// The list's name of the model.
    pub model: String,
    /// Bands: over how many tokens, and the rates; a class that the list leaves out is `None`.
    pub bands: Vec<(i64, [Option<Rate>; 5])>,
}

/// Reads a list of any of the three forms.
///
/// # Errors
/// It is no JSON, or of no form that is known.
pub fn read(text: &str, file: &str) -> Result<(ListForm, Vec<Statement>), PricingError> {
    let wrong = |line, problem: String| PricingError::File { file: file.to_owned(), line, problem };
    let json: Value =
        serde_json::from_str(text).map_err(|error| wrong(error.line(), format!("this is no JSON: {error}")))?;
    match &json {
        Value::Array(providers) if providers.iter().any(|provider| provider.get("models").is_some()) => {
            Ok((ListForm::Genai, providers.iter().flat_map(genai_provider).collect()))
        }
        Value::Object(fields) if fields.values().any(|value| value.get("litellm_provider").is_some()) => {
            Ok((ListForm::LiteLlm, fields.iter().filter_map(|(name, row)| litellm(name, row)).collect()))
        }
        Value::Object(fields) if fields.values().any(|value| value.get("models").is_some()) => {
            Ok((ListForm::ModelsDev, fields.iter().flat_map(|(id, provider)| models_dev(id, provider)).collect()))
        }
        _ => Err(wrong(1, "this is no price list of LiteLLM, genai-prices or models.dev".to_owned())),
    }
}

/// USD per token as pico-dollars per token. The shortest text of a JSON number is what the list wrote.
fn per_token(value: &Value) -> Option<Rate> {
    let amount = value.as_f64().and_then(money::from_f64).or_else(|| money::parse(value.as_str()?))?;
    Rate::try_from(amount).ok().filter(|rate| *rate >= 0)
}

/// USD per million tokens as micro-dollars per million tokens.
fn per_million(value: &Value) -> Option<Rate> {
    let amount = value.as_f64().and_then(money::from_f64).or_else(|| money::parse(value.as_str()?))?;
    Rate::try_from(amount / 1_000_000).ok().filter(|rate| *rate >= 0)
}

/// A row of LiteLLM's, if it is a vendor's own text model with a price. DeepSeek's hold the price of peak hours.
fn litellm(name: &str, row: &Value) -> Option<Statement> {
    const CLASSES: [&str; 5] = [
        "input_cost_per_token",
        "cache_read_input_token_cost",
        "cache_creation_input_token_cost",
        "cache_creation_input_token_cost_above_1hr",
        "output_cost_per_token",
    ];
    let provider = row.get("litellm_provider")?.as_str()?;
    let is_text = matches!(row.get("mode").and_then(Value::as_str), Some("chat" | "responses" | "completion"));
    let vendor = vendor_named(provider).filter(|vendor| is_text && *vendor != "deepseek")?;
    let model = name.strip_prefix(provider).and_then(|rest| rest.strip_prefix('/')).unwrap_or(name);
    if model.contains('/') || row.get("tiered_pricing").is_some() {
        return None;
    }
    let mut bands = vec![(NO_PROMPT, CLASSES.map(|class| row.get(class).and_then(per_token)))];
    let limits = row.as_object()?.keys().filter_map(|field| {
        field.strip_prefix("input_cost_per_token_above_")?.strip_suffix("k_tokens")?.parse::<i64>().ok()
    });
    for limit in limits {
        let rates = CLASSES.map(|class| row.get(&*format!("{class}_above_{limit}k_tokens")).and_then(per_token));
        // xAI's limit is the first token of the dearer band.
        bands.push((limit * 1000 - i64::from(vendor == "xai"), rates));
    }
    statement(vendor, model, bands)
}

fn models_dev(id: &str, provider: &Value) -> Vec<Statement> {
    const CLASSES: [&str; 5] = ["input", "cache_read", "cache_write", "cache_write_1h", "output"];
    let Some(vendor) = vendor_named(id) else { return Vec::new() };
    let models = provider.get("models").and_then(Value::as_object).into_iter().flatten();
    let read = |(model, row): (&String, &Value)| {
        let cost = row.get("cost")?;
        let rates = |of: &Value| CLASSES.map(|class| of.get(class).and_then(per_million));
        let mut bands = vec![(NO_PROMPT, rates(cost))];
        for tier in cost.get("tiers").and_then(Value::as_array).into_iter().flatten() {
            let over = tier
                .get("tier")
                .and_then(|tier| tier.get("size"))
                .or_else(|| tier.get("above"))
                .and_then(Value::as_i64)?;
            bands.push((over - i64::from(vendor == "xai"), rates(tier)));
        }
        if let (1, Some(over)) = (bands.len(), cost.get("context_over_200k")) {
            bands.push((200_000 - i64::from(vendor == "xai"), rates(over)));
        }
        statement(vendor, model, bands)
    };
    models.filter_map(read).collect()
}

fn genai_provider(provider: &Value) -> Vec<Statement> {
    const CLASSES: [&str; 5] =
        ["input_mtok", "cache_read_mtok", "cache_write_mtok", "cache_write_1h_mtok", "output_mtok"];
    let Some(vendor) = provider.get("id").and_then(Value::as_str).and_then(vendor_named) else { return Vec::new() };
    let models = provider.get("models").and_then(Value::as_array).into_iter().flatten();
    let read = |row: &Value| {
        let model = row.get("id")?.as_str()?;
        // A list of prices is one by dates or hours: a person must read it.
        let prices = row.get("prices").filter(|prices| prices.is_object())?;
        let limits = CLASSES.iter().filter_map(|class| prices.get(class)?.get("tiers")?.as_array()).flatten();
        let mut overs: Vec<i64> = limits.filter_map(|tier| tier.get("start")?.as_i64()).collect();
        overs.sort_unstable();
        overs.dedup();
        let at = |class: &str, over: i64| {
            let value = prices.get(class)?;
            let mut tiers = value.get("tiers").and_then(Value::as_array).into_iter().flatten();
            let reached =
                tiers.rfind(|tier| tier.get("start").and_then(Value::as_i64).is_some_and(|start| start <= over));
            per_million(reached.and_then(|tier| tier.get("price")).or_else(|| value.get("base")).unwrap_or(value))
        };
        let bands = [NO_PROMPT].into_iter().chain(overs).map(|over| (over, CLASSES.map(|class| at(class, over))));
        statement(vendor, model, bands.collect())
    };
    models.filter_map(read).collect()
}

/// A statement, unless it lacks the price of input or output, or is the zero of a plan's catalogue.
fn statement(vendor: &'static str, model: &str, mut bands: Vec<(i64, [Option<Rate>; 5])>) -> Option<Statement> {
    let is_price = |(_, [input, .., output]): &(i64, [Option<Rate>; 5])| matches!((input, output), (Some(input), Some(output)) if input + output > 0);
    bands.sort_by_key(|(over, _)| *over);
    bands.iter().all(is_price).then(|| Statement { vendor, model: model.to_lowercase(), bands })
}

/// A price that a list changes or adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What held; none if the model is new.
    pub before: Vec<Cell>,
    /// What holds from the day on.
    pub after: Vec<Cell>,
}

/// What of a list differs from the table at an instant.
///
/// # Errors
/// A line of the table cannot be read.
pub fn changes(
    table: &PriceTable,
    statements: &[Statement],
    at: i64,
    source: &str,
) -> Result<Vec<Change>, PricingError> {
    let mut changes: Vec<Change> = Vec::new();
    for statement in statements {
        let model_use =
            ModelUse { vendor: statement.vendor.to_owned(), model: statement.model.clone(), ..ModelUse::default() };
        let rows = resolve(table, &model_use);
        let meaning = rows.iter().find(|row| row.valid_from <= at && at < row.valid_to);
        let key = match meaning.and_then(|row| Some((row.price_key.clone()?, row.match_kind.as_str()))) {
            Some((key, "exact" | "separators")) => key,
            // Reached by an alias or a rule: the key itself is in the list too, and speaks for all of its names.
            Some(_) => continue,
            None if meaning.is_some_and(|row| row.match_kind != MatchKind::UNKNOWN.to_string()) => continue,
            None => format!("{}/{}", statement.vendor, statement.model),
        };
        let before = table.rates_for(&key, API, STANDARD, at)?;
        if before.is_empty() && table.has_key(&key) {
            continue;
        }
        let until = table
            .cells_of(&key)?
            .iter()
            .filter(|cell| cell.channel == API && cell.mode == STANDARD && cell.valid_from > at)
            .map(|cell| cell.valid_from)
            .min();
        let after = cells(
            &key,
            statement,
            &before,
            (if before.is_empty() { OPEN_FROM } else { at }, until.unwrap_or(OPEN_TO)),
            source,
        );
        let shape = |cells: &[Cell]| cells.iter().map(|cell| (cell.prompt_over, cell.rates())).collect::<Vec<_>>();
        let is_seen = changes.iter().any(|change| change.after.first().map(|cell| &cell.price_key) == Some(&key));
        if shape(&before) != shape(&after) && !is_seen {
            changes.push(Change { before, after });
        }
    }
    Ok(changes)
}

/// The cells of a statement. Classes and bands that the list leaves out keep their proportion to what they stood beside.
fn cells(
    key: &str,
    statement: &Statement,
    before: &[Cell],
    (valid_from, valid_to): (i64, i64),
    source: &str,
) -> Vec<Cell> {
    let base = before.first();
    let Some((_, first)) = statement.bands.first() else { return Vec::new() };
    let new_input = first[0].unwrap_or(0);
    let mut bands: Vec<(i64, [Rate; 5])> = Vec::new();
    for (over, rates) in &statement.bands {
        let like = before.iter().find(|cell| cell.prompt_over == *over).or(base);
        bands.push((*over, completed(*rates, like)));
    }
    if statement.bands.len() == 1 {
        for cell in before.iter().skip(1) {
            let old_input = base.map_or(0, |cell| cell.input);
            bands.push((cell.prompt_over, cell.rates().map(|rate| scaled(rate, new_input, old_input))));
        }
    }
    let uptos: Vec<i64> = bands.iter().skip(1).map(|(over, _)| *over).chain([i64::MAX]).collect();
    let made = bands.into_iter().zip(uptos).map(|((prompt_over, rates), prompt_upto)| {
        let [input, cache_read, cache_write_5m, cache_write_1h, output] = rates;
        Cell {
            price_key: key.to_owned(),
            channel: API.to_owned(),
            mode: STANDARD.to_owned(),
            valid_from,
            valid_to,
            prompt_over,
            prompt_upto,
            input,
            cache_read,
            cache_write_5m,
            cache_write_1h,
            output,
            web_search_per_1k: base.map_or(0, |cell| cell.web_search_per_1k),
            geo_us_mult: base.map_or(1_000_000, |cell| cell.geo_us_mult),
            basis: "update".to_owned(),
            source: source.to_owned(),
        }
    });
    made.collect()
}

fn completed(rates: [Option<Rate>; 5], like: Option<&Cell>) -> [Rate; 5] {
    let input = rates[0].unwrap_or(0);
    let mut known = like
        .map(|cell| (cell.rates(), cell.input))
        .map_or([input; 5], |(old, old_input)| old.map(|rate| scaled(rate, input, old_input)));
    for (known, rate) in known.iter_mut().zip(rates) {
        *known = rate.unwrap_or(*known);
    }
    // Writes listed at zero are stored free of charge; their tokens are prompt tokens all the same.
    for write in &mut known[2..4] {
        if *write == 0 {
            *write = input;
        }
    }
    known
}

fn scaled(rate: Rate, new_input: Rate, old_input: Rate) -> Rate {
    if old_input == 0 {
        return new_input;
    }
    Rate::try_from(i128::from(rate) * i128::from(new_input) / i128::from(old_input)).unwrap_or(new_input)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::time;
    use crate::pricing::UserPrices;

    fn found(text: &str) -> (ListForm, Vec<Change>) {
        let (form, statements) = read(text, "list.json").unwrap();
        let at = time::parse("2026-11-30T00:00:00Z").unwrap();
        (form, changes(PriceTable::builtin().unwrap(), &statements, at, "list.json").unwrap())
    }

    #[test]
    fn litellm_is_per_token_and_unchanged_prices_are_no_change() {
        let (form, changes) = found(
            r#"{"claude-opus-5": {"litellm_provider": "anthropic", "mode": "chat", "input_cost_per_token": 5e-06,
                 "cache_read_input_token_cost": 5e-07, "output_cost_per_token": 2.5e-05},
                "claude-opus-5-5": {"litellm_provider": "anthropic", "mode": "chat", "input_cost_per_token": 3e-06,
                 "output_cost_per_token": 1.5e-05},
                "gpt-9": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 2.8e-09,
                 "output_cost_per_token": 1e-06},
                "zero": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 0, "output_cost_per_token": 0},
                "someone/claude-opus-5": {"litellm_provider": "someone", "mode": "chat", "input_cost_per_token": 1,
                 "output_cost_per_token": 1}}"#,
        );
        assert_eq!(form, ListForm::LiteLlm);
        assert_eq!(changes.len(), 2, "{changes:?}");
        // What the list leaves out keeps its proportion: reads at a twentieth, writes at 1.25 and 2 times the input.
        assert_eq!(changes[0].after[0].rates(), [3_000_000, 150_000, 3_750_000, 6_000_000, 15_000_000]);
        assert_eq!(changes[0].after[0].valid_from, time::parse("2026-11-30T00:00:00Z").unwrap());
        assert_eq!(changes[1].after[0].rates(), [2_800, 2_800, 2_800, 2_800, 1_000_000]);
        assert_eq!(changes[1].after[0].valid_from, OPEN_FROM);
    }

    #[test]
    fn models_dev_and_genai_are_per_million() {
        let (form, changes) = found(
            r#"{"xai": {"models": {"grok-4.7": {"cost": {"input": 3, "output": 6, "cache_read": 0.5,
                 "context_over_200k": {"input": 6, "output": 12, "cache_read": 1}}}}},
                "kimi-for-coding": {"models": {"k3": {"cost": {"input": 0, "output": 0}}}}}"#,
        );
        assert_eq!((form, changes.len()), (ListForm::ModelsDev, 1));
        assert_eq!(
            changes[0].after.iter().map(|cell| (cell.prompt_over, cell.input)).collect::<Vec<_>>(),
            [(-1, 3_000_000), (199_999, 6_000_000)]
        );
        let (form, changes) = found(
            r#"[{"id": "google", "models": [{"id": "gemini-4-argon", "prices": {"input_mtok": 2, "output_mtok": "11",
                 "cache_read_mtok": 0.1}}]}]"#,
        );
        assert_eq!((form, changes.len()), (ListForm::Genai, 1));
        // The announced price of the next day stays.
        assert_eq!(changes[0].after[0].valid_to, time::parse("2026-12-01T00:00:00Z").unwrap());
    }

    #[test]
    fn what_is_no_list_is_refused() {
        assert!(read("{", "f").unwrap_err().to_string().contains("no JSON"));
        assert!(read("{\"a\": 1}", "f").unwrap_err().to_string().contains("no price list"));
    }

    #[test]
    fn changes_can_be_written_and_read_again() {
        let (_, changes) = found(
            r#"{"x-ai": {"models": {"grok-4.7": {"cost": {"input": 3, "output": 6, "context_over_200k": {"input": 6, "output": 12}}}}}}"#,
        );
        let cells: Vec<Cell> = changes.into_iter().flat_map(|change| change.after).collect();
        let text = UserPrices::text_of(&cells);
        let again = UserPrices::parse(&text, "f").unwrap();
        assert_eq!(again.cells.values().flatten().cloned().collect::<Vec<_>>(), cells);
    }
}
