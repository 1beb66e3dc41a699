//! The column kinds that the lake's tables are made of, and one Arrow builder for each.
//!
//! The set is small on purpose: these are the types that DuckDB, Spark, pyarrow, Polars and BI tools all read alike
//! (no unsigned, no nanoseconds, no nested structs, no dictionaries in the declared schema).

use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, BooleanArray, BooleanBuilder, Decimal128Array, Decimal128Builder, Int64Array, Int64Builder,
    ListBuilder, StringArray, StringBuilder, TimestampMicrosecondArray, TimestampMicrosecondBuilder, new_null_array,
};
use arrow::datatypes::{DataType, Field, TimeUnit};

/// Digits of a money column: DECIMAL(38,12), so a pico-dollar is exact.
pub const MONEY_PRECISION: u8 = 38;
/// Room that a column begins with.
const FEW_ROWS: usize = 32;

/// Decimal places of a money column.
pub const MONEY_SCALE: i8 = 12;

/// The type of one column, as `agentlake schema` prints it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// VARCHAR.
    Text,
    /// BIGINT.
    Integer,
    /// BOOLEAN.
    Flag,
    /// INT64 microseconds since the epoch, UTC-adjusted.
    Time,
    /// DECIMAL(38,12).
    Money,
    /// LIST of VARCHAR.
    TextList,
}

impl ColumnKind {
    /// The Arrow type of a column of this kind.
    #[must_use]
    pub fn data_type(self) -> DataType {
        match self {
            Self::Text => DataType::Utf8,
            Self::Integer => DataType::Int64,
            Self::Flag => DataType::Boolean,
            Self::Time => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Self::Money => DataType::Decimal128(MONEY_PRECISION, MONEY_SCALE),
            Self::TextList => DataType::List(Arc::new(Field::new_list_field(DataType::Utf8, true))),
        }
    }

    /// The name of the type in DuckDB.
    #[must_use]
    pub fn sql_type(self) -> &'static str {
        match self {
            Self::Text => "VARCHAR",
            Self::Integer => "BIGINT",
            Self::Flag => "BOOLEAN",
            Self::Time => "TIMESTAMP WITH TIME ZONE",
            Self::Money => "DECIMAL(38,12)",
            Self::TextList => "VARCHAR[]",
        }
    }
}

/// Ties a column kind to the Rust value that a row holds and the Arrow builder that takes it.
pub trait Kind {
    /// What is in a row.
    type Value<'a>: Copy;
    /// The Arrow builder of the column.
    type Builder: std::fmt::Debug;
    /// The kind, for schemas.
    const KIND: ColumnKind;
    /// A builder with room for a few values; most sources are small, and there are many columns.
    fn builder() -> Self::Builder;
    /// Appends one value.
    fn push(builder: &mut Self::Builder, value: Self::Value<'_>);
    /// Appends NULLs.
    fn push_nulls(builder: &mut Self::Builder, count: usize);
    /// Takes what was appended and leaves the builder empty.
    fn finish(builder: &mut Self::Builder) -> ArrayRef;
}

/// One column while rows are appended. It has no builder before its first value: a provider leaves many columns empty.
#[derive(Debug)]
pub struct Column<K: Kind> {
    /// NULLs before the first value.
    leading_nulls: usize,
    builder: Option<K::Builder>,
}

impl<K: Kind> Default for Column<K> {
    fn default() -> Self {
        Self { leading_nulls: 0, builder: None }
    }
}

impl<K: Kind> Column<K> {
    /// Appends a value; `None` is NULL.
    pub fn push(&mut self, value: Option<K::Value<'_>>) {
        match (value, &mut self.builder) {
            (Some(value), Some(builder)) => K::push(builder, value),
            (None, Some(builder)) => K::push_nulls(builder, 1),
            (None, None) => self.leading_nulls += 1,
            (Some(value), None) => {
                let mut builder = K::builder();
                K::push_nulls(&mut builder, std::mem::take(&mut self.leading_nulls));
                K::push(&mut builder, value);
                self.builder = Some(builder);
            }
        }
    }

