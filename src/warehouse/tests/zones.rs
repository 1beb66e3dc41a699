//! Days of 23 and 25 hours, half and quarter hours of offset, and the parts that a local day needs.

use super::mock::{MockLake, Usage, day, union};
use crate::warehouse::{Filters, Question};

/// One call at every half hour of UTC from 6 March to 10 March, and from 30 October to 3 November 2026: with both days on
/// which clocks change in New York (8 March and 1 November).
pub fn long_days() -> MockLake {
    let mut lake = MockLake::new();
    for (month, days) in [(3, 6..=10), (10, 30..=31), (11, 1..=3)] {
        for number in days {
            let date = format!("2026-{month:02}-{number:02}");
            let usage = Usage { ts: "DAY TIME", model: "claude-opus-5", rest: ", 40000 AS output_tokens" };
            let calls: Vec<String> = (0..48)
                .map(|half| {
                    let time = format!("{:02}:{:02}:00", half / 2, half % 2 * 30);
                    usage.select(&format!("{date}-{half}")).replace("DAY", &date).replace("TIME", &time)
                })
                .collect();
            lake.part("usage", "claude", &date, 1, &union(&calls));
        }
    }
    lake
}

/// Days with their calls.
fn days(lake: &MockLake, filters: &Filters) -> Vec<String> {
    let rows = lake.rows(Question::Bundled("daily_cost"), filters);
    rows.iter()
        .map(|row| {
            row.split(',')
                .enumerate()
                .filter(|(at, _)| [0, 2].contains(at))
                .map(|(_, value)| value)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect()
}

fn on(zone: &str, date: &str) -> Filters {
    Filters { tz: Some(zone.to_owned()), since: day(date), until: day(date), ..Filters::default() }
}

#[test]
fn a_day_has_as_many_hours_as_its_zone_gives_it() {
    let lake = long_days();
    for (zone, date, calls) in [
        ("UTC", "2026-03-08", 48),
        ("UTC", "2026-11-01", 48),
        ("America/New_York", "2026-03-07", 48),
        ("America/New_York", "2026-03-08", 46),
        ("America/New_York", "2026-11-01", 50),
        ("America/New_York", "2026-11-02", 48),
        ("Asia/Tokyo", "2026-03-08", 48),
        ("Asia/Tokyo", "2026-11-01", 48),
        ("Asia/Kathmandu", "2026-03-08", 48),
        ("Pacific/Kiritimati", "2026-11-01", 48),
        ("Pacific/Pago_Pago", "2026-11-01", 48),
    ] {
        assert_eq!(days(&lake, &on(zone, date)), [format!("{date} {calls}")], "{zone}");
    }
}

/// 05:45 ahead: the day ends at 18:15 UTC, and the call of 18:30 is one of the next.
#[test]
fn an_offset_may_have_quarters_of_an_hour() {
    let lake = long_days();
    let first = "SELECT min(ts_utc), max(ts_utc) FROM local_requests(tz := 'Asia/Kathmandu', since := DATE '2026-11-01', until := DATE '2026-11-01')";
    assert_eq!(lake.sql(first), ["2026-10-31 18:30:00,2026-11-01 18:00:00"]);
}

/// The hour that clocks show twice counts once in the heat map, with the calls of both; the one left out has none.
#[test]
fn heat_maps_show_hours_as_clocks_do() {
    let lake = long_days();
    let calls = |date: &str, hour: &str| -> Option<String> {
        let rows = lake.rows(Question::Bundled("heat_map"), &on("America/New_York", date));
        let row = rows.iter().find(|row| row.split(',').nth(1) == Some(hour))?;
        row.split(',').nth(2).map(str::to_owned)
    };
    assert_eq!(calls("2026-11-01", "1"), Some("4".to_owned()));
    assert_eq!(calls("2026-11-01", "2"), Some("2".to_owned()));
    assert_eq!(calls("2026-03-08", "2"), None);
    assert_eq!(calls("2026-03-08", "3"), Some("2".to_owned()));
}

/// A zone that the SQL names itself needs the neighbouring parts as much as one of `--tz`.
#[test]
fn parts_beside_the_days_are_read_for_any_zone() {
    let lake = long_days();
    let filters = Filters { since: day("2026-11-01"), until: day("2026-11-01"), ..Filters::default() };
    let sql = "SELECT count(*) FROM local_requests(
        tz := 'America/New_York', since := getvariable('since'), until := getvariable('until'))";
    assert_eq!(lake.rows(Question::Sql(sql), &filters), ["50"]);
}

#[test]
fn the_answer_says_whose_days_it_counts() {
    let lake = long_days();
    let text =
        lake.text(Question::Bundled("daily_cost"), &on("asia/tokyo", "2026-11-01"), crate::warehouse::Format::Table);
    assert!(text.trim_end().ends_with("; days in Asia/Tokyo"), "{text}");
    let plain = lake.text(
        Question::Sql("SELECT count(*) FROM usage"),
        &on("Asia/Tokyo", "2026-11-01"),
        crate::warehouse::Format::Table,
    );
    assert!(!plain.contains("Tokyo"), "{plain}");
}
