//! Money as the lake keeps it: a whole count of 10^-12 units, never a float.

use super::columns::{MONEY_PRECISION, MONEY_SCALE};

/// Reads decimal text (`0.0123`, `-1`, `1.5e-7`) exactly; digits beyond the twelfth decimal are rounded half up.
/// `None` for anything else, and for amounts that a money column cannot hold.
#[must_use]
pub fn parse(text: &str) -> Option<i128> {
    let text = text.trim();
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (digits, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.len() + fraction.len() == 0 {
        return None;
    }
    // The digits without the point, and how many places the last one stands behind the twelfth decimal.
    let places = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    let surplus = places.checked_sub(i32::from(MONEY_SCALE))?;
    let mut amount: i128 = 0;
    let all = whole.bytes().chain(fraction.bytes());
    let kept = i32::try_from(whole.len() + fraction.len()).ok()?.checked_sub(surplus.max(0))?;
    for (index, byte) in (0i32..).zip(all) {
        let digit = byte.is_ascii_digit().then(|| i128::from(byte - b'0'))?;
        if index < kept {
            amount = amount.checked_mul(10)?.checked_add(digit)?;
        } else if index == kept && digit >= 5 {
            amount += 1;
        }
    }
    for _ in surplus..0 {
        if amount == 0 {
            break;
        }
        amount = amount.checked_mul(10)?;
    }
    let limit = 10i128.pow(u32::from(MONEY_PRECISION));
    (amount < limit).then_some(if is_negative { -amount } else { amount })
}

/// An amount that a source wrote as a JSON number: its shortest decimal text, which is what the source wrote.
#[must_use]
pub fn from_f64(amount: f64) -> Option<i128> {
    amount.is_finite().then(|| parse(&amount.to_string()))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_text_is_taken_exactly() {
        for (text, amount) in [
            ("0", Some(0)),
            ("0.0123", Some(12_300_000_000)),
            ("-1", Some(-1_000_000_000_000)),
            ("1.5e-7", Some(150_000)),
            ("2E3", Some(2_000_000_000_000_000)),
            (".5", Some(500_000_000_000)),
            ("0.0000000000014", Some(1)),
            ("0.0000000000015", Some(2)),
            ("0.00000000000001", Some(0)),
            ("", None),
            ("-", None),
            ("1,5", None),
            ("nan", None),
            ("1e40", None),
            ("1e99999999999", None),
            ("0e400", Some(0)),
        ] {
            assert_eq!(parse(text), amount, "{text}");
        }
    }

    #[test]
    fn a_json_number_is_what_the_source_wrote() {
        assert_eq!(from_f64(0.1), Some(100_000_000_000));
        assert_eq!(from_f64(0.015_172_5), Some(15_172_500_000));
        assert_eq!(from_f64(f64::NAN), None);
    }
}
