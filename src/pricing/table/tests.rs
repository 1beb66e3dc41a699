//! What a table refuses, and what the committed one promises.

use super::*;
use crate::pricing::OPEN_TO;

const HEADER: &str = "price_key,channel,mode,valid_from,valid_to,prompt_over,prompt_upto,…\n";

fn line(span: &str, bands: &str, input: &str) -> String {
    format!("v/m,api,standard,{span},{bands},{input},1,1,1,1,10,1,documented,https://example.org\n")
}

fn checked(lines: &[String]) -> Result<(), PricingError> {
    let files = DataFiles {
        prices: format!("{HEADER}{}", lines.concat()).into(),
        aliases: "name\n".into(),
        schedules: "price_key\n".into(),
        holidays: "calendar\n".into(),
        date: "2026-01-01".into(),
    };
    PriceTable::parse(files)?.check()
}

#[test]
fn the_builtin_table_is_a_partition() {
    let table = PriceTable::builtin().unwrap();
    table.check().unwrap();
    assert!(table.cells().unwrap().len() > 1_500);
}

/// What the generator's checks ask, of the table as committed: someone may have edited it by hand.
#[test]
fn the_builtin_table_holds_nothing_doubtful() {
    let table = PriceTable::builtin().unwrap();
    for cell in table.cells().unwrap() {
        assert_eq!(cell.doubtful(), None, "{}", cell.place());
        assert!(!cell.source.is_empty() && !cell.basis.is_empty(), "{}", cell.place());
    }
}

#[test]
fn no_released_key_has_vanished() {
    let table = PriceTable::builtin().unwrap();
    let released: Vec<&str> = include_str!("../data/keys.txt").lines().collect();
    assert!(released.len() >= 600);
    for key in released {
        assert!(table.has_key(key), "{key} was released and has no price any more");
    }
}

#[test]
fn the_builtin_table_is_sorted_for_review() {
    let text = include_str!("../data/prices.csv");
    let keys: Vec<&str> = text.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    assert!(keys.is_sorted());
    assert!(include_str!("../data/keys.txt").lines().is_sorted());
}

#[test]
fn cells_are_found_by_key_alone() {
    let table = PriceTable::builtin().unwrap();
    let cells = table.cells().unwrap();
    for key in table.keys() {
        let expected: Vec<&Cell> = cells.iter().filter(|cell| cell.price_key == key).collect();
        assert_eq!(table.cells_of(key).unwrap().iter().collect::<Vec<_>>(), expected, "{key}");
    }
    assert!(table.cells_of("anthropic/claude-opus").unwrap().is_empty());
}

#[test]
fn a_full_partition_is_accepted() {
    let day = "2026-01-01T00:00:00Z";
    checked(&[
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
        assert!(matches!(checked(lines), Err(PricingError::NotAPartition { axis: "time", .. })), "{lines:?}");
    }
}

#[test]
fn gaps_and_overlaps_in_prompt_size_are_refused() {
    let gap = [line(",", ",1000", "1"), line(",", "1001,", "1")];
    let overlap = [line(",", ",1000", "1"), line(",", "999,", "1")];
    let unfinished = [line(",", ",1000", "1")];
    let twice = [line(",", ",", "1"), line(",", ",", "1")];
    for lines in [&gap[..], &overlap[..], &unfinished[..], &twice[..]] {
        assert!(matches!(checked(lines), Err(PricingError::NotAPartition { axis: "prompt size", .. })), "{lines:?}");
    }
}

/// A tier with another validity than its base row made a prototype's join duplicate rows.
#[test]
fn a_tier_must_share_the_span_of_its_base() {
    let lines = [line(",", ",1000", "1"), line(",2026-01-01T00:00:00Z", "1000,", "2")];
    assert!(checked(&lines).is_err());
}

#[test]
fn what_cannot_be_read_is_named_by_line() {
    let negative = checked(&[line(",", ",", "-1")]).unwrap_err().to_string();
    assert_eq!(negative, "line 2 of prices.csv has a negative rate");
    let fields = checked(&["v/m,api\n".to_owned()]).unwrap_err().to_string();
    assert_eq!(fields, "line 2 of prices.csv has 2 fields, not 16");
    let number = checked(&[line(",", ",", "1e-3")]).unwrap_err().to_string();
    assert_eq!(number, "line 2 of prices.csv has no number of at most six decimals in `1e-3`");
}

/// The rules that `data/NOTICES.md` states, so that a typing error in one of 1,800 lines does not pass.
#[test]
fn the_table_keeps_the_vendors_ratios() {
    let cells = PriceTable::builtin().unwrap().cells().unwrap();
    let twin = |cell: &Cell, mode: &str| {
        cells.iter().find(|other| {
            other.mode == mode
                && other.price_key == cell.price_key
                && other.channel == cell.channel
                && other.valid_from == cell.valid_from
                && other.prompt_over == cell.prompt_over
        })
    };
    for cell in cells.iter().filter(|cell| cell.channel == "api") {
        if cell.price_key.starts_with("anthropic/claude-") && cell.cache_write_5m != cell.input {
            assert_eq!(cell.cache_write_1h, 2 * cell.input, "{}", cell.place());
        }
        let is_half = matches!(cell.price_key.split_once('/'), Some(("anthropic" | "openai", _)));
        if let ("batch" | "flex", true, Some(standard)) = (cell.mode.as_str(), is_half, twin(cell, "standard")) {
            assert_eq!([2 * cell.input, 2 * cell.output], [standard.input, standard.output], "{}", cell.place());
        }
    }
}

#[test]
fn a_users_prices_cut_what_is_below() {
    let user = UserPrices::parse(
        "[[price]]\nprice_key = \"anthropic/claude-opus-5\"\nvalid_from = 2026-10-01\nvalid_to = 2026-11-01\n\
         input = 1\ncache_read = 0.1\ncache_write_5m = 1\ncache_write_1h = 1\noutput = 2\n",
        "prices.toml",
    )
    .unwrap();
    let builtin = PriceTable::builtin().unwrap();
    let table = builtin.with(&user).unwrap();
    table.check().unwrap();
    let at = |text: &str| {
        let at = crate::model::time::parse(text).unwrap();
        table.rates_for("anthropic/claude-opus-5", "api", "standard", at).unwrap()[0].input
    };
    assert_eq!(at("2026-09-30T23:59:59Z"), 5_000_000);
    assert_eq!(at("2026-10-01T00:00:00Z"), 1_000_000);
    assert_eq!(at("2026-11-01T00:00:00Z"), 5_000_000);
    assert_ne!(table.fingerprint(), builtin.fingerprint());
    assert_eq!(table.basis().over, ["prices.toml (1 price)"]);
    let untouched = table.rates_for("anthropic/claude-opus-5", "api", "fast", 0).unwrap();
    assert_eq!(untouched, builtin.rates_for("anthropic/claude-opus-5", "api", "fast", 0).unwrap());
    assert_eq!(untouched[0].valid_to, OPEN_TO);
}
