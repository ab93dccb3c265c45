//! The columns of a report. Each ladder lists the columns that show its lessons.

use std::sync::LazyLock;

use analysis::results::{self, Value};
use engine::Column;
use engine::run::{Report, RungResult};
use engine::size;
use profile::counters::{Expression, embedded};
use serde::Deserialize;

use super::Predictions;
use crate::output::{self, Cell, Importance, NOTHING};

/// A column: its heading, and the rule for its text in each row.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ColumnText {
    column: Column,
    heading: String,
    /// The explanation for the caption; empty if the heading is enough.
    #[serde(default)]
    pub(super) legend: String,
    /// Whether the column's cells are words.
    #[serde(default)]
    text: bool,
    /// The numbers of a column of counters.
    #[serde(default)]
    numbers: Vec<Expression>,
    #[serde(default)]
    decimals: usize,
    #[serde(default)]
    unit: Unit,
    #[serde(default)]
    importance: Importance,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Unit {
    #[default]
    None,
    Percent,
    Bytes,
}

#[derive(Deserialize)]
struct Columns {
    column: Vec<ColumnText>,
}

static COLUMNS: LazyLock<Columns> = LazyLock::new(|| embedded("columns.toml", include_str!("columns.toml")));

impl ColumnText {
    /// Returns the text of a column.
    pub(super) fn of(column: Column) -> &'static Self {
        let found = COLUMNS.column.iter().find(|text| text.column == column);
        found.expect("a test checks that the table has every column")
    }

    /// Returns the heading as a column of a table.
    pub(super) fn heading(&self) -> output::Column {
        let column = match self.text {
            true => output::Column::text(&self.heading),
            false => output::Column::number(&self.heading),
        };
        column.of(self.importance)
    }

    /// Returns the cell of the report's outcome at `index`, with a predicted time if none was measured.
    pub(super) fn cell(&self, report: &Report, predictions: Option<&Predictions>, index: usize) -> Cell {
        self.value(report, predictions, index).map_or(Cell::from(NOTHING), Cell::of)
    }

    fn value(&self, report: &Report, predictions: Option<&Predictions>, index: usize) -> Option<Value> {
        let outcome = report.outcomes.get(index)?;
        let duration = |ns: f64| Value::new(ns, results::Unit::Nanoseconds);
        let times = |factor: f64| Value::new(factor, results::Unit::Times);
        let share = |part: f64| Value::new(part * 100.0, results::Unit::Percent);
        let first = report.ladder.rungs.first()?.name;
        let first = report.outcomes.iter().position(|other| other.rung.name == first);
        Some(match (self.column, predictions) {
            (Column::Time, Some(predictions)) => duration(predictions.times_ns[index]?),
            (Column::OverFirst, Some(predictions)) => times(predictions.speedup(first?, index)?),
            (Column::OfCopy, Some(predictions)) => share(predictions.speedup(first?, index)?),
            (Column::OverBefore, Some(predictions)) => times(predictions.speedup(index.checked_sub(1)?, index)?),
            (Column::Time, _) => duration(outcome.median_ns()?),
            (Column::OverFirst, _) => times(report.speedup_vs_first(outcome)?),
            (Column::OfCopy, _) => share(report.speedup_vs_first(outcome)?),
            (Column::OverBefore, _) => times(report.speedup_vs_before(index)?),
            (Column::Bandwidth, _) => Value::new(report.bytes_per_s(outcome)? / 1e9, results::Unit::GigabytesPerSecond),
            (Column::OfPeak, _) => share(report.bytes_per_s(outcome)? / report.device.peak_bytes_per_s?),
            (Column::Flops, _) => Value::new(report.flops_per_s(outcome)? / 1e9, results::Unit::GigaflopsPerSecond),
            (Column::Published, _) => Value::Text(published(report, outcome)),
            (Column::PublishedCount, _) => Value::of_text(outcome.rung.published_count),
            _ => Value::of_text(&self.counted(outcome)?),
        })
    }

    /// Returns the numbers in a cell of a column of counters: `a / b`, or `None` if all are missing.
    fn counted(&self, outcome: &RungResult) -> Option<String> {
        let number = |expression: &Expression| {
            let number = expression.of(&|name| outcome.counter(name))?;
            Some(match self.unit {
                Unit::Bytes => size::bytes(number as u64),
                Unit::None | Unit::Percent => format!("{number:.*}", self.decimals),
            })
        };
        let numbers: Vec<Option<String>> = self.numbers.iter().map(number).collect();
        if numbers.iter().all(Option::is_none) {
            return None;
        }
        let numbers = numbers.into_iter().map(|number| number.unwrap_or(NOTHING.to_owned()));
        let unit = match self.unit {
            Unit::Percent => " %",
            Unit::None | Unit::Bytes => "",
        };
        Some(numbers.collect::<Vec<_>>().join(" / ") + unit)
    }
}

/// Returns the published speedup and the rung that the speedup is relative to. If that rung is not the first rung, the
/// measured speedup over it follows.
fn published(report: &Report, outcome: &RungResult) -> String {
    let Some(speedup) = outcome.rung.published else {
        return String::new();
    };
    let claim = match speedup.factor < 1.0 {
        true => format!("{:.3}×", speedup.factor),
        false => format!("{}×", speedup.factor),
    };
    let first = report.ladder.rungs.first();
    if first.is_some_and(|first| first.name == speedup.over) {
        return format!("{claim} over the first");
    }
    let here = report.speedup_over(outcome, speedup.over);
    let here = here.map_or(String::new(), |factor| format!(", here {factor:.2}×"));
    format!("{claim} over {}{here}", speedup.over)
}

#[cfg(test)]
mod tests;
