//! Names that are no rule: what a recorded id meant at a time, and ids that are billed otherwise than by the token.

use super::PricingError;
use super::cell::{OPEN_FROM, OPEN_TO};

/// How use of a model is billed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Billing {
    /// By the token, at the prices of its key.
    Metered,
    /// By the token, at prices that are a guess by rule.
    Estimate,
    /// Not at all.
    Free,
    /// By a plan: a request adds nothing.
    FlatRate,
    /// Not at all, since it ran on the user's own machine.
    Local,
    /// No model was called.
    Nothing,
}

impl Billing {
    /// As the column `billing` has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Metered => "metered",
            Self::Estimate => "estimate",
            Self::Free => "free",
            Self::FlatRate => "flat_rate",
            Self::Local => "local",
            Self::Nothing => "nothing",
        }
    }

    /// Whether a request costs nothing whatever its counters say.
    #[must_use]
    pub fn is_nothing(self) -> bool {
        !matches!(self, Self::Metered | Self::Estimate)
    }
}

/// What an alias points to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The prices of a key.
    Price(String),
    /// No prices: [`Billing::Free`], [`Billing::FlatRate`] or [`Billing::Local`].
    Unmetered(Billing),
}

impl Target {
    /// `vendor/model`, `free`, `flat_rate` or `local`.
    #[must_use]
    pub fn named(text: &str) -> Option<Self> {
        match text {
            "free" => Some(Self::Unmetered(Billing::Free)),
            "flat_rate" => Some(Self::Unmetered(Billing::FlatRate)),
            "local" => Some(Self::Unmetered(Billing::Local)),
            key => key.split_once('/').map(|_| Self::Price(key.to_owned())),
        }
    }

    /// The price key, if it points to one.
    #[must_use]
    pub fn price_key(&self) -> Option<&str> {
        match self {
            Self::Price(key) => Some(key),
            Self::Unmetered(_) => None,
        }
    }
}

/// Another name of a model, for a span of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alias {
    /// The name, as recorded.
    pub name: String,
    /// The only tool that it holds for.
    pub provider: Option<String>,
    /// What it is priced as.
    pub target: Target,
    /// Price mode that the name says.
    pub mode: Option<String>,
    /// First instant that it means this, microseconds since the epoch.
    pub valid_from: i64,
    /// First instant that it no longer does.
    pub valid_to: i64,
    /// Whether it is from a user's file, which goes before everything else.
    pub of_user: bool,
}

impl Alias {
    /// Whether it speaks of a tool's records.
    #[must_use]
    pub fn is_for(&self, provider: &str) -> bool {
        self.provider.as_deref().is_none_or(|only| only == provider)
    }

    /// Whether it holds for all of time.
    #[must_use]
    pub fn is_timeless(&self) -> bool {
        (self.valid_from, self.valid_to) == (OPEN_FROM, OPEN_TO)
    }
}

/// Aliases of one name (and tool) must not overlap in time.
pub(super) fn check(aliases: &[Alias]) -> Result<(), PricingError> {
    let mut sorted: Vec<&Alias> = aliases.iter().collect();
    sorted.sort_by_key(|alias| (&alias.name, &alias.provider, alias.of_user, alias.valid_from));
    let overlap = sorted.iter().zip(sorted.iter().skip(1)).find(|(first, second)| {
        (&first.name, &first.provider, first.of_user) == (&second.name, &second.provider, second.of_user)
            && second.valid_from < first.valid_to
    });
    match overlap {
        Some((alias, _)) => Err(PricingError::AmbiguousAlias { name: alias.name.clone() }),
        None => Ok(()),
    }
}
