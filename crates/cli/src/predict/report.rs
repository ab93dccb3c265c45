//! Predictions as tables and JSON.

use std::collections::BTreeMap;

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{Attribute, Cell, CellAlignment, Table};
use serde::Serialize;

use crate::report::{OutputStyle, duration};
use analysis::predict::model::{Constants, Resource};
use analysis::predict::{Climb, Description, Prediction, Times, score};
use engine::size::dims;

/// What is shown.
pub(super) struct Shown<'a> {
    /// The device.
    pub device: &'a Description,
    /// What the model was given.
    pub constants: &'a Constants,
    /// Whether the constants were fitted to the times that are compared with.
    pub fitted: bool,
    /// The predictions.
    pub climbs: &'a [Climb],
    /// Measured times to compare with.
    pub times: Option<&'a Times>,
}

const HEADER: [&str; 6] = [
    "rung",
    "grid × block",
    "blocks/SM",
    "predicted",
    "bound by",
    "next",
];
const MEASURED: [&str; 2] = ["measured", "error"];

impl Shown<'_> {
    fn header(&self) -> Vec<&'static str> {
        let mut header = HEADER.to_vec();
        if self.times.is_some() {
            header.splice(4..4, MEASURED);
        }
        header
    }

    fn row(&self, prediction: &Prediction) -> Vec<String> {
        let Prediction {
            rung,
            launch,
            estimate,
            ..
        } = prediction;
        let mut resources = estimate.alone.clone();
        resources.sort_by(|a, b| b.1.total_cmp(&a.1));
        let share = |at: usize| {
            let (resource, _): (Resource, f64) = resources[at];
            format!(
                "{} {:.0} %",
                resource.name(),
                estimate.share(resource) * 100.0
            )
        };
        let mut row = vec![
            rung.name.to_owned(),
            format!("{} × {}", dims(launch.grid), dims(launch.block)),
            estimate.resident.to_string(),
            duration(estimate.us * 1e3),
            share(0),
            share(1),
        ];
        if let Some(times) = self.times {
            let measured = times.get(rung.name);
            let cells = match measured {
                None => ["–".to_owned(), "–".to_owned()],
                Some(measured) => [
                    duration(measured * 1e3),
                    format!("{:+.1} %", (estimate.us / measured - 1.0) * 100.0),
                ],
            };
            row.splice(4..4, cells);
        }
        row
    }

    /// What belongs under the tables.
    fn caption(&self) -> Vec<String> {
        let Constants {
            memory_share,
            issue_share,
            write_cost,
            start_cycles,
            norm,
        } = self.constants;
        let mut lines = vec![format!(
            "on {} ({}), predicted by counters of the SIMT machine, the registers that ptxas gives for {}, and \
             a model whose constants were {}: {:.1} % of the memory's bandwidth, {:.1} % of the issue slots, a \
             sector written as {write_cost:.2} read, {start_cycles:.0} cycles around a block, exponent {norm:.2}",
            self.device.name,
            self.device.arch,
            self.device.arch,
            if self.fitted {
                "fitted to these very times"
            } else {
                "calibrated on the reduction ladder on one H100"
            },
            memory_share * 100.0,
            issue_share * 100.0,
        )];
        if let Some(score) = self.times.and_then(|times| score(self.climbs, times)) {
            let ranks: Vec<String> = score
                .ranks
                .iter()
                .map(|(ladder, rank)| match rank {
                    Some(rank) => format!("{ladder} {rank:.3}"),
                    None => format!("{ladder} – (all alike)"),
                })
                .collect();
            lines.push(format!(
                "{} rungs compared: median error {:.1} %, largest {:.1} % ({}), rank correlation {}",
                score.rungs,
                score.median * 100.0,
                score.worst.0 * 100.0,
                score.worst.1,
                ranks.join(", ")
            ));
        }
        for climb in self.climbs {
            lines.extend(climb.left_out.iter().map(|why| format!("left out: {why}")));
        }
        lines
    }

    fn fill(&self, table: &mut Table, climb: &Climb, code: bool) {
        for prediction in &climb.predictions {
            let mut row = self.row(prediction);
            if code {
                row[0] = format!("`{}`", row[0]);
            }
            table.add_row(row);
        }
        for (index, name) in self.header().into_iter().enumerate() {
            let right = matches!(name, "blocks/SM" | "predicted" | "measured" | "error");
            if let Some(column) = table.column_mut(index).filter(|_| right) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
}

/// A table for each ladder, and how near they come to what was measured.
pub(super) fn table(shown: &Shown<'_>, style: OutputStyle) -> String {
    let mut text = String::new();
    for climb in shown.climbs {
        let mut table = style.table();
        let header = shown.header().into_iter();
        table.set_header(header.map(|name| Cell::new(name).add_attribute(Attribute::Bold)));
        shown.fill(&mut table, climb, false);
        text += &format!(
            "{}: {}\n{}\n",
            climb.ladder.name,
            climb.title,
            table.trim_fmt()
        );
    }
    for line in shown.caption() {
        text += &line;
        text += "\n";
    }
    text
}

/// As [`table`], in Markdown, with the day.
pub(super) fn markdown(shown: &Shown<'_>) -> String {
    let mut text = String::new();
    for climb in shown.climbs {
        let mut table = Table::new();
        table.load_style(ASCII_MARKDOWN).force_no_tty();
        table.set_header(shown.header());
        shown.fill(&mut table, climb, true);
        text += &format!(
            "### {}: {}\n\n{}\n\n",
            climb.ladder.name,
            climb.title,
            table.trim_fmt()
        );
    }
    let today = jiff::Zoned::now().date();
    text + &format!("{}; {today}.\n", shown.caption().join("; "))
}

#[derive(Serialize)]
struct Row<'a> {
    ladder: &'a str,
    rung: &'a str,
    device: &'a str,
    grid: [u32; 3],
    block: [u32; 3],
    resident_blocks: u32,
    predicted_ns: f64,
    measured_ns: Option<f64>,
    bound_by: Resource,
    /// What each resource alone would take.
    alone_ns: BTreeMap<&'static str, f64>,
}

/// An array with an object for each rung.
pub(super) fn json(shown: &Shown<'_>) -> String {
    let rows: Vec<Row<'_>> = shown
        .climbs
        .iter()
        .flat_map(|climb| climb.predictions.iter().map(move |own| (climb, own)))
        .map(|(climb, own)| Row {
            ladder: climb.ladder.name,
            rung: own.rung.name,
            device: &shown.device.name,
            grid: own.launch.grid,
            block: own.launch.block,
            resident_blocks: own.estimate.resident,
            predicted_ns: own.estimate.us * 1e3,
            measured_ns: shown
                .times
                .and_then(|times| Some(times.get(own.rung.name)? * 1e3)),
            bound_by: own.estimate.bound().0,
            alone_ns: own
                .estimate
                .alone
                .iter()
                .map(|(resource, us)| (resource.name(), us * 1e3))
                .collect(),
        })
        .collect();
    serde_json::to_string_pretty(&rows).expect("numbers and names can be written")
}
