//! One repair of a line that is no JSON: what real producers are known to break, and nothing that would guess.
//!
//! Invalid UTF-8 becomes U+FFFD, a lone surrogate escape becomes `\ufffd`, an integer beyond 64 bits or a
//! fraction beyond a double becomes a string of its digits (no digit is lost; as a token count it is refused), and a raw control character inside a string is escaped.

/// Repairs `line`. `None` if there was nothing to repair, so the line is broken in another way.
#[must_use]
pub fn repair(line: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(line);
    let mut changed = matches!(text, std::borrow::Cow::Owned(_));
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest: &str = &text;
    let mut in_string = false;
    while let Some(character) = rest.chars().next() {
        if in_string {
            match character {
                '"' => in_string = false,
                '\\' => {
                    let escape = Escape::at(rest);
                    changed |= escape.lone;
                    out.push_str(if escape.lone { "\\ufffd" } else { head(rest, escape.len) });
                    rest = tail(rest, escape.len);
                    continue;
                }
                '\0'..='\x1f' => {
                    use std::fmt::Write as _;
                    changed = true;
                    let _ = write!(out, "\\u{:04x}", u32::from(character));
                    rest = tail(rest, 1);
                    continue;
                }
                _ => {}
            }
        } else if character == '"' {
            in_string = true;
        } else if character == '-' || character.is_ascii_digit() {
            let len = rest.find(|c: char| !matches!(c, '-' | '+' | '.' | 'e' | 'E' | '0'..='9')).unwrap_or(rest.len());
            let number = head(rest, len);
            let too_long = if number.contains(['.', 'e', 'E']) {
                number.parse().is_ok_and(f64::is_infinite)
            } else {
                number.parse::<i64>().is_err() && number.parse::<u64>().is_err()
            };
            if too_long {
                changed = true;
                out.push('"');
                out.push_str(number);
                out.push('"');
            } else {
                out.push_str(number);
            }
            rest = tail(rest, len);
            continue;
        }
        out.push(character);
        rest = tail(rest, character.len_utf8());
    }
    changed.then_some(out)
}

/// A backslash escape inside a string.
struct Escape {
    /// Bytes of the escape; of a surrogate pair, both halves.
    len: usize,
    /// Whether it is half of a pair whose other half is not there.
    lone: bool,
}

impl Escape {
    fn at(text: &str) -> Self {
        match code_unit(text) {
            Some(0xd800..=0xdbff) => {
                let paired = matches!(code_unit(tail(text, 6)), Some(0xdc00..=0xdfff));
                Self { len: if paired { 12 } else { 6 }, lone: !paired }
            }
            Some(0xdc00..=0xdfff) => Self { len: 6, lone: true },
            Some(_) => Self { len: 6, lone: false },
            None => {
                let escaped = text.chars().nth(1).map_or(0, char::len_utf8);
                Self { len: 1 + escaped, lone: false }
            }
        }
    }
}

/// The code unit of an escape of four hex digits at the start of `text`.
fn code_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
}

fn head(text: &str, len: usize) -> &str {
    text.get(..len).unwrap_or(text)
}

fn tail(text: &str, len: usize) -> &str {
    text.get(len..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_known_damage_is_mended_and_nothing_else() {
        assert_eq!(repair(br#"{"a":"\ud83d"}"#).as_deref(), Some(r#"{"a":"\ufffd"}"#));
        assert_eq!(repair(br#"{"a":"\ud83d\ude00 \ude00"}"#).as_deref(), Some(r#"{"a":"\ud83d\ude00 \ufffd"}"#));
        assert_eq!(repair(b"{\"a\":\"\xff\"}").as_deref(), Some("{\"a\":\"\u{fffd}\"}"));
        assert_eq!(
            repair(br#"{"n":123456789012345678901234567890}"#).as_deref(),
            Some(r#"{"n":"123456789012345678901234567890"}"#)
        );
        assert_eq!(repair(br#"{"n":1e999}"#).as_deref(), Some(r#"{"n":"1e999"}"#));
        assert_eq!(repair(b"{\"a\":\"x\ty\"}").as_deref(), Some("{\"a\":\"x\\u0009y\"}"));
        assert_eq!(repair(br#"{"a":"\\ud83d", "b":-1.5e300, "c":[18446744073709551615]}"#), None);
        assert_eq!(repair(br#"{"a":"#), None);
    }
}
