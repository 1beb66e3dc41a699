//! One Parquet file as it lies in a lake: its fingerprint, what its name and its metadata say, and some of its columns.
//!
//! Shared by `verify`, `repair` and `export --rebuild`, which must judge files that the state may not know. Writing parts is
//! [`super::parts`]'s business.

use std::io::Read as _;
use std::path::Path;

use arrow::array::{Array as _, AsArray as _, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{Int64Type, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::file::statistics::Statistics;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_128};

use super::Result;
use crate::model::RequestKey;
use crate::model::tables::{TABLES, TableSpec};

/// Bytes read at once while a file is hashed.
const BUFFER_BYTES: usize = 1 << 20;

/// Size in bytes and xxh3-128 of a file.
///
/// # Errors
/// The file cannot be read.
pub fn fingerprint(path: &Path) -> Result<(i64, [u8; 16])> {
    let mut file = fs_err::File::open(path)?;
    let mut hash = Xxh3Default::new();
    let expected = usize::try_from(file.metadata()?.len()).unwrap_or(BUFFER_BYTES);
    // One more than the file, so that a small one is read and found to end at once.
    let mut buffer = vec![0; expected.saturating_add(1).min(BUFFER_BYTES)];
    let mut bytes = 0_i64;
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok((bytes, hash.digest128().to_le_bytes()));
        }
        hash.update(buffer.get(..count).unwrap_or_default());
        bytes = bytes.saturating_add(i64::try_from(count).unwrap_or(i64::MAX));
    }
}

/// What the path of a part below the lake's root says.
#[derive(Debug, Clone)]
pub struct PartName {
    /// The table.
    pub table: &'static TableSpec,
    /// Slug of the provider.
    pub provider: String,
    /// The day, `YYYY-MM-DD`.
    pub date: String,
    /// The first eight digits of the lake's id.
    pub lake: String,
    /// The batch that published it.
    pub batch: i64,
}

impl PartName {
    /// Reads `<table>/provider=…/date=…/part-<lake>-b<batch>-<number>.parquet`; `None` if the path has another form.
    #[must_use]
    pub fn parse(below_root: &Path) -> Option<Self> {
        let mut names = below_root.iter().map(|name| name.to_str());
        let (table, provider, date, file) = (names.next()??, names.next()??, names.next()??, names.next()??);
        if names.next().is_some() {
            return None;
        }
        let table = TABLES.into_iter().find(|known| known.name == table)?;
        let (provider, date) = (provider.strip_prefix("provider=")?, date.strip_prefix("date=")?);
        chrono::NaiveDate::parse_from_str(date, "%Y-%m-%d").ok()?;
        let mut words = file.strip_prefix("part-")?.strip_suffix(".parquet")?.split('-');
        let (lake, batch, number) = (words.next()?, words.next()?.strip_prefix('b')?, words.next()?);
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_whole = words.next().is_none() && lake.len() == 8 && is_number(batch) && is_number(number);
        is_whole.then_some(Self {
            table,
            provider: provider.to_owned(),
            date: date.to_owned(),
            lake: lake.to_owned(),
            batch: batch.parse().ok()?,
        })
    }
}

/// An open part whose footer could be read.
pub struct PartReader {
    builder: ParquetRecordBatchReaderBuilder<std::fs::File>,
}

impl PartReader {
    /// Opens a file and reads its footer.
    ///
    /// # Errors
    /// The file cannot be read, or is no Parquet file.
    pub fn open(path: &Path) -> Result<Self> {
        let file = fs_err::File::open(path)?.into_parts().0;
        // The types come from the Parquet schema alone: reading a damaged copy of the Arrow schema panics.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        Ok(Self { builder: ParquetRecordBatchReaderBuilder::try_new_with_options(file, options)? })
    }

    /// Rows by the footer.
    #[must_use]
    pub fn rows(&self) -> i64 {
        self.builder.metadata().file_metadata().num_rows()
    }

    /// First and last batch of its rows, by the statistics; a part that compaction made holds rows of several.
    #[must_use]
    pub fn batches(&self) -> Option<(i64, i64)> {
        let column = self.builder.parquet_schema().columns().iter().position(|column| column.name() == "batch")?;
        let groups = self.builder.metadata().row_groups().iter();
        groups
            .map(|group| match group.columns().get(column)?.statistics()? {
                Statistics::Int64(range) => Some((*range.min_opt()?, *range.max_opt()?)),
                _ => None,
            })
            .reduce(|left, right| left.zip(right).map(|(left, right)| (left.0.min(right.0), left.1.max(right.1))))?
    }

    /// The columns.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        self.builder.schema()
    }

    /// A value of the file's own metadata: `lake_id`, `batch`, `schema_version` …
    #[must_use]
    pub fn note(&self, key: &str) -> Option<&str> {
        let notes = self.builder.metadata().file_metadata().key_value_metadata()?;
        notes.iter().find(|note| note.key == key)?.value.as_deref()
    }

    /// The same as a number.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<i64> {
        self.note(key)?.parse().ok()
    }

    /// Some columns, batch by batch; those that the part does not have are left out.
    ///
    /// # Errors
    /// The pages cannot be opened.
    pub fn columns(self, names: &[&str]) -> Result<ParquetRecordBatchReader> {
        let mask = ProjectionMask::columns(self.builder.parquet_schema(), names.iter().copied());
        Ok(self.builder.with_projection(mask).build()?)
    }

    /// All columns, batch by batch.
    ///
    /// # Errors
    /// The pages cannot be opened.
    pub fn all(self) -> Result<ParquetRecordBatchReader> {
        Ok(self.builder.build()?)
    }
}

