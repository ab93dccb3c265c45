//! A sweep of checks as a matrix: a row for each rung, a column for each size.

use comfy_table::{Cell, Color};

use super::Look;
use crate::launch::Launch;
use crate::problem::Verdict;
use crate::registry::{Ladder, Rung};
use crate::size::dims;

/// The verdicts of one ladder over sizes and blocks.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The ladder.
    pub ladder: &'static Ladder,
    /// The rungs, a row each.
    pub rungs: Vec<&'static Rung>,
    /// The sizes, a column each.
    pub sizes: Vec<u64>,
    /// What was launched, on which size, and what came of it.
    pub checks: Vec<(u64, &'static Rung, Launch, Verdict)>,
}

impl Sweep {
    /// Whether every check was right.
    pub fn all_right(&self) -> bool {
        self.checks
            .iter()
            .all(|(_, _, _, verdict)| verdict.is_right())
    }
}

/// The sweep as a matrix, and below it each check that was wrong.
pub fn matrix(sweep: &Sweep, look: Look) -> String {
    let mut table = look.table();
    let mut header = vec![sweep.ladder.name.to_owned()];
    header.extend(sweep.sizes.iter().map(u64::to_string));
    table.set_header(header);
    for rung in &sweep.rungs {
        let mut row = vec![Cell::new(rung.name)];
        for &size in &sweep.sizes {
            let here: Vec<_> = sweep
                .checks
                .iter()
                .filter(|(n, checked, _, _)| *n == size && checked.name == rung.name)
                .collect();
            let wrong: Vec<String> = here
                .iter()
                .filter(|(_, _, _, verdict)| !verdict.is_right())
                .map(|(_, _, launch, _)| dims(launch.block))
                .collect();
            row.push(match (here.len(), wrong.is_empty()) {
                (0, _) => Cell::new("–"),
                (_, true) => Cell::new("right").fg(Color::Green),
                (_, false) => Cell::new(format!("WRONG: {}", wrong.join(", "))).fg(Color::Red),
            });
        }
        table.add_row(row);
    }
    let mut blocks: Vec<[u32; 3]> = sweep
        .checks
        .iter()
        .map(|(_, _, launch, _)| launch.block)
        .collect();
    blocks.sort_unstable();
    blocks.dedup();
    let blocks: Vec<String> = blocks.into_iter().map(dims).collect();
    let mut text = format!(
        "{}\n{} checks, each n with blocks of {}\n",
        table.trim_fmt(),
        sweep.checks.len(),
        blocks.join(", ")
    );
    for (n, _, launch, verdict) in &sweep.checks {
        if let Verdict::Wrong(why) = verdict {
            text += &format!("wrong: {launch} at n = {n}: {why}\n");
        }
    }
    text
}
