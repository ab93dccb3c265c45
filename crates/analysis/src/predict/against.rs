//! Measured times, read back from where this program has written them.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::{PredictError, Times};
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
/// [`PredictError::File`] for a file that cannot be read, [`PredictError::NoTimes`] for one without times.
pub fn read(ladders: &'static [Ladder], path: &Path) -> Result<Times, PredictError> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| PredictError::File {
        path: name.clone(),
        reason: error.to_string(),
    })?;
    let times = from_json(&text).unwrap_or_else(|| from_tables(ladders, &text));
    if times.is_empty() {
        let all: Vec<&str> = ladders.iter().map(|ladder| ladder.name).collect();
        return Err(PredictError::NoTimes {
            path: name,
            of: all.join(", "),
        });
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
    let medians = all
        .into_iter()
        .filter_map(|(rung, times)| Some((rung, Samples::new(times)?.median() / 1e3)));
    Some(medians.collect())
}

/// The column `time` of the tables between the ladders' markers.
fn from_tables(ladders: &'static [Ladder], text: &str) -> Times {
    let mut times = Times::new();
    for ladder in ladders {
        let (begin, end) = (document::begin(ladder.name), document::end(ladder.name));
        let Some(body) = text
            .split_once(&begin)
            .and_then(|(_, rest)| rest.split_once(&end))
            .map(|(body, _)| body)
        else {
            continue;
        };
        let cells = |line: &str| -> Vec<String> {
            let inner = line.trim().trim_matches('|');
            inner
                .split('|')
                .map(|cell| cell.trim().to_owned())
                .collect()
        };
        let mut rows = body.lines().filter(|line| line.starts_with('|')).map(cells);
        let column = rows
            .next()
            .and_then(|header| header.iter().position(|name| name == "time"));
        let Some(column) = column else { continue };
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
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn tables_and_json_say_the_same() {
        let table = "x\n<!-- ladder:reduce:begin -->\n| rung | grid | time |\n|---|---|---|\n\
                     | `reduce_gmem` | 1 | 92.50 µs |\n| `reduce_smem` | 1 | 4.5 ms |\n| `odd` | 1 | – |\n\
                     <!-- ladder:reduce:end -->\n";
        let json = r#"[{"rung": "reduce_gmem", "time_ns": 92500.0, "n": 3}]
                      [{"rung": "reduce_smem", "time_ns": 4500000.0}, {"rung": "odd", "time_ns": null}]"#;
        let times = from_tables(table);
        assert_eq!(times.len(), 2);
        assert_eq!(times["reduce_smem"], 4500.0);
        assert_eq!(from_json(json).unwrap(), times);
        let again = r#"[{"rung": "reduce_gmem", "time_ns": 90000.0}] [{"rung": "reduce_gmem", "time_ns": 99000.0}]"#;
        assert_eq!(from_json(&format!("{json}{again}")).unwrap(), times);
        assert_eq!(from_json(table), None);
        assert!(from_tables(json).is_empty());
    }

    #[test]
    fn the_readme_has_times_of_every_timed_ladder() {
        let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
        let times = read(&readme).unwrap();
        for ladder in ladders.iter().filter(|ladder| !ladder.shown.pictures) {
            for rung in ladder.rungs {
                assert!(times.contains_key(rung.name), "{}", rung.name);
            }
        }
    }
}