/// Whether readers that go by the Arrow schema in the file see the columns that it has. The Arrow reader panics where that
/// copy is damaged.
///
/// # Errors
/// The file cannot be read.
pub fn is_readable_by_all(path: &Path) -> Result<bool> {
    let file = fs_err::File::open(path)?.into_parts().0;
    let with_copy = ParquetRecordBatchReaderBuilder::try_new(file)?;
    let types = |schema: &SchemaRef| -> Vec<_> {
        schema.fields().iter().map(|field| (field.name().clone(), field.data_type().clone())).collect()
    };
    Ok(types(with_copy.schema()) == types(PartReader::open(path)?.schema()))
}

/// A column of text.
#[must_use]
pub fn texts<'a>(rows: &'a RecordBatch, name: &str) -> Option<&'a StringArray> {
    rows.column_by_name(name)?.as_string_opt::<i32>()
}

/// A column of integers.
#[must_use]
pub fn integers<'a>(rows: &'a RecordBatch, name: &str) -> Option<&'a Int64Array> {
    rows.column_by_name(name)?.as_primitive_opt::<Int64Type>()
}

/// One text, `None` for NULL.
#[must_use]
pub fn text(column: &StringArray, row: usize) -> Option<&str> {
    (row < column.len() && column.is_valid(row)).then(|| column.value(row))
}

/// One integer, `None` for NULL.
#[must_use]
pub fn integer(column: &Int64Array, row: usize) -> Option<i64> {
    (row < column.len() && column.is_valid(row)).then(|| column.value(row))
}

/// An `event_id` as a number; what is no id of 32 hex digits gives the hash of its text.
#[must_use]
pub fn id(event_id: &str) -> u128 {
    let digits = event_id.as_bytes();
    let digit = |letter: u8| match letter {
        b'0'..=b'9' => letter - b'0',
        b'a'..=b'f' => letter - b'a' + 10,
        _ => 0xff,
    };
    // Several times as fast as parsing a number, which was a tenth of `verify`.
    let (mut number, mut seen) = (0_u128, 0_u8);
    for &letter in digits {
        let value = digit(letter);
        seen |= value;
        number = (number << 4) | u128::from(value & 0xf);
    }
    if digits.len() == 32 && seen != 0xff { number } else { xxh3_128(digits) }
}

/// Half of an id: enough to find one among the rows of a lake, in half the room.
#[must_use]
pub fn short(id: u128) -> u64 {
    #[allow(clippy::cast_possible_truncation, reason = "the lower half is meant")]
    let half = id as u64;
    half
}

/// The ledger's key of a `request_key` as it stands in a part. A key that sessions reused for different requests ends in
/// `@` and the session (see [`super::settle`]); then it is the key of the part before it, scoped by the session.
#[must_use]
pub fn request_of(provider: &str, request_key: &str, session_id: Option<&str>) -> RequestKey {
    let native = session_id.and_then(|session| request_key.strip_suffix(session)?.strip_suffix('@').zip(Some(session)));
    match native {
        Some((native, session)) => RequestKey::new(provider, native).scoped(session),
        None => RequestKey::new(provider, request_key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_was_written() {
        let path = super::super::layout::part_path("0123456789abcdef", "usage", "claude", "2026-11-29", 42, 7);
        let name = PartName::parse(Path::new(&path)).unwrap();
        assert_eq!((name.table.name, name.provider.as_str(), name.date.as_str()), ("usage", "claude", "2026-11-29"));
        assert_eq!((name.lake.as_str(), name.batch), ("01234567", 42));
        for strange in [
            "usage/part-01234567-b000042-0007.parquet",
            "usage/provider=claude/date=2026-11-29/part-01234567-b000042-0007 (copy).parquet",
            "usage/provider=claude/date=2026-11-29/part-01234567-b000042-0007-copy.parquet",
            "usage/provider=claude/date=unknown/part-01234567-b000042-0007.parquet",
            "other/provider=claude/date=2026-11-29/part-01234567-b000042-0007.parquet",
        ] {
            assert!(PartName::parse(Path::new(strange)).is_none(), "{strange}");
        }
    }

    #[test]
    fn an_id_is_its_number_and_anything_else_a_hash() {
        let text = "0123456789abcdef00000000000000ff";
        assert_eq!(id(text), 0x0123_4567_89ab_cdef_0000_0000_0000_00ff);
        for other in ["", "ff", "0123456789abcdef00000000000000f\u{e4}", "0123456789ABCDEF00000000000000FF"] {
            assert_eq!(id(other), xxh3_128(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn a_scoped_key_names_the_request_that_the_ledger_scoped() {
        let native = RequestKey::new("claude", "msg_1");
        assert_eq!(request_of("claude", "msg_1", Some("s")), native);
        assert_eq!(request_of("claude", "msg_1@s", Some("s")), native.scoped("s"));
        assert_eq!(request_of("claude", "msg_1@s", Some("t")), RequestKey::new("claude", "msg_1@s"));
    }
}
