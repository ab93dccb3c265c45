//! Predictions as a document: a table for each ladder, and the predictions' accuracy compared with measured times.

use std::collections::BTreeMap;

use serde::Serialize;

use analysis::predict::{Description, LadderPrediction, Prediction, Times, score};
use analysis::results::Unit;
use cli::output::{self, Cell, Column, Context, Document, Importance, Table};
use engine::Provenance;
use engine::size::dims;
use profile::model::{Constants, Resource};

/// The data of the report.
pub(super) struct PredictionReport<'a> {
    /// The device that the times are predicted for.
    pub device: &'a Description,
    /// The constants of the model.
    pub constants: &'a Constants,
    /// Whether the constants were fitted to the measured times of this comparison.
    pub is_fitted: bool,
    /// The predictions for each ladder.
    pub ladders: &'a [LadderPrediction],
    /// The measured times.
    pub times: &'a Times,
}

/// A prediction in JSON.
#[derive(Serialize)]
struct PredictionRecord<'a> {
    ladder: &'a str,
    rung: &'a str,
    device: &'a str,
    grid: [u32; 3],
    block: [u32; 3],
    resident_blocks: u32,
    predicted_ns: f64,
    measured_ns: Option<f64>,
    bound_by: Resource,
    /// The time that each resource would take by itself.
    alone_ns: BTreeMap<&'static str, f64>,
}

impl PredictionReport<'_> {
    /// Returns the document.
    pub(super) fn document(&self, toolchain: String) -> Document {
        let mut document = Document::default();
        for ladder in self.ladders {
            document.heading(ladder.ladder.name, ladder.title.as_str());
            document.table(self.table(ladder));
            for prediction in &ladder.predictions {
                document.record(&self.record(ladder, prediction));
            }
        }
        let caption = self.caption();
        document.measured(Context {
            device: self.device.name.clone(),
            conditions: caption[1..].join("; "),
            provenance: Provenance { date: jiff::Zoned::now().date().to_string(), toolchain },
        });
        document.caption(caption);
        document
    }

    fn table(&self, ladder: &LadderPrediction) -> Table {
        let mut table = Table::new([
            Column::name("rung"),
            Column::text("grid × block").of(Importance::Low),
            Column::number("blocks/SM").of(Importance::Low),
            Column::number("predicted"),
            Column::number("measured"),
            Column::number("error"),
            Column::text("bound by"),
            Column::text("next").of(Importance::Medium),
        ]);
        for prediction in &ladder.predictions {
            table.row(self.row(prediction));
        }
        table.with_results_of(ladder.ladder.name, &ladder.title)
    }

    fn row(&self, prediction: &Prediction) -> Vec<Cell> {
        let (rung, launch) = (prediction.rung.name, &prediction.launch);
        let estimate = &prediction.estimate;
        let mut resources = estimate.alone.clone();
        resources.sort_by(|a, b| b.1.total_cmp(&a.1));
        let share = |(resource, us): &(Resource, f64)| {
            Cell::from(format!("{} {:.0} %", resource.name(), us / estimate.us * 100.0))
        };
        let measured = self.times.get(rung).copied();
        let mut row = vec![
            rung.into(),
            format!("{} × {}", dims(launch.grid), dims(launch.block)).into(),
            estimate.resident.to_string().into(),
            Cell::measured(Some(estimate.us * 1e3), Unit::Nanoseconds),
            Cell::measured(measured.map(|us| us * 1e3), Unit::Nanoseconds),
            Cell::measured(measured.map(|us| (estimate.us / us - 1.0) * 100.0), Unit::Difference),
        ];
        row.extend(resources.iter().take(2).map(share));
        row
    }

    fn record<'b>(&'b self, ladder: &'b LadderPrediction, prediction: &'b Prediction) -> PredictionRecord<'b> {
        let (launch, estimate) = (&prediction.launch, &prediction.estimate);
        let measured = self.times.get(prediction.rung.name);
        let alone_ns = estimate.alone.iter().map(|(resource, us)| (resource.name(), us * 1e3));
        PredictionRecord {
            ladder: ladder.ladder.name,
            rung: prediction.rung.name,
            device: &self.device.name,
            grid: launch.grid,
            block: launch.block,
            resident_blocks: estimate.resident,
            predicted_ns: estimate.us * 1e3,
            measured_ns: measured.map(|us| us * 1e3),
            bound_by: estimate.bound().0,
            alone_ns: alone_ns.collect(),
        }
    }

    /// Returns the notes below the tables.
    fn caption(&self) -> Vec<String> {
        let (model, device) = (self.constants, self.device);
        let origin = match self.is_fitted {
            true => "fitted to these times",
            false => "calibrated on the reduction ladder on one H100",
        };
        let arch = &device.arch;
        let mut lines = vec![format!("on {} ({arch})", device.name)];
        lines.push(format!(
            "predicted from the simulator's counters, the register counts of ptxas for {arch}, and a \
             model whose constants were {origin}: {:.1} % of the memory's bandwidth, {:.1} % of the issue slots, a written \
             sector costs {:.2} read sectors, {:.0} cycles of overhead per block, exponent {:.2}",
            model.memory_share * 100.0,
            model.issue_share * 100.0,
            model.write_cost,
            model.start_cycles,
            model.norm,
        ));
        if let Some(score) = score(self.ladders, self.times) {
            let rank = |(ladder, rank): &(&str, Option<f64>)| match rank {
                Some(rank) => format!("{ladder} {rank:.3}"),
                None => format!("{ladder} – (all equal)"),
            };
            let ranks: Vec<String> = score.ranks.iter().map(rank).collect();
            lines.push(format!(
                "{} rungs compared: median error {:.1} %, largest {:.1} % ({}), rank correlation {}",
                score.rungs,
                score.median * 100.0,
                score.worst.0 * 100.0,
                score.worst.1,
                ranks.join(", ")
            ));
        }
        let left_out = self.ladders.iter().flat_map(|ladder| &ladder.left_out);
        lines.extend(left_out.map(output::left_out));
        lines
    }
}
