//! Answers as aligned text and as Markdown, for people. Other formats are DuckDB's own `COPY`.
//!
//! Money is exact to the pico-dollar until here; this is the one place that rounds it. NULL is an empty cell.

use std::io::{self, Write};

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Decimal128Type, Schema, TimestampMicrosecondType};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};

/// Decimal places of money as shown to people.
const SHOWN_DECIMALS: usize = 4;

/// An answer as texts, ready to be laid out.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    names: Vec<String>,
    is_number: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl Sheet {
    #[cfg(test)]
    fn new(names: &[&str]) -> Self {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Self { is_number: vec![false; names.len()], names, rows: Vec::new() }
    }

    #[cfg(test)]
    fn push(&mut self, row: &[&str]) {
        self.rows.push(row.iter().map(|text| one_line(text)).collect());
    }

    /// Takes an answer of DuckDB.
    pub fn from_batches(schema: &Schema, batches: &[RecordBatch]) -> Result<Self, ArrowError> {
        let mut sheet = Self {
            names: schema.fields().iter().map(|field| one_line(field.name())).collect(),
            is_number: schema.fields().iter().map(|field| field.data_type().is_numeric()).collect(),
            rows: Vec::new(),
        };
        for batch in batches {
            let columns = batch.columns().iter().map(texts).collect::<Result<Vec<_>, _>>()?;
            let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
            for _ in 0..batch.num_rows() {
                sheet.rows.push(columns.iter_mut().map(|column| column.next().unwrap_or_default()).collect());
            }
        }
        Ok(sheet)
    }

    /// Writes aligned columns under their names, numbers to the right.
    pub fn write_table(&self, out: &mut dyn Write) -> io::Result<()> {
        let widths = self.widths(&self.rows);
        self.write_line(out, &self.names, &widths, "  ")?;
        let rules: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
        self.write_line(out, &rules, &widths, "  ")?;
        for row in &self.rows {
            self.write_line(out, row, &widths, "  ")?;
        }
        Ok(())
    }

    /// Writes a Markdown table that is also aligned as text.
    pub fn write_markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        let escape = |row: &Vec<String>| row.iter().map(|text| text.replace('|', "\\|")).collect::<Vec<_>>();
        let rows: Vec<Vec<String>> = self.rows.iter().map(escape).collect();
        let widths: Vec<usize> = self.widths(&rows).into_iter().map(|width| width.max(3)).collect();
        let rules = widths.iter().zip(&self.is_number).map(|(width, is_number)| {
            if *is_number { format!("{}:", "-".repeat(width - 1)) } else { "-".repeat(*width) }
        });
        let rules: Vec<String> = rules.collect();
        for row in [&escape(&self.names), &rules].into_iter().chain(&rows) {
            write!(out, "| ")?;
            self.write_line(out, row, &widths, " | ")?;
        }
        Ok(())
    }

    fn widths(&self, rows: &[Vec<String>]) -> Vec<usize> {
        let mut widths: Vec<usize> = self.names.iter().map(|name| name.chars().count()).collect();
        for row in rows {
            for (width, text) in widths.iter_mut().zip(row) {
                *width = (*width).max(text.chars().count());
            }
        }
        widths
    }

    fn write_line(&self, out: &mut dyn Write, row: &[String], widths: &[usize], between: &str) -> io::Result<()> {
        let mut line = String::new();
        for ((text, &width), is_number) in row.iter().zip(widths).zip(&self.is_number) {
            let padding = " ".repeat(width.saturating_sub(text.chars().count()));
            let (before, after) = if *is_number { (padding.as_str(), "") } else { ("", padding.as_str()) };
            line.extend([before, text, after, between]);
        }
        writeln!(out, "{}", line.trim_end())
    }
}

/// The values of a column as texts.
fn texts(column: &ArrayRef) -> Result<Vec<String>, ArrowError> {
    let rows = 0..column.len();
    if let DataType::Decimal128(_, scale) = column.data_type() {
        let values = column.as_primitive::<Decimal128Type>();
        let scale = usize::try_from(*scale).unwrap_or(0);
        let shown = |row| if values.is_null(row) { String::new() } else { rounded(values.value(row), scale) };
        return Ok(rows.map(shown).collect());
    }
    // Arrow names the zone in each value; here all times are UTC.
    let naive;
    let column: &dyn Array = match column.as_primitive_opt::<TimestampMicrosecondType>() {
        Some(times) if times.timezone().is_some() => {
            naive = times.clone().with_timezone_opt::<&str>(None);
            &naive
        }
        _ => column,
    };
    let options = FormatOptions::new().with_display_error(false).with_timestamp_format(Some("%Y-%m-%d %H:%M:%S%.f"));
    let formatter = ArrayFormatter::try_new(column, &options)?;
    let is_float = column.data_type().is_floating();
    rows.map(|row| {
        let text = formatter.value(row).try_to_string()?;
        Ok(match text.parse::<f64>() {
            Ok(value) if is_float => format!("{value:.2}"),
            _ => one_line(&text),
        })
    })
    .collect()
}

/// A decimal with at most [`SHOWN_DECIMALS`] places, half away from zero.
fn rounded(value: i128, scale: usize) -> String {
    let dropped = scale.saturating_sub(SHOWN_DECIMALS);
    let scale = scale - dropped;
    let unit = 10_i128.pow(u32::try_from(dropped).unwrap_or(0));
    let magnitude = value.unsigned_abs();
    let unit = unit.unsigned_abs();
    let magnitude = magnitude / unit + u128::from(magnitude % unit * 2 >= unit && unit > 1);
    let digits = format!("{magnitude:0>width$}", width = scale + 1);
    let (whole, fraction) = digits.split_at_checked(digits.len() - scale).unwrap_or((&digits, ""));
    let sign = if value < 0 && magnitude > 0 { "-" } else { "" };
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// A text without line breaks and other control characters, which could break the layout or drive the terminal.
fn one_line(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_rounded_half_away_from_zero() {
        assert_eq!(rounded(309_060_000_000, 12), "0.3091");
        assert_eq!(rounded(50_000_000, 12), "0.0001");
        assert_eq!(rounded(49_999_999, 12), "0.0000");
        assert_eq!(rounded(-50_000_000, 12), "-0.0001");
        assert_eq!(rounded(-1, 12), "0.0000");
        assert_eq!(rounded(1_234_567_890_123_456, 12), "1234.5679");
        assert_eq!(rounded(42, 0), "42");
        assert_eq!(rounded(5, 2), "0.05");
        assert_eq!(rounded(0, 12), "0.0000");
    }

    #[test]
    fn numbers_stand_right_and_nothing_trails() {
        let mut sheet = Sheet::new(&["name", "n"]);
        sheet.is_number = vec![false, true];
        sheet.push(&["a", "1"]);
        sheet.push(&["longer", "1000"]);
        sheet.push(&["", ""]);
        let mut out = Vec::new();
        sheet.write_table(&mut out).unwrap();
        let expected = "name       n\n──────  ────\na          1\nlonger  1000\n\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn markdown_is_escaped() {
        let mut sheet = Sheet::new(&["a|b", "n"]);
        sheet.is_number = vec![false, true];
        sheet.push(&["x|y\nz", "12"]);
        let mut out = Vec::new();
        sheet.write_markdown(&mut out).unwrap();
        let expected = "| a\\|b   |   n |\n| ------ | --: |\n| x\\|y z |  12 |\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
