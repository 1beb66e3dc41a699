//! The golden cases of `data/golden.csv`, for tests: requests with their exact cost, worked out by hand.

use crate::model::{Counters, money};

/// One request and what it costs.
#[derive(Debug)]
pub struct Case {
    pub name: String,
    pub price_key: Option<String>,
    pub model: String,
    pub mode: String,
    pub at: String,
    pub geo: String,
    pub counters: Counters,
    pub usd: String,
}

impl Case {
    /// The speed that a response in the case's mode records.
    pub fn speed(&self) -> &str {
        if self.mode == "standard" { "" } else { &self.mode }
    }

    /// The cost in pico-dollars; `None` if there is no price.
    pub fn pico_usd(&self) -> Option<i128> {
        money::parse(&self.usd)
    }
}

/// All cases.
pub fn golden() -> Vec<Case> {
    let lines = include_str!("data/golden.csv").lines().skip(1);
    let cases: Vec<Case> = lines
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            let text = |at: usize| fields[at].to_owned();
            let count = |at: usize| fields[at].parse().ok();
            Case {
                name: text(0),
                price_key: Some(text(1)).filter(|key| !key.is_empty()),
                model: text(2),
                mode: text(3),
                at: text(4),
                geo: text(5),
                counters: Counters {
                    input: count(6),
                    cache_read: count(7),
                    cache_write_5m: count(8),
                    cache_write_1h: count(9),
                    output: count(10),
                    web_search_requests: count(11),
                    reasoning: None,
                },
                usd: text(12),
            }
        })
        .collect();
    assert!(cases.len() >= 20);
    cases
}
