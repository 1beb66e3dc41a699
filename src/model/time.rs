//! Times as the lake keeps them: microseconds since the epoch, UTC.

/// Microseconds of one day.
pub const DAY: i64 = 86_400_000_000;

/// Reads an RFC 3339 time (`2026-05-01T10:00:00.123Z`, any offset, any number of decimals) as microseconds since the epoch.
///
/// `None` for anything else, and for years outside 1970 to 2200: a session file with such a time has no time.
#[must_use]
pub fn parse(text: &str) -> Option<i64> {
    let micros = parse_common(text.as_bytes()).or_else(|| {
        let time = chrono::DateTime::parse_from_rfc3339(text.trim()).ok()?;
        Some(time.timestamp_micros())
    })?;
    plausible(micros)
}

/// Microseconds from a count of milliseconds, where it lies between 1970 and 2200.
#[must_use]
pub fn from_millis(millis: i64) -> Option<i64> {
    plausible(millis.checked_mul(1000)?)
}

/// Keeps times between 1970 and 2200.
#[must_use]
pub fn plausible(micros: i64) -> Option<i64> {
    const YEAR_2200: i64 = 7_258_118_400_000_000;
    (0..YEAR_2200).contains(&micros).then_some(micros)
}

/// The UTC day of a time, in days since the epoch.
#[must_use]
pub fn day(micros: i64) -> i32 {
    i32::try_from(micros.div_euclid(DAY)).unwrap_or(0)
}

/// A day as `YYYY-MM-DD`.
#[must_use]
pub fn day_text(day: i32) -> String {
    chrono::DateTime::from_timestamp(i64::from(day) * 86_400, 0).unwrap_or_default().format("%Y-%m-%d").to_string()
}

/// A time as RFC 3339 with microseconds, for messages to people.
#[must_use]
pub fn text(micros: i64) -> String {
    chrono::DateTime::from_timestamp_micros(micros)
        .unwrap_or_default()
        .to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true)
}

/// The shape nearly every line has, `YYYY-MM-DDTHH:MM:SS[.fraction]Z`, without the cost of a general parser.
fn parse_common(text: &[u8]) -> Option<i64> {
    let (head, rest) = text.split_at_checked(19)?;
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T', h1, h2, b':', n1, n2, b':', s1, s2] = head else {
        return None;
    };
    let digit = |byte: u8| byte.is_ascii_digit().then(|| i64::from(byte - b'0'));
    let pair = |tens: u8, ones: u8| Some(digit(tens)? * 10 + digit(ones)?);
    let year = pair(y1, y2)? * 100 + pair(y3, y4)?;
    let (month, day) = (pair(m1, m2)?, pair(d1, d2)?);
    let (hour, minute, second) = (pair(h1, h2)?, pair(n1, n2)?, pair(s1, s2)?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let date = chrono::NaiveDate::from_ymd_opt(
        i32::try_from(year).ok()?,
        u32::try_from(month).ok()?,
        u32::try_from(day).ok()?,
    )?;
    let days = i64::from(chrono::Datelike::num_days_from_ce(&date)) - 719_163;
    let mut micros = 0;
    let mut unit = 1_000_000;
    let mut rest = rest;
    if let Some((b'.', fraction)) = rest.split_first() {
        rest = fraction;
        while let Some((&byte, after)) = rest.split_first() {
            let Some(value) = digit(byte) else { break };
            unit /= 10;
            micros += value * unit;
            rest = after;
        }
    }
    (rest == b"Z").then_some(days * DAY + ((hour * 60 + minute) * 60 + second) * 1_000_000 + micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_shape_agrees_with_the_general_parser() {
        for text in [
            "2026-05-01T10:00:00.123Z",
            "2024-02-29T23:59:59Z",
            "2026-01-01T00:00:00.123456789Z",
            "1970-01-01T00:00:00.5Z",
        ] {
            let general = chrono::DateTime::parse_from_rfc3339(text).unwrap().timestamp_micros();
            assert_eq!(parse(text), Some(general), "{text}");
        }
    }

    #[test]
    fn offsets_are_applied() {
        assert_eq!(parse("2026-05-01T12:00:00+02:00"), parse("2026-05-01T10:00:00Z"));
    }

    #[test]
    fn impossible_times_are_no_times() {
        for text in [
            "",
            "yesterday",
            "2026-13-01T00:00:00Z",
            "2026-02-30T00:00:00Z",
            "2026-01-01T25:00:00Z",
            "9999-01-01T00:00:00Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn days_are_utc_days() {
        let late = parse("2026-11-29T23:59:59.999Z").unwrap();
        assert_eq!(day_text(day(late)), "2026-11-29");
        assert_eq!(day_text(day(late + 1000)), "2026-11-30");
    }
}
