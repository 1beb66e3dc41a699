//! The data files as they stand in `data/`: lines of comma-separated fields, without quotes and without commas inside.
//!
//! Owned here: the shape of a line, and saying where it is wrong. What the lines mean together is the business of
//! [`super::table`].

use crate::model::time;

use super::PricingError;
use super::aliases::{Alias, Target};
use super::cell::{Cell, NO_PROMPT, OPEN_FROM, OPEN_TO, Rate, parse_rate};
use super::schedules::Schedule;

/// Name of the file of cells, for messages.
pub const PRICES: &str = "prices.csv";
/// Name of the file of aliases, for messages.
pub const ALIASES: &str = "aliases.csv";
/// Name of the file of schedules, for messages.
pub const SCHEDULES: &str = "schedules.csv";
/// Name of the file of holidays, for messages.
pub const HOLIDAYS: &str = "holidays.csv";

/// One line of a data file.
pub struct Row<'a> {
    file: &'static str,
    line: usize,
    fields: Vec<&'a str>,
}

/// The lines of a file behind its header, each of `width` fields.
pub fn rows<'a>(
    text: &'a str,
    file: &'static str,
    width: usize,
) -> Result<impl Iterator<Item = Result<Row<'a>, PricingError>>, PricingError> {
    let mut lines = text.lines().enumerate();
    lines.next().ok_or_else(|| PricingError::Field { file, line: 1, problem: "is empty".to_owned() })?;
    Ok(lines.filter(|(_, line)| !line.is_empty()).map(move |(index, line)| Row::of(line, file, index + 1, width)))
}

impl<'a> Row<'a> {
    /// A line, which is the `line`-th of its file.
    pub fn of(text: &'a str, file: &'static str, line: usize, width: usize) -> Result<Self, PricingError> {
        let fields: Vec<&str> = text.split(',').collect();
        if fields.len() == width {
            return Ok(Self { file, line, fields });
        }
        Err(PricingError::Field { file, line, problem: format!("has {} fields, not {width}", fields.len()) })
    }

    /// A line of prices.csv.
    pub fn cell(&self) -> Result<Cell, PricingError> {
        let cell = Cell {
            price_key: self.text(0)?,
            channel: self.text(1)?,
            mode: self.text(2)?,
            valid_from: self.time(3, OPEN_FROM)?,
            valid_to: self.time(4, OPEN_TO)?,
            prompt_over: self.count(5, NO_PROMPT)?,
            prompt_upto: self.count(6, i64::MAX)?,
            input: self.rate(7)?,
            cache_read: self.rate(8)?,
            cache_write_5m: self.rate(9)?,
            cache_write_1h: self.rate(10)?,
            output: self.rate(11)?,
            web_search_per_1k: self.rate(12)?,
            geo_us_mult: self.rate(13)?,
            basis: self.text(14)?,
            source: self.text(15)?,
        };
        cell.impossible().map_or(Ok(cell), |problem| Err(self.error(problem)))
    }

    /// A line of aliases.csv.
    pub fn alias(&self) -> Result<Alias, PricingError> {
        Ok(Alias {
            name: self.text(0)?,
            provider: self.optional(1),
            target: Target::named(&self.text(2)?).ok_or_else(|| self.error("names no `vendor/model`"))?,
            mode: self.optional(3),
            valid_from: self.time(4, OPEN_FROM)?,
            valid_to: self.time(5, OPEN_TO)?,
            of_user: false,
        })
    }

    /// A line of schedules.csv.
    pub fn schedule(&self) -> Result<Schedule, PricingError> {
        let [from_minute, to_minute] = [self.minute(5)?, self.minute(6)?];
        let weekdays = self.text(4)?;
        if weekdays.bytes().any(|day| !(b'1'..=b'7').contains(&day)) || from_minute >= to_minute {
            return Err(self.error("has no days of the week (1 to 7), or hours that do not end after they began"));
        }
        Ok(Schedule {
            price_key: self.text(0)?,
            mode: self.text(1)?,
            valid_from: self.time(2, OPEN_FROM)?,
            valid_to: self.time(3, OPEN_TO)?,
            weekdays,
            from_minute,
            to_minute,
            calendar: self.optional(7),
        })
    }

    /// A line of holidays.csv: calendar, and day in days since the epoch.
    pub fn holiday(&self) -> Result<(String, i32), PricingError> {
        let midnight = format!("{}T00:00:00Z", self.text(1)?);
        let day = time::parse(&midnight).ok_or_else(|| self.error("has no day"))?;
        Ok((self.text(0)?, time::day(day)))
    }

    fn text(&self, column: usize) -> Result<String, PricingError> {
        self.optional(column).ok_or_else(|| self.error(&format!("has nothing in column {}", column + 1)))
    }

    fn optional(&self, column: usize) -> Option<String> {
        self.fields.get(column).filter(|text| !text.is_empty()).map(|text| (*text).to_owned())
    }

    fn time(&self, column: usize, open: i64) -> Result<i64, PricingError> {
        let Some(text) = self.optional(column) else { return Ok(open) };
        time::parse(&text).ok_or_else(|| self.error(&format!("has no RFC 3339 time in `{text}`")))
    }

    fn count(&self, column: usize, open: i64) -> Result<i64, PricingError> {
        let Some(text) = self.optional(column) else { return Ok(open) };
        text.parse().map_err(|_| self.error(&format!("has no count of tokens in `{text}`")))
    }

    fn rate(&self, column: usize) -> Result<Rate, PricingError> {
        let text = self.text(column)?;
        parse_rate(&text).ok_or_else(|| self.error(&format!("has no number of at most six decimals in `{text}`")))
    }

    /// `16:30` as a minute of the day.
    fn minute(&self, column: usize) -> Result<i64, PricingError> {
        let text = self.text(column)?;
        let parts = text
            .split_once(':')
            .and_then(|(hour, minute)| Some((hour.parse::<i64>().ok()?, minute.parse::<i64>().ok()?)));
        match parts {
            Some((hour @ 0..=24, minute @ 0..=59)) if hour * 60 + minute <= 1440 => Ok(hour * 60 + minute),
            _ => Err(self.error(&format!("has no time of day in `{text}`"))),
        }
    }

    fn error(&self, problem: &str) -> PricingError {
        PricingError::Field { file: self.file, line: self.line, problem: problem.to_owned() }
    }
}
