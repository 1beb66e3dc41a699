//! Replays a log of changes: `{kind, k, v, i}` with the kinds 0 (the whole state), 1 (set), 2 (truncate to `i` and append)
//! and 3 (delete). A path into something that is not there yet makes it, as the editor's own reader does.

use serde_json::{Map, Value};

use crate::adapters::document::Open;
use crate::model::{IssueKind, Rows};
use crate::source::Json;

/// Member of the state that holds requests which later changes took out of the chat: they were answered and billed.
pub(super) const DROPPED: &str = "agentlake:dropped";

/// Longest array that a path may reach into beyond its end.
const MAX_GAP: usize = 1 << 16;

/// The state after every change, as JSON text; `None` before the first.
pub(super) fn replay(bytes: &[u8], session_id: &str, open: &mut Open, out: &mut Rows) -> Option<String> {
    let mut state = Value::Null;
    let mut dropped: Vec<Value> = Vec::new();
    open.lines(bytes, Some(session_id), out, |line, open, out| {
        let before = may_drop(line.json).then(|| requests(&state));
        let is_applied = apply(&mut state, line.json);
        if let Some(before) = before {
            let left = requests(&state);
            dropped.extend(before.into_iter().filter(|request| is_lost(request, &left)));
            dropped.retain(|request| is_lost(request, &left));
        }
        if !is_applied {
            let detail = format!("a change cannot be applied: {:.200}", line.json.to_text());
            open.issue(Some(session_id), line.seq, IssueKind::UnknownRecord, &detail, out);
        }
    });
    if let Value::Object(members) = &mut state
        && !dropped.is_empty()
    {
        members.insert(DROPPED.to_owned(), Value::Array(dropped));
    }
    (!state.is_null()).then(|| state.to_string())
}

/// Whether a change can take requests out of the chat: a new state, or one that ends at the list of requests or an element.
fn may_drop(change: Json<'_>) -> bool {
    let is_appended = change.get("kind").and_then(Json::as_i64) == Some(2) && change.get("i").is_none();
    !is_appended && change.get("k").is_none_or(|path| path.len() <= 2)
}

fn requests(state: &Value) -> Vec<Value> {
    state.get("requests").and_then(Value::as_array).cloned().unwrap_or_default()
}

/// Whether a request that has an id is not in the list.
fn is_lost(request: &Value, list: &[Value]) -> bool {
    let id = request.get("requestId");
    id.is_some() && !list.iter().any(|other| other.get("requestId") == id)
}

/// Applies one change; false if it makes no sense.
fn apply(state: &mut Value, change: Json<'_>) -> bool {
    let value = || change.get("v").map_or(Value::Null, owned);
    let kind = change.get("kind").and_then(Json::as_i64);
    if kind == Some(0) {
        *state = value();
        return true;
    }
    let Some(path) = change.get("k").filter(|path| path.is_array() && !path.is_empty()) else { return false };
    let keys: Vec<Json<'_>> = path.items().collect();
    let Some((last, parents)) = keys.split_last() else { return false };
    let mut at = state;
    for key in parents {
        let Some(next) = step(at, *key) else { return false };
        at = next;
    }
    match kind {
        Some(1) => step(at, *last).map(|slot| *slot = value()).is_some(),
        Some(2) => {
            let Some(slot) = step(at, *last) else { return false };
            if !slot.is_array() {
                *slot = Value::Array(Vec::new());
            }
            let Value::Array(items) = slot else { return false };
            if let Some(len) = change.get("i").and_then(Json::as_i64) {
                items.truncate(usize::try_from(len).unwrap_or(0));
            }
            items.extend(change.get("v").into_iter().flat_map(Json::items).map(owned));
            true
        }
        Some(3) => {
            match (at, last.as_str(), last.as_i64().and_then(|at| usize::try_from(at).ok())) {
                (Value::Object(members), Some(key), _) => drop(members.remove(key)),
                (Value::Array(items), _, Some(index)) if index < items.len() => drop(items.remove(index)),
                _ => {}
            }
            true
        }
        _ => false,
    }
}

/// The member or element of a key, made if it is not there.
fn step<'a>(at: &'a mut Value, key: Json<'_>) -> Option<&'a mut Value> {
    if let Some(name) = key.as_str() {
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        return Some(at.as_object_mut()?.entry(name).or_insert(Value::Null));
    }
    let index = usize::try_from(key.as_i64()?).ok()?;
    if !at.is_array() {
        *at = Value::Array(Vec::new());
    }
    let items = at.as_array_mut()?;
    if index > items.len().saturating_add(MAX_GAP) {
        return None;
    }
    if index >= items.len() {
        items.resize(index + 1, Value::Null);
    }
    items.get_mut(index)
}

/// A value of its own.
fn owned(json: Json<'_>) -> Value {
    if json.is_object() {
        return Value::Object(json.fields().map(|(key, value)| (key.to_owned(), owned(value))).collect());
    }
    if json.is_array() {
        return Value::Array(json.items().map(owned).collect());
    }
    if let Some(text) = json.as_str() {
        return Value::String(text.to_owned());
    }
    serde_json::from_str(&json.to_text()).unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::json::Parser;

    fn replayed(changes: &[&str]) -> (String, bool) {
        let mut state = Value::Null;
        let all = changes
            .iter()
            .all(|change| Parser::default().parse(change.as_bytes(), |json| apply(&mut state, json)).unwrap());
        (state.to_string(), all)
    }

    #[test]
    fn changes_are_applied_in_order() {
        let (state, all) = replayed(&[
            r#"{"kind":0,"v":{"requests":[]}}"#,
            r#"{"kind":2,"k":["requests"],"v":[{"id":1},{"id":2}]}"#,
            r#"{"kind":2,"k":["requests"],"v":[{"id":3}],"i":1}"#,
            r#"{"kind":1,"k":["requests",1,"result","n"],"v":5}"#,
            r#"{"kind":3,"k":["requests",0,"id"]}"#,
        ]);
        assert!(all);
        assert_eq!(state, r#"{"requests":[{},{"id":3,"result":{"n":5}}]}"#);
    }

    #[test]
    fn a_path_into_nothing_makes_it_and_nonsense_changes_nothing() {
        let (state, all) = replayed(&[r#"{"kind":2,"k":["a","b"],"v":[1]}"#]);
        assert!(all);
        assert_eq!(state, r#"{"a":{"b":[1]}}"#);
        for change in
            [r#"{"kind":1}"#, r#"{"kind":9,"k":["a"]}"#, r#"{"kind":1,"k":[99999999],"v":1}"#, r#"{"kind":1,"k":[-1]}"#]
        {
            assert!(!replayed(&[change]).1, "{change}");
        }
    }
}
