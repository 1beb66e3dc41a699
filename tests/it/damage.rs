//! A lake with the rows of a source that is gone, and ways to damage it.

use std::path::{Path, PathBuf};

use agentlake::lake::{Layout, State};
use rusqlite::Connection;

use crate::home::Home;
use crate::rollout::Rollout;
use crate::transcript::Transcript;

/// Sessions of which one is gone from disk after it was exported. It has days of its own, so that a damaged part of the
/// others takes none of its rows.
pub struct Sessions {
    pub claude: Vec<Transcript>,
    pub codex: Rollout,
    pub gone: Transcript,
}

impl Sessions {
    pub fn new() -> Self {
        let mut claude: Vec<Transcript> = (1..=3).map(|number| Transcript::with_turns(number, 3)).collect();
        claude[0].tool(40).turns(1);
        // A fork repeats the requests of its original: copies, whose owner must survive a repair.
        let fork = claude[1].fork(4);
        claude.push(fork);
        Self { claude, codex: Rollout::with_turns(1, 3), gone: Transcript::with_turns(9, 5) }
    }

    pub fn write(&self, home: &Home) {
        for transcript in &self.claude {
            home.write_old(&transcript.path(), transcript.text());
        }
        home.write_old(&self.codex.path(), self.codex.text());
    }

    /// Exports everything, in two runs, and deletes one source.
    pub fn export(home: &Home) -> Self {
        let mut sessions = Self::new();
        sessions.write(home);
        home.write_old(&sessions.gone.path(), sessions.gone.text());
        home.export().expect_code(0);
        sessions.claude[2].turns(2);
        sessions.codex.turn(70);
        sessions.write(home);
        home.export().expect_code(0);
        fs_err::remove_file(home.path(&sessions.gone.path())).unwrap();
        sessions
    }
}

/// One way to damage a lake, and the kind of finding that must tell it.
pub struct Damage {
    pub name: &'static str,
    pub finding: &'static str,
    pub inflict: fn(&Path),
}

/// Every damage that the promises name.
pub const DAMAGES: [Damage; 12] = [
    Damage { name: "deleted part", finding: "missing_part", inflict: |lake| fs_err::remove_file(part(lake)).unwrap() },
    Damage { name: "flipped byte", finding: "damaged_part", inflict: flip },
    Damage {
        name: "truncated part",
        finding: "damaged_part",
        inflict: |lake| {
            let bytes = fs_err::read(part(lake)).unwrap();
            fs_err::write(part(lake), &bytes[..bytes.len() - 100]).unwrap();
        },
    },
    Damage {
        name: "foreign file",
        finding: "foreign_part",
        inflict: |lake| fs_err::write(part(lake).with_file_name("notes.parquet"), "no parquet at all").unwrap(),
    },
    Damage {
        name: "part of another lake",
        finding: "foreign_part",
        inflict: |lake| {
            let other = other_lake();
            let foreign = part(&other.lake());
            fs_err::copy(&foreign, part(lake).with_file_name(foreign.file_name().unwrap())).unwrap();
        },
    },
    Damage {
        name: "duplicated part",
        finding: "duplicated_part",
        inflict: |lake| {
            let original = part(lake);
            let name = original.file_name().unwrap().to_str().unwrap().replace(".parquet", "-copy.parquet");
            fs_err::copy(&original, original.with_file_name(name)).unwrap();
        },
    },
    Damage {
        name: "duplicated part under a good name",
        finding: "duplicated_part",
        inflict: |lake| {
            let original = part(lake);
            let name = original.file_name().unwrap().to_str().unwrap();
            let end = name.rfind('-').unwrap();
            fs_err::copy(&original, original.with_file_name(format!("{}-0999.parquet", &name[..end]))).unwrap();
        },
    },
    Damage {
        name: "edited ledger",
        finding: "ledger_mismatch",
        inflict: |lake| {
            edit(lake, "UPDATE requests SET output = output + 1 WHERE request IN (SELECT min(request) FROM requests)")
        },
    },
    Damage {
        name: "edited part list",
        finding: "part_contradiction",
        inflict: |lake| edit(lake, "UPDATE parts SET rows = rows + 1 WHERE path IN (SELECT min(path) FROM parts)"),
    },
    Damage {
        name: "edited checkpoint",
        finding: "checkpoint_mismatch",
        inflict: |lake| {
            edit(
                lake,
                "UPDATE sources SET read_offset = read_offset - 300 WHERE id IN (SELECT min(id) FROM sources WHERE path LIKE '%00000001%')",
            )
        },
    },
    Damage {
        name: "state of another lake",
        finding: "foreign_state",
        inflict: |lake| {
            let other = other_lake();
            fs_err::copy(Layout::new(&other.lake()).state_file(), Layout::new(lake).state_file()).unwrap();
        },
    },
    Damage {
        name: "deleted state",
        finding: "state_missing",
        inflict: |lake| fs_err::remove_file(Layout::new(lake).state_file()).unwrap(),
    },
];

/// A lake of other sessions.
fn other_lake() -> Home {
    let other = Home::new();
    other.write_old(&Transcript::new(20).path(), Transcript::with_turns(20, 2).text());
    other.export().expect_code(0);
    other
}

/// A part of `usage` that holds nothing of the source that is gone, and more than one row.
pub fn part(lake: &Path) -> PathBuf {
    let parts = Layout::new(lake).files().unwrap();
    let mut fitting: Vec<PathBuf> = parts
        .into_iter()
        .filter(|path| {
            let text = path.to_str().unwrap();
            text.contains("/usage/provider=claude/") && !text.contains("date=2026-05-10")
        })
        .collect();
    fitting.sort();
    fitting.remove(0)
}

fn flip(lake: &Path) {
    let mut bytes = fs_err::read(part(lake)).unwrap();
    let middle = bytes.len() / 3;
    bytes[middle] ^= 0x10;
    fs_err::write(part(lake), bytes).unwrap();
}

/// Changes the state behind the program's back.
pub fn edit(lake: &Path, sql: &str) {
    let changed = Connection::open(Layout::new(lake).state_file()).unwrap().execute(sql, ()).unwrap();
    assert!(changed > 0 || sql.starts_with("CREATE"), "{sql} changed nothing");
}

/// Names of the parts that the state lists.
pub fn listed(lake: &Path) -> Vec<String> {
    let state = State::open_read_only(&Layout::new(lake)).unwrap();
    state.parts().unwrap().into_iter().map(|part| part.path).collect()
}
