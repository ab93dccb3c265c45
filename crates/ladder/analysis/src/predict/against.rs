//! Measured times, read from what this program has printed or written into a file.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::{Times, no_times};
use crate::Error;
use crate::document;
use engine::Ladder;
use engine::problem::Problem;
use engine::stats::Samples;

/// A rung of what `ladder run --json` prints.
#[derive(Deserialize)]
struct Row {
    rung: String,
    time_ns: Option<f64>,
    device_name: Option<String>,
    bytes: Option<u64>,
}

/// The times in a file: one or more arrays as `ladder run --json` prints them, or a text with the tables that
/// `lab record` writes. A rung that was timed by several programs has the median of its times.
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

/// What a file says of the run that its times are from.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The device's name.
    pub device: Option<String>,
    /// The bytes that the problem of each rung moves, where JSON says it.
    bytes: BTreeMap<String, u64>,
    /// What is said below the tables of ladders: `reduce on NVIDIA H200, …; n = 16777216 (2^24), median of …`.
    captions: BTreeMap<&'static str, String>,
}

/// Reads where the times in a file are from.
///
/// # Errors
/// [`Error::Request`] when the file cannot be read.
pub fn origin(ladders: &[Ladder], path: &Path) -> Result<Origin, Error> {
    let text = std::fs::read_to_string(path).map_err(|error| Error::file("read", path, error))?;
    let caption = |ladder: &Ladder| {
        let begin = format!("{} on ", ladder.name);
        let mut lines = document::body(&text, ladder.name)?.lines();
        Some((ladder.name, lines.find_map(|line| line.strip_prefix(&begin))?.to_owned()))
    };
    let captions: BTreeMap<&str, String> = ladders.iter().filter_map(caption).collect();
    let rows = rows(&text).unwrap_or_default();
    let of_table = captions.values().next().and_then(|caption| caption.split(',').next()).map(str::to_owned);
    let device = rows.iter().find_map(|row| row.device_name.clone()).or(of_table);
    let bytes = rows.into_iter().filter_map(|row| Some((row.rung, row.bytes?))).collect();
    Ok(Origin { device, bytes, captions })
}

impl Origin {
    /// Makes sure that the times are of a ladder's problem.
    ///
    /// # Errors
    /// [`Error::Request`] when the ladder was timed on another problem.
    pub fn check(&self, ladder: &Ladder, problem: &dyn Problem, path: &Path) -> Result<(), Error> {
        let (bytes, title) = (problem.facts().bytes, problem.labels().title);
        let mut own = self.bytes.iter().filter(|(rung, _)| ladder.rung(rung).is_ok());
        let other = match (own.find(|(_, other)| **other != bytes), self.captions.get(ladder.name)) {
            (Some((rung, other)), _) => format!("{rung} on a problem of {other} bytes, and this one has {bytes}"),
            (None, Some(caption)) if !caption.contains(&title) => {
                format!("{} on another problem than {title}", ladder.name)
            }
            _ => return Ok(()),
        };
        let path = path.display();
        Err(Error::Request(format!("{path} has times of {other}: give the options that it was run with")))
    }
}

/// The rungs of one or more arrays; `None` for a text that is not such.
fn rows(text: &str) -> Option<Vec<Row>> {
    let arrays = serde_json::Deserializer::from_str(text).into_iter::<Vec<Row>>();
    Some(arrays.collect::<Result<Vec<_>, _>>().ok()?.into_iter().flatten().collect())
}

fn from_json(text: &str) -> Option<Times> {
    let mut all: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for row in rows(text)? {
        if let Some(nanoseconds) = row.time_ns {
            all.entry(row.rung).or_default().push(nanoseconds);
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
