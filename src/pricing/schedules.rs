//! Prices that depend on the hour: at which times of the week a key is billed in another mode than standard.
//!
//! DeepSeek only. Its hours are in UTC here; the moment that counts is that of the response. Left to others: the rates of
//! those modes, which are cells like any other.

use crate::model::time;

/// One stretch of hours, on some days of the week, during a span of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// `vendor/model`.
    pub price_key: String,
    /// Mode that it is billed in then.
    pub mode: String,
    /// First instant of the rule, microseconds since the epoch.
    pub valid_from: i64,
    /// First instant that the rule no longer holds.
    pub valid_to: i64,
    /// Days of the week that it holds on, `1` (Monday) to `7`, in UTC.
    pub weekdays: String,
    /// First minute of the day, in UTC.
    pub from_minute: i64,
    /// First minute of the day that it no longer holds.
    pub to_minute: i64,
    /// Calendar of holidays on which it does not hold.
    pub calendar: Option<String>,
}

/// Days off, by calendar.
#[derive(Debug, Clone, Default)]
pub struct Holidays(pub(super) Vec<(String, i32)>);

impl Holidays {
    /// The days of a calendar, in days since the epoch.
    pub fn of<'a>(&'a self, calendar: Option<&'a str>) -> impl Iterator<Item = i32> + 'a {
        self.0.iter().filter(move |(name, _)| Some(name.as_str()) == calendar).map(|(_, day)| *day)
    }
}

impl Schedule {
    /// Whether a response at `at` falls into these hours, by the rule that held at `priced_at` (the two differ where
    /// history is priced as if on another day).
    #[must_use]
    pub fn holds(&self, at: i64, priced_at: i64, holidays: &Holidays) -> bool {
        let day = time::day(at);
        let minute = at.rem_euclid(time::DAY) / 60_000_000;
        // 1970-01-01 was a Thursday.
        let weekday = char::from_digit((day + 3).rem_euclid(7).unsigned_abs() + 1, 10);
        self.valid_from <= priced_at
            && priced_at < self.valid_to
            && self.from_minute <= minute
            && minute < self.to_minute
            && weekday.is_some_and(|weekday| self.weekdays.contains(weekday))
            && !holidays.of(self.calendar.as_deref()).any(|holiday| holiday == day)
    }
}
