//! Reads measured times from recorded results or from the output of `ladder run --json`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::Times;
use crate::Error;
use crate::results;
use engine::Ladder;
use engine::stats::Samples;

/// The times in a file.
#[derive(Clone, Debug)]
pub struct MeasuredTimes {
    path: PathBuf,
    rows: Vec<MeasuredTime>,
}

/// A rung in the output of `ladder run --json`.
#[derive(Clone, Debug, Deserialize)]
struct MeasuredTime {
    rung: String,
    /// The problem. Times without a problem are used for every problem.
    problem: Option<String>,
    time_ns: Option<f64>,
    device_name: Option<String>,
}

impl MeasuredTimes {
    /// Reads a file of recorded results, or one or more arrays of `ladder run --json`.
    ///
    /// # Errors
    /// Returns [`Error::Request`] when the file cannot be read, and when it has neither format.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(|why| Error::file("read", path, why))?;
        let rows = match text.trim_start().starts_with('[') {
            true => from_json(&text),
            false => from_records(&text),
        };
        let rows = rows.map_err(|why| {
            let path = path.display();
            Error::Request(format!(
                "{path} has no times: {why}; it must be the output of `ladder run --json`, or a file of `results`"
            ))
        })?;
        Ok(Self { path: path.to_owned(), rows })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the name of the device that was measured.
    pub fn device(&self) -> Option<&str> {
        self.rows.iter().find_map(|row| row.device_name.as_deref())
    }

    /// Returns the times of a ladder's rungs on a problem. If several programs measured a rung, returns the median of
    /// their times.
    ///
    /// # Errors
    /// Returns [`Error::Request`] when the file contains no times for the ladder, or only times for other problems.
    pub fn of(&self, ladder: &Ladder, problem: &str) -> Result<Times, Error> {
        let is_timed = |row: &&MeasuredTime| row.time_ns.is_some() && ladder.rung(&row.rung).is_ok();
        let timed: Vec<&MeasuredTime> = self.rows.iter().filter(is_timed).collect();
        let mut all: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        let is_of_problem =
            |row: &&&MeasuredTime| row.problem.as_deref().is_none_or(|row_problem| row_problem == problem);
        for row in timed.iter().filter(is_of_problem) {
            all.entry(row.rung.clone()).or_default().extend(row.time_ns);
        }
        let medians = all.into_iter().filter_map(|(rung, times)| Some((rung, Samples::new(times)?.median() / 1e3)));
        let times: Times = medians.collect();
        let (path, name) = (self.path.display(), ladder.name);
        match (timed.first(), times.is_empty()) {
            (_, false) => Ok(times),
            (None, true) => Err(Error::Request(format!("{path} has no times of {name}"))),
            (Some(other), true) => Err(Error::Request(format!(
                "{path} has times of {name} for {}, not for {problem}: give the options of the run that measured them",
                other.problem.as_deref().unwrap_or_default()
            ))),
        }
    }
}

fn from_json(text: &str) -> Result<Vec<MeasuredTime>, String> {
    let arrays = serde_json::Deserializer::from_str(text).into_iter::<Vec<MeasuredTime>>();
    let arrays: Result<Vec<_>, _> = arrays.collect();
    Ok(arrays.map_err(|why| why.to_string())?.into_iter().flatten().collect())
}

fn from_records(text: &str) -> Result<Vec<MeasuredTime>, String> {
    let row = |record: results::Record| MeasuredTime {
        time_ns: record.value("time").and_then(results::Value::number),
        device_name: Some(record.device_name().to_owned()),
        rung: record.rung,
        problem: Some(record.problem),
    };
    Ok(results::parse(text)?.into_iter().map(row).collect())
}

#[cfg(test)]
mod tests;
