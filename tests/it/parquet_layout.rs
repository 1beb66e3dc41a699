//! What other engines see: the physical types of every table, the names in the folders, permissions and compression.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use agentlake::model::tables::TABLES;
use parquet::basic::Compression;
use parquet::file::reader::{FileReader as _, SerializedFileReader};

use crate::home::Home;
use crate::lake_rows::text;
use crate::rollout::Rollout;
use crate::transcript::Transcript;

/// A lake with rows in every table, from two providers, in several batches.
fn full_lake() -> Home {
    let home = Home::new();
    let mut claude = Transcript::with_turns(1, 2);
    claude.tool(50).line("{\"broken");
    home.write_old(&claude.path(), claude.text());
    home.export().expect_code(1);
    claude.turns(2);
    home.write_old(&claude.path(), claude.text());
    let codex = Rollout::with_turns(1, 2);
    home.write_old(&codex.path(), codex.text());
    home.write_old(&Transcript::new(2).path(), claude.fork(2).text());
    home.export().expect_code(1);
    home
}

fn parts(home: &Home, table: &str) -> Vec<std::path::PathBuf> {
    let files = agentlake::lake::Layout::new(&home.lake()).files().unwrap();
    files.into_iter().filter(|file| file.starts_with(home.lake().join(table))).collect()
}

fn open(path: &Path) -> SerializedFileReader<std::fs::File> {
    SerializedFileReader::new(fs_err::File::open(path).unwrap().into_parts().0).unwrap()
}

#[test]
fn the_physical_schema_of_every_table() {
    let home = full_lake();
    let mut shown = String::new();
    for table in TABLES {
        let parts = parts(&home, table.name);
        let mut schemas: Vec<String> = parts.iter().map(|part| schema(part)).collect();
        assert!(!schemas.is_empty(), "the lake has no row in {}", table.name);
        schemas.dedup();
        assert_eq!(schemas.len(), 1, "parts of {} have different schemas", table.name);
        writeln!(shown, "{}\n{}", table.name, schemas[0]).unwrap();
    }
    insta::assert_snapshot!(shown);
}

/// One line per leaf: path, repetition, physical and logical type.
fn schema(part: &Path) -> String {
    let file = open(part);
    let columns = file.metadata().file_metadata().schema_descr().columns().to_vec();
    let line = |column: &parquet::schema::types::ColumnDescPtr| {
        let optional = if column.max_def_level() == 0 { "required" } else { "optional" };
        let logical = column.logical_type_ref().map(|logical| format!(" {logical:?}")).unwrap_or_default();
        format!("  {} {optional} {}{logical}\n", column.path().string(), column.physical_type())
    };
    columns.iter().map(line).collect()
}

#[test]
fn parts_are_zstd_and_say_where_they_come_from() {
    let home = full_lake();
    for part in TABLES.into_iter().flat_map(|table| parts(&home, table.name)) {
        let file = open(&part);
        let metadata = file.metadata();
        for column in metadata.row_groups().iter().flat_map(|group| group.columns()) {
            // A page that holds nothing, or a few distinct values, costs more with compression than without.
            let is_blank = column.uncompressed_size() < 300;
            let is_few = column.dictionary_page_offset().is_some();
            assert!(
                is_blank || is_few || matches!(column.compression(), Compression::ZSTD(_)),
                "{}: {column:?}",
                part.display()
            );
        }
        let keys: BTreeSet<&str> =
            metadata.file_metadata().key_value_metadata().unwrap().iter().map(|pair| pair.key.as_str()).collect();
        for key in ["app", "app_version", "schema_version", "lake_id", "batch"] {
            assert!(keys.contains(key), "{} has no {key}", part.display());
        }
        let columns = metadata.file_metadata().schema_descr();
        let repeated = columns.columns().iter().any(|column| ["provider", "date"].contains(&column.name()));
        assert!(!repeated, "{} repeats a column of its path", part.display());
    }
}

#[test]
fn only_parts_stand_in_table_folders_and_only_their_owner_reads_them() {
    let home = full_lake();
    let mut files = 0;
    for table in TABLES {
        files += check_folder(&home.lake().join(table.name), true);
    }
    assert!(files > TABLES.len());
    check_folder(&home.lake().join(".agentlake"), false);
    assert_eq!(mode(&home.lake()), 0o700);
}

fn mode(path: &Path) -> u32 {
    fs_err::metadata(path).unwrap().permissions().mode() & 0o777
}

fn check_folder(folder: &Path, is_table: bool) -> usize {
    assert_eq!(mode(folder), 0o700, "{}", folder.display());
    let mut files = 0;
    for entry in fs_err::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files += check_folder(&path, is_table);
        } else {
            assert_eq!(mode(&path), 0o600, "{}", path.display());
            let is_part = path.extension().is_some_and(|extension| extension == "parquet");
            assert!(is_part || !is_table, "{} stands in a table folder", path.display());
            files += 1;
        }
    }
    files
}

#[test]
fn dates_are_those_of_the_rows_and_ids_are_unique_in_a_batch() {
    let home = full_lake();
    let rows = home.rows();
    for table in TABLES {
        let mut ids = BTreeSet::new();
        for row in rows.table(table.name) {
            let day = agentlake::model::time::day(row["ts"].as_i64().unwrap());
            assert_eq!(text(&row["date"]), agentlake::model::time::day_text(day), "{}: {row:#?}", table.name);
            assert!(ids.insert((text(&row["event_id"]), text(&row["batch"]))), "{}: {row:#?}", table.name);
            assert_eq!(text(&row["event_id"]).len(), 32);
        }
    }
}

#[test]
fn rows_of_a_part_are_sorted_by_session_and_time() {
    let home = full_lake();
    for table in TABLES {
        for part in parts(&home, table.name) {
            let rows = crate::lake_rows::read_part(&part);
            let keys: Vec<(String, i64)> =
                rows.iter().map(|row| (text(&row["session_id"]), row["ts"].as_i64().unwrap())).collect();
            assert!(keys.is_sorted(), "{}: {keys:?}", part.display());
        }
    }
}
