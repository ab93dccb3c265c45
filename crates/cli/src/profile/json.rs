//! Profiles as JSON: one object a rung.

use std::collections::BTreeMap;

use serde::Serialize;

use analysis::profile::{Metric, Profile, Side};

#[derive(Serialize)]
struct Entry<'a> {
    ladder: &'a str,
    rung: &'a str,
    metrics: BTreeMap<&'a str, Both>,
}

#[derive(Serialize)]
struct Both {
    sim: Option<f64>,
    gpu: Option<f64>,
}

/// An array with one object for each rung, a line each: `ladder`, `rung`, and `metrics`, an object with the
/// number of each metric on `sim` and on `gpu`. A number is in Nsight Compute's base unit: bytes, bytes a second,
/// nanoseconds, per cent. It is `null` where the device was not asked, does not have the metric, or has nothing to
/// divide by.
pub(super) fn json(profiles: &[Profile], metrics: &[Metric<'_>]) -> String {
    let mut lines = Vec::new();
    for profile in profiles {
        for row in &profile.rows {
            let entry = Entry {
                ladder: profile.ladder.name,
                rung: row.rung.name,
                metrics: metrics
                    .iter()
                    .map(|metric| {
                        let [sim, gpu] =
                            [Side::Sim, Side::Gpu].map(|side| row.number(metric, side));
                        (metric.name, Both { sim, gpu })
                    })
                    .collect(),
            };
            lines.push(serde_json::to_string(&entry).expect("strings and numbers serialize"));
        }
    }
    format!("[\n{}\n]\n", lines.join(",\n"))
}
