//! The table `tz_offsets`: how far each IANA zone is from UTC, and since when. It replaces ICU, which not every DuckDB has.

use std::str::FromStr;

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, Offset, TimeZone};
use chrono_tz::{TZ_VARIANTS, Tz};
use duckdb::{Appender, Connection};

use super::{Result, Trying, WarehouseError};

/// Offsets are listed from here on; earlier times get the offset of this day. Coding agents are younger.
const FIRST_YEAR: i32 = 2020;
/// … to the end of this year; later times keep the last offset.
const LAST_YEAR: i32 = 2037;
const EPOCH: NaiveDateTime = DateTime::UNIX_EPOCH.naive_utc();

/// Makes the table, empty.
pub(super) fn create(connection: &Connection) -> Result<()> {
    let sql = "CREATE OR REPLACE TABLE tz_offsets (zone VARCHAR, utc_from TIMESTAMP, offset_seconds BIGINT)";
    connection.execute_batch(sql).trying("make the table of time zones")
}

/// Fills the table with `zones`.
pub(super) fn fill(connection: &Connection, zones: impl IntoIterator<Item = Tz>) -> Result<()> {
    let trying = "fill the table of time zones";
    let mut appender = connection.appender("tz_offsets").trying(trying)?;
    for zone in zones {
        append(&mut appender, zone).trying(trying)?;
    }
    appender.flush().trying(trying)
}

/// All zones of the IANA database.
pub(super) fn all() -> impl Iterator<Item = Tz> {
    TZ_VARIANTS.iter().copied()
}

/// The zone of a name, in any case of letters.
///
/// # Errors
/// There is no such zone.
pub fn zone_named(name: &str) -> Result<Tz> {
    Tz::from_str(name)
        .or_else(|_| Tz::from_str_insensitive(name))
        .map_err(|_| WarehouseError::UnknownZone(name.to_owned()))
}

fn append(appender: &mut Appender<'_>, zone: Tz) -> duckdb::Result<()> {
    for (from, seconds) in offsets(zone) {
        appender.append_row(duckdb::params![zone.name(), from.to_string(), seconds])?;
    }
    Ok(())
}

/// The offsets of a zone in seconds east of UTC, each with the UTC time it begins at. The first begins at the epoch, so that
/// no row is left without a day.
fn offsets(zone: Tz) -> Vec<(NaiveDateTime, i64)> {
    let offset_at = |time: NaiveDateTime| i64::from(zone.offset_from_utc_datetime(&time).fix().local_minus_utc());
    let first_day = NaiveDate::from_ymd_opt(FIRST_YEAR, 1, 1).unwrap_or_default();
    let mut before = first_day.and_time(chrono::NaiveTime::MIN);
    let mut known = offset_at(before);
    let mut found = vec![(EPOCH, known)];
    for day in first_day.iter_days().skip(1).take_while(|day| day.year() <= LAST_YEAR) {
        let after = day.and_time(chrono::NaiveTime::MIN);
        let offset = offset_at(after);
        if offset != known {
            found.push((change_between(before, after, known, offset_at), offset));
            known = offset;
        }
        before = after;
    }
    found
}

/// The second at which the offset stops being `known`: zones change once a day at most.
fn change_between(
    before: NaiveDateTime,
    after: NaiveDateTime,
    known: i64,
    offset_at: impl Fn(NaiveDateTime) -> i64,
) -> NaiveDateTime {
    let (mut low, mut high) = (before.and_utc().timestamp(), after.and_utc().timestamp());
    let time = |seconds: i64| DateTime::from_timestamp(seconds, 0).unwrap_or_default().naive_utc();
    while high - low > 1 {
        let middle = low.midpoint(high);
        if offset_at(time(middle)) == known {
            low = middle;
        } else {
            high = middle;
        }
    }
    time(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> NaiveDateTime {
        NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S").unwrap()
    }

    #[test]
    fn summer_time_begins_and_ends_at_its_second() {
        let berlin = offsets(Tz::Europe__Berlin);
        assert_eq!(berlin.first(), Some(&(EPOCH, 3600)));
        assert!(berlin.contains(&(time("2026-03-29 01:00:00"), 7200)));
        assert!(berlin.contains(&(time("2026-10-25 01:00:00"), 3600)));
        assert_eq!(offsets(Tz::UTC), [(EPOCH, 0)]);
    }

    /// Every hour of a year in which Morocco changes around Ramadan, and in zones with odd offsets.
    #[test]
    fn the_list_agrees_with_the_database_at_every_hour() {
        for zone in [Tz::Africa__Casablanca, Tz::Asia__Kathmandu, Tz::Australia__Lord_Howe, Tz::America__New_York] {
            let list = offsets(zone);
            let mut hour = time("2026-01-01 00:00:00");
            while hour < time("2027-01-01 00:00:00") {
                let listed = list.iter().rev().find(|(from, _)| *from <= hour).unwrap().1;
                let known = i64::from(zone.offset_from_utc_datetime(&hour).fix().local_minus_utc());
                assert_eq!(listed, known, "{zone} {hour}");
                hour += chrono::TimeDelta::hours(1);
            }
        }
    }

    #[test]
    fn zones_are_found_in_any_case_and_never_guessed() {
        assert_eq!(zone_named("europe/berlin").unwrap(), Tz::Europe__Berlin);
        assert!(matches!(zone_named("Berlin"), Err(WarehouseError::UnknownZone(_))));
    }
}
