//! The views and macros that ship, one SQL file each, and which of them a text needs.
//!
//! A text needs an object if it mentions its name as a word. That can name too many (a column or an alias may have the same
//! name), which costs time, but never too few.

use std::collections::BTreeSet;

use xxhash_rust::xxh3::xxh3_64;

use crate::model::tables::{SCHEMA_VERSION, TABLES};

use super::bundled::{BUNDLED, macro_of};
use super::header::NamedQuery;
use super::statements;

/// A view or macro.
#[derive(Debug, Clone, Copy)]
pub(super) struct Object {
    /// Its name in SQL.
    pub name: &'static str,
    /// What makes it; may be run again.
    pub sql: &'static str,
}

macro_rules! objects {
    ($($name:literal)+) => {
        /// All objects, each after those that it uses.
        pub(super) const OBJECTS: &[Object] = &[
            $(Object { name: $name, sql: include_str!(concat!("sql/", $name, ".sql")) },)+
        ];
    };
}

objects! {
    "sessions" "messages" "usage" "usage_copies" "tool_calls" "tool_results" "issues"
    "messages_unique" "tool_calls_unique" "tool_use"
    "usage_single" "usage_revised" "requests" "rates" "priced_requests"
    "zone_offsets" "local_requests" "local_tool_use" "local_steps"
    "tool_requests" "week_of" "money_share"
}

/// Tables that are filled by this program rather than from the parts.
pub(super) const FILLED: [&str; 5] = ["prices", "price_hours", "price_basis", "model_prices", "tz_offsets"];

/// Those of them that are about prices.
pub(super) const PRICES: [&str; 4] = ["prices", "price_hours", "price_basis", "model_prices"];

/// What a text needs, over all the objects that those it mentions use in turn.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Needed {
    names: BTreeSet<&'static str>,
    mentioned: BTreeSet<&'static str>,
    /// Bundled queries whose macros are needed.
    queries: BTreeSet<&'static str>,
}

impl Needed {
    /// What `text` needs; everything if it mentions nothing, as `SHOW TABLES` does.
    pub fn by(text: &str) -> Self {
        let needed = Self::named_in(text);
        if needed.names.is_empty() { Self::everything() } else { needed }
    }

    /// What `text` mentions, and what that uses.
    pub fn named_in(text: &str) -> Self {
        let mut needed = Self::default();
        let mut own = words(text);
        // A macro is as good as its text.
        for query in BUNDLED.iter().filter(|query| !is_object(query.name)) {
            if own.contains(query.name) {
                own.extend(words(query.statement()));
            }
        }
        let objects = OBJECTS.iter().map(|object| object.name);
        needed.mentioned.extend(FILLED.into_iter().chain(objects).filter(|name| own.contains(*name)));
        needed.add(text);
        needed
    }

    /// All objects and tables.
    pub fn everything() -> Self {
        let objects = OBJECTS.iter().map(|object| object.name);
        Self {
            names: objects.chain(FILLED).collect(),
            mentioned: FILLED.into_iter().collect(),
            queries: BUNDLED.iter().map(|query| query.name).collect(),
        }
    }

    fn add(&mut self, text: &str) {
        for word in words(text) {
            if let Some(name) = FILLED.into_iter().find(|name| *name == word) {
                self.names.insert(name);
            }
            if let Some(object) = OBJECTS.iter().find(|object| object.name == word)
                && self.names.insert(object.name)
            {
                self.add(object.sql);
            }
            if let Some(query) = BUNDLED.iter().find(|query| query.name == word)
                && self.queries.insert(query.name)
            {
                self.add(query.statement());
            }
        }
    }

    /// Whether a table or object is among them.
    pub fn contains(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Whether prices are among it, so that the answer depends on them.
    pub fn prices(&self) -> bool {
        PRICES.into_iter().any(|name| self.contains(name))
    }

    /// Whether the text itself names a table or object, so that it may look at any row of it.
    pub fn mentions(&self, name: &str) -> bool {
        self.mentioned.contains(name)
    }

    /// The objects, each after those that it uses.
    pub fn objects(&self) -> impl Iterator<Item = &'static Object> {
        OBJECTS.iter().filter(|object| self.contains(object.name))
    }

    /// The bundled queries whose macros are needed.
    pub fn queries(&self) -> impl Iterator<Item = &'static NamedQuery<'static>> {
        BUNDLED.iter().filter(|query| self.queries.contains(query.name))
    }

    /// The lake's tables.
    pub fn tables(&self) -> impl Iterator<Item = &'static str> {
        TABLES.iter().map(|table| table.name).filter(|name| self.contains(name))
    }
}

fn is_object(name: &str) -> bool {
    OBJECTS.iter().any(|object| object.name == name)
}

/// What makes the macro of a query, and a view of its answer without limits for tools that only know tables. Where a view of
/// the lake has the name already, it stays.
pub(super) fn macro_and_view(query: &NamedQuery<'_>) -> String {
    let mut sql = macro_of(query) + ";\n";
    if !is_object(query.name) {
        let name = query.name;
        sql.extend(["CREATE OR REPLACE VIEW ", name, " AS SELECT * FROM ", name, "();\n"]);
    }
    sql
}

/// The words of an SQL text in lower case; those in strings too, since `query_table('usage')` needs the table.
fn words(sql: &str) -> BTreeSet<String> {
    statements::without_comments(sql)
        .to_lowercase()
        .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Tells apart what different builds would put into a database beside the rows: views, macros, table shapes.
pub(super) fn definitions() -> String {
    let mut text = format!("schema {SCHEMA_VERSION}\n");
    for object in OBJECTS {
        text.push_str(object.sql);
    }
    for query in BUNDLED {
        text.push_str(query.sql);
    }
    format!("{:016x}", xxh3_64(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_needs_what_its_objects_use() {
        let needed = Needed::by("SELECT sum(cost_usd) FROM Daily_Cost(tz := 'UTC')");
        let tables: Vec<&str> = needed.tables().collect();
        assert_eq!(tables, ["usage"]);
        for name in ["requests", "priced_requests", "local_requests", "prices", "model_prices", "tz_offsets"] {
            assert!(needed.contains(name), "{name}");
        }
        assert!(!needed.contains("tool_use"));
    }

    #[test]
    fn a_text_without_names_needs_everything() {
        assert_eq!(Needed::by("SHOW TABLES"), Needed::everything());
    }

    #[test]
    fn every_table_of_the_lake_has_a_base_view() {
        for table in TABLES {
            assert!(OBJECTS.iter().any(|object| object.name == table.name), "{}", table.name);
        }
    }

    #[test]
    fn objects_stand_after_those_they_use() {
        for (index, object) in OBJECTS.iter().enumerate() {
            for word in words(object.sql) {
                let used = OBJECTS.iter().position(|other| other.name == word);
                assert!(used.is_none_or(|used| used <= index), "{} uses {word}, which is made later", object.name);
            }
        }
    }
}