    /// Takes what was appended and leaves the column empty.
    pub fn finish(&mut self) -> ArrayRef {
        match self.builder.take() {
            Some(mut builder) => K::finish(&mut builder),
            None => new_null_array(&K::KIND.data_type(), std::mem::take(&mut self.leading_nulls)),
        }
    }
}

/// A kind whose finished columns can be read again.
pub trait ReadableKind: Kind {
    /// The Arrow array of the column.
    type Array: Clone + std::fmt::Debug;
    /// The typed array, if the column is of this kind.
    fn read(column: &ArrayRef) -> Option<Self::Array>;
    /// One value, `None` for NULL; a row beyond the end panics, as in Arrow.
    fn value(array: &Self::Array, row: usize) -> Option<Self::Value<'_>>;
}

/// VARCHAR.
#[derive(Debug)]
pub struct Text;
/// BIGINT.
#[derive(Debug)]
pub struct Integer;
/// BOOLEAN.
#[derive(Debug)]
pub struct Flag;
/// Microseconds since the epoch, UTC.
#[derive(Debug)]
pub struct Time;
/// DECIMAL(38,12), as an integer count of 10^-12.
#[derive(Debug)]
pub struct Money;
/// LIST of VARCHAR.
#[derive(Debug)]
pub struct TextList;

impl Kind for Text {
    type Value<'a> = &'a str;
    type Builder = StringBuilder;
    const KIND: ColumnKind = ColumnKind::Text;
    fn builder() -> StringBuilder {
        StringBuilder::with_capacity(FEW_ROWS, FEW_ROWS * 16)
    }
    fn push(builder: &mut StringBuilder, value: &str) {
        builder.append_value(value);
    }
    fn push_nulls(builder: &mut StringBuilder, count: usize) {
        builder.append_nulls(count);
    }
    fn finish(builder: &mut StringBuilder) -> ArrayRef {
        Arc::new(builder.finish())
    }
}

impl Kind for Integer {
    type Value<'a> = i64;
    type Builder = Int64Builder;
    const KIND: ColumnKind = ColumnKind::Integer;
    fn builder() -> Int64Builder {
        Int64Builder::with_capacity(FEW_ROWS)
    }
    fn push(builder: &mut Int64Builder, value: i64) {
        builder.append_value(value);
    }
    fn push_nulls(builder: &mut Int64Builder, count: usize) {
        builder.append_nulls(count);
    }
    fn finish(builder: &mut Int64Builder) -> ArrayRef {
        Arc::new(builder.finish())
    }
}

impl Kind for Flag {
    type Value<'a> = bool;
    type Builder = BooleanBuilder;
    const KIND: ColumnKind = ColumnKind::Flag;
    fn builder() -> BooleanBuilder {
        BooleanBuilder::with_capacity(FEW_ROWS)
    }
    fn push(builder: &mut BooleanBuilder, value: bool) {
        builder.append_value(value);
    }
    fn push_nulls(builder: &mut BooleanBuilder, count: usize) {
        builder.append_nulls(count);
    }
    fn finish(builder: &mut BooleanBuilder) -> ArrayRef {
        Arc::new(builder.finish())
    }
}

impl Kind for Time {
    type Value<'a> = i64;
    type Builder = TimestampMicrosecondBuilder;
    const KIND: ColumnKind = ColumnKind::Time;
    fn builder() -> TimestampMicrosecondBuilder {
        TimestampMicrosecondBuilder::with_capacity(FEW_ROWS)
    }
    fn push(builder: &mut TimestampMicrosecondBuilder, value: i64) {
        builder.append_value(value);
    }
    fn push_nulls(builder: &mut TimestampMicrosecondBuilder, count: usize) {
        builder.append_nulls(count);
    }
    fn finish(builder: &mut TimestampMicrosecondBuilder) -> ArrayRef {
        Arc::new(builder.finish().with_timezone("UTC"))
    }
}

impl Kind for Money {
    type Value<'a> = i128;
    type Builder = Decimal128Builder;
    const KIND: ColumnKind = ColumnKind::Money;
    fn builder() -> Decimal128Builder {
        Decimal128Builder::with_capacity(FEW_ROWS)
    }
    fn push(builder: &mut Decimal128Builder, value: i128) {
        builder.append_value(value);
    }
    fn push_nulls(builder: &mut Decimal128Builder, count: usize) {
        builder.append_nulls(count);
    }
    fn finish(builder: &mut Decimal128Builder) -> ArrayRef {
        let array = builder.finish().with_data_type(ColumnKind::Money.data_type());
        Arc::new(array)
    }
}

impl Kind for TextList {
    type Value<'a> = &'a [&'a str];
    type Builder = ListBuilder<StringBuilder>;
    const KIND: ColumnKind = ColumnKind::TextList;
    fn builder() -> ListBuilder<StringBuilder> {
        ListBuilder::with_capacity(StringBuilder::with_capacity(FEW_ROWS, FEW_ROWS * 16), FEW_ROWS)
    }
    fn push(builder: &mut ListBuilder<StringBuilder>, value: &[&str]) {
        for text in value {
            builder.values().append_value(text);
        }
        builder.append(true);
    }
    fn push_nulls(builder: &mut ListBuilder<StringBuilder>, count: usize) {
        builder.append_nulls(count);
    }
    fn finish(builder: &mut ListBuilder<StringBuilder>) -> ArrayRef {
        Arc::new(builder.finish())
    }
}

impl ReadableKind for Text {
    type Array = StringArray;
    fn read(column: &ArrayRef) -> Option<StringArray> {
        column.as_any().downcast_ref().cloned()
    }
    fn value(array: &StringArray, row: usize) -> Option<Self::Value<'_>> {
        array.is_valid(row).then(|| array.value(row))
    }
}

impl ReadableKind for Integer {
    type Array = Int64Array;
    fn read(column: &ArrayRef) -> Option<Int64Array> {
        column.as_any().downcast_ref().cloned()
    }
    fn value(array: &Int64Array, row: usize) -> Option<Self::Value<'_>> {
        array.is_valid(row).then(|| array.value(row))
    }
}

impl ReadableKind for Flag {
    type Array = BooleanArray;
    fn read(column: &ArrayRef) -> Option<BooleanArray> {
        column.as_any().downcast_ref().cloned()
    }
    fn value(array: &BooleanArray, row: usize) -> Option<Self::Value<'_>> {
        array.is_valid(row).then(|| array.value(row))
    }
}

impl ReadableKind for Time {
    type Array = TimestampMicrosecondArray;
    fn read(column: &ArrayRef) -> Option<TimestampMicrosecondArray> {
        column.as_any().downcast_ref().cloned()
    }
    fn value(array: &TimestampMicrosecondArray, row: usize) -> Option<Self::Value<'_>> {
        array.is_valid(row).then(|| array.value(row))
    }
}

impl ReadableKind for Money {
    type Array = Decimal128Array;
    fn read(column: &ArrayRef) -> Option<Decimal128Array> {
        column.as_any().downcast_ref().cloned()
    }
    fn value(array: &Decimal128Array, row: usize) -> Option<Self::Value<'_>> {
        array.is_valid(row).then(|| array.value(row))
    }
}
