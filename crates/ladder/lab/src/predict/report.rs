//! Predictions as a document: a table for each ladder, and their accuracy against measured times.

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
    /// The device.
    pub device: &'a Description,
    /// The inputs of the model.
    pub constants: &'a Constants,
    /// Whether the constants were fitted to the times that are compared with.
    pub is_fitted: bool,
    /// The predictions.
    pub ladders: &'a [LadderPrediction],
    /// Measured times to compare with.
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
    /// The time that each resource alone would take.
    alone_ns: BTreeMap<&'static str, f64>,
}

impl PredictionReport<'_> {
    /// Returns the document.
    pub(super) fn document(&self, toolchain: String) -> Document {
        let mut document = Document::default();
        for own in self.ladders {
            document.heading(own.ladder.name, own.title.as_str());
            document.table(self.table(own));
            for prediction in &own.predictions {
                document.record(&self.record(own, prediction));
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

    fn table(&self, own: &LadderPrediction) -> Table {
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
        for prediction in &own.predictions {
            table.row(self.row(prediction));
        }
        table.with_results_of(own.ladder.name, &own.title)
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

    fn record<'b>(&'b self, own: &'b LadderPrediction, prediction: &'b Prediction) -> PredictionRecord<'b> {
        let (launch, estimate) = (&prediction.launch, &prediction.estimate);
        let measured = self.times.get(prediction.rung.name);
        let alone = estimate.alone.iter().map(|(own, us)| (own.name(), us * 1e3));
        PredictionRecord {
            ladder: own.ladder.name,
            rung: prediction.rung.name,
            device: &self.device.name,
            grid: launch.grid,
            block: launch.block,
            resident_blocks: estimate.resident,
            predicted_ns: estimate.us * 1e3,
            measured_ns: measured.map(|us| us * 1e3),
            bound_by: estimate.bound().0,
            alone_ns: alone.collect(),
        }
    }

    /// Returns the notes under the tables.
    fn caption(&self) -> Vec<String> {
        let (model, device) = (self.constants, self.device);
        let origin = match self.is_fitted {
            true => "fitted to these very times",
            false => "calibrated on the reduction ladder on one H100",
        };
        let arch = &device.arch;
        let mut lines = vec![format!("on {} ({arch})", device.name)];
        lines.push(format!(
            "predicted by counters of the simulator, the registers that ptxas gives for {arch}, and a \
             model whose constants were {origin}: {:.1} % of the memory's bandwidth, {:.1} % of the issue slots, a sector \
             written as {:.2} read, {:.0} cycles around a block, exponent {:.2}",
            model.memory_share * 100.0,
            model.issue_share * 100.0,
            model.write_cost,
            model.start_cycles,
            model.norm,
        ));
        if let Some(score) = score(self.ladders, self.times) {
            let rank = |(ladder, rank): &(&str, Option<f64>)| match rank {
                Some(rank) => format!("{ladder} {rank:.3}"),
                None => format!("{ladder} – (all alike)"),
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
        let left_out = self.ladders.iter().flat_map(|own| &own.left_out);
        lines.extend(left_out.map(output::left_out));
        lines
    }
}
