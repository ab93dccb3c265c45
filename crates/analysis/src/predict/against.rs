//! Measured times, read from what this program has printed or written into a file.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::{Times, no_times};
use crate::Error;
use crate::document;
use engine::Ladder;
use engine::stats::Samples;

/// A rung of what `ladder run --json` prints.
#[derive(Deserialize)]
struct Row {
    rung: String,
    time_ns: Option<f64>,
}

/// The times in a file: one or more arrays as `ladder run --json` prints them, or a text with the tables that
/// `ladder run --update-readme` writes. A rung that was timed by several programs has the median of its times.
///
/// # Errors
/// [`Error::Request`] when the file cannot be read, and when it has no times.
pub fn read(ladders: &[Ladder], path: &Path) -> Result<Times, Error> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| Error::file("read", path, error))?;
    let times = from_json(&text).unwrap_or_else(|| from_tables(ladders, &text));
    if times.is_empty() {
        let names = ladders.iter().map(|ladder| ladder.name);
        return Err(no_times(path, names));
    }
    Ok(times)
}

fn from_json(text: &str) -> Option<Times> {
    let arrays = serde_json::Deserializer::from_str(text).into_iter::<Vec<Row>>();
    let mut all: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for rows in arrays {
        for row in rows.ok()? {
            if let Some(nanoseconds) = row.time_ns {
                all.entry(row.rung).or_default().push(nanoseconds);
            }
        }
    }
    let medians = all.into_iter().filter_map(|(rung, times)| Some((rung, Samples::new(times)?.median() / 1e3)));
    Some(medians.collect())
}

/// The column `time` of the tables between the ladders' markers.
fn from_tables(ladders: &[Ladder], text: &str) -> Times {
    let cells = |line: &str| -> Vec<String> {
        let cells = line.trim().trim_matches('|').split('|');
        cells.map(|cell| cell.trim().to_owned()).collect()
    };
    let mut times = Times::new();
    for ladder in ladders {
        let table = document::body(text, ladder.name).unwrap_or_default();
        let mut rows = table.lines().filter(|line| line.starts_with('|')).map(cells);
        let header = rows.next().unwrap_or_default();
        let Some(column) = header.iter().position(|name| name == "time") else {
            continue;
        };
        for row in rows {
            let rung = row[0].trim_matches('`');
            if let Some(time) = row.get(column).and_then(|cell| microseconds(cell)) {
                times.insert(rung.to_owned(), time);
            }
        }
    }
    times
}

/// `127.17 µs`, `4.422 ms`.
fn microseconds(text: &str) -> Option<f64> {
    let (number, unit) = text.split_once(' ')?;
    let scale = match unit.trim() {
        "ns" => 1e-3,
        "µs" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        _ => return None,
    };
    let number: f64 = number.parse().ok()?;
    (number.is_finite() && number > 0.0).then_some(number * scale)
}

#[cfg(test)]
mod tests;
