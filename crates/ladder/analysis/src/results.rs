//! Recorded results: the rows of tables with measurements, in files of the folder `results`.
//!
//! `results/DEVICE/COMMAND.jsonl` has one [`Record`] per line. `lab record` writes these files. The documents, the book
//! and the predictions read the files.

use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize, Serializer};

use crate::Error;
use report::files;
use report::words::duration;

/// The folder of the recorded results, relative to the root of the repository.
pub const FOLDER: &str = "results";

/// A row of a table with measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The device: its name first, then its properties and driver, separated by commas.
    pub device: String,
    /// The compilers of host and device code.
    pub toolchain: String,
    /// The date of the measurement.
    pub date: String,
    /// The command that measured: `run reduce --runs 50`.
    pub command: String,
    /// How the command measured, for example the number of timed launches. Empty if the command determines it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub conditions: String,
    /// The ladder, or the subject of a table that does not belong to one ladder.
    pub ladder: String,
    /// The problem in words.
    pub problem: String,
    /// The heading of the column with the rung's name. In some tables, the rows are not rungs.
    #[serde(default = "rung", skip_serializing_if = "is_rung")]
    pub kind: String,
    /// The rung, or another name of the row.
    pub rung: String,
    /// The quantities, by the headings of their columns. A value that was not measured is `null`.
    pub values: IndexMap<String, Option<Value>>,
}

fn rung() -> String {
    "rung".to_owned()
}

fn is_rung(kind: &str) -> bool {
    kind == "rung"
}

fn rounded<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(format!("{value:.5e}").parse().unwrap_or(*value))
}

/// The value of a quantity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A number without a unit.
    Number(f64),
    /// A number with a unit.
    Measured {
        /// The number. Files store six significant digits, because clocks are not more precise.
        #[serde(serialize_with = "rounded")]
        value: f64,
        /// Its unit.
        unit: Unit,
        /// The first and the third quartile, if the number is the median of several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        quartiles: Option<[f64; 2]>,
    },
    /// Words.
    Text(String),
    /// Data that no table shows.
    Data(serde_json::Value),
}

/// The unit of a number, which also determines the number of decimals that are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Nanoseconds, shown as microseconds or milliseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// A factor, with two decimals and `×`.
    #[serde(rename = "times")]
    Times,
    /// A quotient, with three decimals.
    #[serde(rename = "ratio")]
    Ratio,
    /// Percent, with one decimal.
    #[serde(rename = "%")]
    Percent,
    /// A difference in percent, with its sign and one decimal.
    #[serde(rename = "±%")]
    Difference,
    /// 10^9 bytes per second, with one decimal.
    #[serde(rename = "GB/s")]
    GigabytesPerSecond,
    /// 10^9 floating-point operations per second, with one decimal.
    #[serde(rename = "GFLOP/s")]
    GigaflopsPerSecond,
    /// 10^12 floating-point operations per second, with two decimals.
    #[serde(rename = "TFLOP/s")]
    TeraflopsPerSecond,
}

impl Unit {
    fn text(self, value: f64) -> String {
        match self {
            Self::Nanoseconds => duration(value),
            Self::Times => format!("{value:.2}×"),
            Self::Ratio => format!("{value:.3}"),
            Self::Percent => format!("{value:.1} %"),
            Self::Difference => format!("{value:+.1} %"),
            Self::GigabytesPerSecond | Self::GigaflopsPerSecond => format!("{value:.1}"),
            Self::TeraflopsPerSecond => format!("{value:.2}"),
        }
    }
}

impl Value {
    /// Returns a number with a unit.
    pub fn new(value: f64, unit: Unit) -> Self {
        Self::Measured { value, unit, quartiles: None }
    }

    /// Returns the value of a cell's text, as a number if possible.
    pub fn of_text(text: &str) -> Self {
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() && number.to_string() == text => Self::Number(number),
            _ => Self::Text(text.to_owned()),
        }
    }

    /// Returns the number; times are in nanoseconds.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(value) | Self::Measured { value, .. } => Some(*value),
            Self::Text(_) | Self::Data(_) => None,
        }
    }

    /// Returns whether the value is a number.
    pub fn is_number(&self) -> bool {
        self.number().is_some()
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(value) => write!(f, "{value}"),
            Self::Measured { value, unit, quartiles: None } => f.write_str(&unit.text(*value)),
            Self::Measured { value, unit, quartiles: Some([first, third]) } => {
                write!(f, "{} ({}–{})", unit.text(*value), unit.text(*first), unit.text(*third))
            }
            Self::Text(text) => f.write_str(text),
            Self::Data(data) => write!(f, "{data}"),
        }
    }
}

impl Record {
    /// Returns the name of the device, without its properties.
    pub fn device_name(&self) -> &str {
        self.device.split(',').next().unwrap_or_default()
    }

    /// Returns the ladder and the problem: `reduce: n = 16777216 (2^24)`.
    pub fn subject(&self) -> String {
        format!("{}: {}", self.ladder, self.problem)
    }

    /// Returns the value of a quantity, if it was measured.
    pub fn value(&self, quantity: &str) -> Option<&Value> {
        self.values.get(quantity)?.as_ref()
    }

    /// Returns whether `other` is a row of the same table as this row.
    pub fn is_of_table(&self, other: &Self) -> bool {
        self.ladder == other.ladder && self.problem == other.problem && self.kind == other.kind
    }
}

/// Reads the records in a file.
///
/// # Errors
/// Returns [`Error::Request`] when the file cannot be read, or contains a line that is not a record.
pub fn read(path: &Path) -> Result<Vec<Record>, Error> {
    let text = fs::read_to_string(path).map_err(|why| Error::file("read", path, why))?;
    parse(&text).map_err(|why| Error::file("read", path, why))
}

/// Parses the records in a text.
///
/// # Errors
/// Returns a message with the line number when a line is not a record.
pub fn parse(text: &str) -> Result<Vec<Record>, String> {
    let record = |(index, line)| serde_json::from_str(line).map_err(|why| format!("line {}: {why}", index + 1));
    text.lines().enumerate().map(record).collect()
}

/// Writes records into a file and removes its old records of the same tables. The file need not exist. Returns the old
/// rows that the new tables lack.
///
/// # Errors
/// Returns [`Error::Request`] when the file cannot be read or written. The file then has its old content.
pub fn replace(path: &Path, new: &[Record]) -> Result<Vec<Record>, Error> {
    let old = match read(path) {
        Err(_) if fs::metadata(path).is_err_and(|why| why.kind() == ErrorKind::NotFound) => Vec::new(),
        old => old?,
    };
    let is_replaced = |old: &Record| new.iter().any(|new| new.is_of_table(old));
    // The new tables go to the position of the first old row that they replace.
    let place = old.iter().position(is_replaced).unwrap_or(old.len());
    let before = old[..place].iter();
    let after = old[place..].iter().filter(|old| !is_replaced(old));
    let mut text = String::new();
    for record in before.chain(new).chain(after) {
        text += &serde_json::to_string(record).map_err(|why| Error::file("write", path, why))?;
        text.push('\n');
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|why| Error::file("create", folder, why))?;
    }
    files::replace(path, &text).map_err(|why| Error::file("write", path, why))?;
    let has = |old: &Record| new.iter().any(|new| new.is_of_table(old) && new.rung == old.rung);
    Ok(old.iter().filter(|old| is_replaced(old) && !has(old)).cloned().collect())
}

#[cfg(test)]
mod tests;
