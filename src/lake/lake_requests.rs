//! The requests of a lake against those of its sources: what each adds up to, and where both differ.

use std::collections::HashMap;

use super::part_file::{PartReader, text, texts};
use super::state::Part;
use super::usage_sums::{self, COUNTER_COLUMNS, Sums};
use super::verify::told;
use super::{Layout, Result};
use crate::model::RequestKey;
use crate::model::tables::USAGE;

/// Sums of the rows of `usage` by native request: ids that sessions reused are added up.
#[derive(Debug, Default)]
pub struct LakeRequests {
    requests: HashMap<RequestKey, Request>,
    /// Claimed by a source, and not in the lake.
    missing: Vec<(RequestKey, Sums)>,
}

#[derive(Debug, Default)]
struct Request {
    name: Box<str>,
    rows: Sums,
    claimed: Option<Sums>,
    /// Whether a row comes from somewhere that cannot be read again as it was; then nothing can be said.
    is_open: bool,
}

impl LakeRequests {
    /// Reads all rows of `usage`. `comparable` tells of path and host of a source whether it was read again.
    ///
    /// # Errors
    /// A part cannot be read; one that cannot be opened is left out.
    pub fn read(layout: &Layout, parts: &[Part], comparable: &dyn Fn(&str, &str) -> bool) -> Result<Self> {
        let mut wanted = vec!["request_key", "session_id", "source_path", "host"];
        wanted.extend(COUNTER_COLUMNS);
        let mut requests: HashMap<RequestKey, Request> = HashMap::new();
        for part in parts.iter().filter(|part| part.table == USAGE.name) {
            let Ok(reader) = PartReader::open(&layout.locate(part)) else { continue };
            for rows in reader.columns(&wanted)? {
                let rows = rows?;
                let column = |name| texts(&rows, name);
                let (Some(keys), Some(sessions), Some(paths), Some(hosts)) =
                    (column("request_key"), column("session_id"), column("source_path"), column("host"))
                else {
                    continue;
                };
                for row in 0..rows.num_rows() {
                    let name = text(keys, row).unwrap_or_default();
                    let native = text(sessions, row)
                        .and_then(|session| name.strip_suffix(session)?.strip_suffix('@'))
                        .unwrap_or(name);
                    let request = requests.entry(RequestKey::new(&part.provider, native)).or_default();
                    if request.name.is_empty() {
                        request.name = native.into();
                    }
                    usage_sums::add(&mut request.rows, usage_sums::counters(&rows, row));
                    request.is_open |=
                        !comparable(text(paths, row).unwrap_or_default(), text(hosts, row).unwrap_or_default());
                }
            }
        }
        Ok(Self { requests, missing: Vec::new() })
    }

    /// What the sources say of a request. Of a native id that stands for several, each adds.
    pub fn claimed(&mut self, native: RequestKey, counters: Sums) {
        match self.requests.get_mut(&native) {
            Some(request) => usage_sums::add(request.claimed.get_or_insert_default(), counters),
            None => self.missing.push((native, counters)),
        }
    }

    /// Requests that differ, with a sentence each.
    #[must_use]
    pub fn differences(self) -> Vec<(String, String)> {
        let mut differences: Vec<(String, String)> = self
            .missing
            .into_iter()
            .map(|(request, claimed)| {
                (
                    format!("request {:032x}", request.0),
                    format!("its source says {}, the lake has no row", told(claimed)),
                )
            })
            .collect();
        for request in self.requests.into_values().filter(|request| !request.is_open) {
            let detail = match request.claimed {
                Some(claimed) if claimed == request.rows => continue,
                Some(claimed) => format!("its sources say {}, the lake {}", told(claimed), told(request.rows)),
                None => format!("the lake says {}, and no source has it", told(request.rows)),
            };
            differences.push((request.name.into(), detail));
        }
        differences.sort();
        differences
    }
}
