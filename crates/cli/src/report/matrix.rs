//! A sweep of checks as a matrix: a row for each rung, a column for each size.

use comfy_table::{Cell, Color};

use super::OutputStyle;
use engine::launch::Launch;
use engine::problem::Verdict;
use engine::registry::{Ladder, Rung};
use engine::size::dims;

/// The verdicts of one ladder over problems and blocks.
#[derive(Clone, Debug)]
pub(crate) struct Sweep {
    /// The ladder.
    pub ladder: &'static Ladder,
    /// The checks, in the order in which they were made.
    pub checks: Vec<Checked>,
}

/// One of them.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    /// What was checked.
    pub rung: &'static Rung,
    /// The column that it belongs to: [`Problem::column`](crate::Problem::column).
    pub column: String,
    /// The problem: [`Problem::size`](crate::Problem::size).
    pub size: String,
    /// What was launched.
    pub launch: Launch,
    /// What came of it.
    pub verdict: Verdict,
}

impl Sweep {
    /// Whether every check was right.
    pub(crate) fn all_right(&self) -> bool {
        self.checks.iter().all(|check| check.verdict.is_right())
    }
}

/// The sweep as a matrix, and below it each check that was wrong.
pub(crate) fn matrix(sweep: &Sweep, style: OutputStyle) -> String {
    let checks = &sweep.checks;
    let mut columns: Vec<&str> = Vec::new();
    for check in checks {
        if !columns.contains(&check.column.as_str()) {
            columns.push(&check.column);
        }
    }
    let mut table = style.table();
    table.set_header([&[sweep.ladder.name], &columns[..]].concat());
    for rung in sweep.ladder.rungs {
        if !checks.iter().any(|check| check.rung.name == rung.name) {
            continue;
        }
        let mut row = vec![Cell::new(rung.name)];
        row.extend(columns.iter().map(|column| {
            let here = checks
                .iter()
                .filter(|check| check.column == *column && check.rung.name == rung.name);
            let (right, wrong): (Vec<_>, Vec<_>) = here.partition(|check| check.verdict.is_right());
            let mut blocks: Vec<String> =
                wrong.iter().map(|check| dims(check.launch.block)).collect();
            blocks.dedup();
            match (right.len(), wrong.is_empty()) {
                (0, true) => Cell::new("–"),
                (_, true) => Cell::new("right").fg(Color::Green),
                (_, false) => Cell::new(format!("WRONG: {}", blocks.join(", "))).fg(Color::Red),
            }
        }));
        table.add_row(row);
    }
    let mut blocks: Vec<[u32; 3]> = checks.iter().map(|check| check.launch.block).collect();
    blocks.sort_unstable();
    blocks.dedup();
    let blocks: Vec<String> = blocks.into_iter().map(dims).collect();
    let mut text = format!(
        "{}\n{} checks, with blocks of {}\n",
        table.trim_fmt(),
        checks.len(),
        blocks.join(", ")
    );
    for check in checks {
        if let Verdict::Wrong(why) = &check.verdict {
            text += &format!("wrong: {} at {}: {why}\n", check.launch, check.size);
        }
    }
    text
}
