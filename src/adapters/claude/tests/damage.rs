//! Lines in which anything may stand anywhere: none is lost, none panics, no counter becomes negative.

use crate::adapters::SourceAdapter as _;
use crate::model::tables::TableColumns as _;
use crate::source::Roots;

use super::{ClaudeCode, SESSION, cases, read_all};

/// Every line of every fixture that parses.
fn fixture_lines() -> Vec<serde_json::Value> {
    let entries = fs_err::read_dir(cases()).unwrap().map(|entry| entry.unwrap().path().join("home"));
    let sources = entries.flat_map(|home| ClaudeCode.enumerate(&Roots::at_home(&home)).sources);
    let texts = sources.map(|source| String::from_utf8_lossy(&fs_err::read(source.path).unwrap()).into_owned());
    texts.flat_map(|text| text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect::<Vec<_>>()).collect()
}

/// Copies of `value` with one member, at any depth, replaced by something of another type.
fn with_one_member_replaced(value: &serde_json::Value, out: &mut Vec<serde_json::Value>) {
    let strange =
        [serde_json::json!(null), serde_json::json!(-7.5), serde_json::json!("text"), serde_json::json!(["x", 1])];
    let members: Vec<String> = match value {
        serde_json::Value::Object(members) => {
            members.keys().map(|key| format!("/{}", key.replace('/', "~1"))).collect()
        }
        serde_json::Value::Array(items) => (0..items.len()).map(|index| format!("/{index}")).collect(),
        _ => return,
    };
    for member in members {
        let Some(inner) = value.pointer(&member) else { continue };
        let mut replacements = strange.to_vec();
        with_one_member_replaced(inner, &mut replacements);
        for replacement in replacements {
            let mut copy = value.clone();
            *copy.pointer_mut(&member).unwrap() = replacement;
            out.push(copy);
        }
    }
}

#[test]
fn a_line_is_a_row_whatever_stands_in_it() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".claude/projects/-w");
    fs_err::create_dir_all(&folder).unwrap();
    let mut lines = Vec::new();
    for line in fixture_lines() {
        if line.is_object() {
            with_one_member_replaced(&line, &mut lines);
        }
    }
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs_err::write(folder.join(format!("{SESSION}.jsonl")), text).unwrap();
    let rows = read_all(&Roots::at_home(home.path()), 8 << 20).remove(0);
    assert!(lines.len() > 5_000);
    assert_eq!(rows.messages.len(), lines.len());
    let counters = rows.claims.iter().flat_map(|placed| placed.claim.counters.to_array()).flatten();
    assert!(counters.clone().count() > 1_000 && counters.min() == Some(0));
}
