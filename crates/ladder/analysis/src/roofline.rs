//! Rooflines: what each rung of a ladder does in a second, against what a device's memories and multiprocessors allow.
//!
//! A rung that does `work` on each byte of a memory does at most `work` × the memory's bandwidth in a second, and at most
//! what the multiprocessors can do: in a chart with logarithms on both sides the former is a slope and the latter a level
//! line (Williams, Waterman and Patterson, "Roofline: An Insightful Visual Performance Model for Multicore
//! Architectures", 2009). Each memory has a roof of its own (Yang and others, "Hierarchical Roofline Performance Analysis
//! for Deep Learning Applications", 2020). The work of a ladder that is measured in floating-point operations are those; of
//! any other one it is warps' instructions (Ding and Williams, "An Instruction Roofline Model for GPUs", 2019).
//!
//! Roofs come from a device's [`Description`], bytes and instructions from the sample of a [`Prediction`], and times are
//! predicted or measured.

use serde::Serialize;

use crate::predict::{Description, Prediction, Times};

/// Instructions that a multiprocessor issues in a clock, one for each of its schedulers.
const SCHEDULERS: f64 = 4.0;
/// Bytes of a word of shared memory.
const WORD: f64 = 4.0;

/// The roofline of a ladder on a device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Roofline {
    /// The unit of the work: `FLOP` or `warp instruction`.
    pub unit: &'static str,
    /// What the multiprocessors can do: work a second. The last one is the highest.
    pub compute: Vec<Roof>,
    /// What the memories can move: bytes a second.
    pub memory: Vec<Roof>,
    /// The rungs, in the ladder's order.
    pub points: Vec<Point>,
}

/// A limit of a device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Roof {
    /// What it is the limit of.
    pub name: &'static str,
    /// The limit, in units a second.
    pub per_second: f64,
}

/// A rung under the roofs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The rung.
    pub rung: &'static str,
    /// Its time in nanoseconds.
    pub time_ns: f64,
    /// The work of a launch.
    pub work: f64,
    /// The work in a second.
    pub per_second: f64,
    /// How far it is under each memory's roof, in the order of [`Roofline::memory`].
    pub memory: Vec<Level>,
    /// The roof that it is nearest to.
    pub bound: &'static str,
    /// How much of this roof it reaches, from 0 to 1.
    pub of_bound: f64,
}

/// A rung's traffic to a memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Level {
    /// The memory.
    pub name: &'static str,
    /// Bytes that a launch moves.
    pub bytes: f64,
    /// The work on each byte: the arithmetic intensity. `None` where nothing is moved.
    pub intensity: Option<f64>,
    /// The share of the memory's bandwidth that is used.
    pub of_roof: f64,
}

impl Point {
    /// The level that the rung stands on in a chart: the nearest memory roof's, of those that it uses.
    pub fn nearest(&self) -> Option<&Level> {
        let used = self.memory.iter().filter(|level| level.intensity.is_some());
        used.max_by(|a, b| a.of_roof.total_cmp(&b.of_roof))
    }
}

/// The roofline of the launches of one problem, which does so many floating-point operations if its ladder is measured by
/// them. A rung stands where it was measured if there are `times`, and is left out if these do not have it.
pub fn roofline(
    device: &Description,
    flops: Option<u64>,
    predictions: &[Prediction],
    times: Option<&Times>,
) -> Roofline {
    let one = &device.multiprocessor;
    // A second has 10^6 microseconds, of which each has so many cycles.
    let cycles = device.clock_mhz * 1e6 * f64::from(device.multiprocessors);
    let mut compute = match flops {
        // A product that is added is two operations.
        Some(_) => vec![Roof { name: "FP32", per_second: cycles * one.fp32 * 2.0 }],
        None => vec![Roof { name: "issue slots", per_second: cycles * SCHEDULERS }],
    };
    let has_products = predictions.iter().any(|own| own.sample.resource_use.products > 0.0);
    if flops.is_some() && has_products && one.matrix > 0.0 {
        compute.push(Roof { name: "tensor cores", per_second: cycles * one.matrix * 2.0 });
    }
    let memory = vec![
        Roof { name: "DRAM", per_second: device.memory.gb_per_s * 1e9 },
        Roof { name: "L2", per_second: device.l2.gb_per_s * 1e9 },
        Roof { name: "shared/L1", per_second: cycles * one.words * WORD },
    ];
    let point = |own: &Prediction| {
        let time_us = times.map_or(Some(own.estimate.us), |times| times.get(own.rung.name).copied())?;
        let (sample, seconds) = (&own.sample, time_us * 1e-6);
        let work = flops.map_or(sample.instructions(), |flops| flops as f64);
        let bytes = [sample.memory_bytes(), sample.l2_bytes(), sample.shared_bytes()];
        let levels = memory.iter().zip(bytes).map(|(roof, bytes)| Level {
            name: roof.name,
            bytes,
            intensity: (bytes > 0.0).then(|| work / bytes),
            of_roof: bytes / seconds / roof.per_second,
        });
        let memory: Vec<Level> = levels.collect();
        // Floating-point work of this launch is done by the tensor cores, or it is not.
        let by_products = sample.resource_use.products > 0.0;
        let roof = compute.iter().rfind(|roof| by_products || roof.name != "tensor cores")?;
        let own_compute = (roof.name, work / seconds / roof.per_second);
        let all = memory.iter().map(|level| (level.name, level.of_roof)).chain([own_compute]);
        let (bound, of_bound) = all.max_by(|a, b| a.1.total_cmp(&b.1))?;
        let (rung, time_ns, per_second) = (own.rung.name, time_us * 1e3, work / seconds);
        Some(Point { rung, time_ns, work, per_second, memory, bound, of_bound })
    };
    let points = predictions.iter().filter_map(point).collect();
    let unit = if flops.is_some() { "FLOP" } else { "warp instruction" };
    Roofline { unit, compute, memory, points }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::launch::{Code, Launch};
    use engine::registry::Rung;
    use profile::model::Estimate;
    use profile::sample::Sample;
    use simt::critical_path::ResourceUse;

    const RUNG: Rung = Rung { name: "some", ..Rung::USUAL };

    /// A launch that reads so many sectors and issues so many instructions.
    fn prediction(sectors: u64, instructions: f64, us: f64) -> Prediction {
        let mut resource_use = ResourceUse::default();
        (resource_use.read, resource_use.l2_reads) = (vec![sectors], sectors);
        resource_use.issued[0] = instructions;
        let (grid, block) = ([1; 3], [32, 1, 1]);
        let launch =
            Launch { code: Code::Kernels, entry: "some".to_owned(), grid, block, shared_bytes: 0, args: vec![] };
        let sample = Sample { resource_use, scale: 1.0, sectors: vec![sectors] };
        Prediction { rung: &RUNG, launch, estimate: Estimate { us, alone: Vec::new(), resident: 1 }, sample }
    }

    #[test]
    fn a_rung_stands_under_the_roof_that_it_is_nearest_to() {
        let device = Description::open("h100").expect("it is known");
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9 * b.abs();
        // 3352 bytes in a nanosecond are all that the memory gives: 104.75 sectors.
        let one = |flops, own: Prediction| roofline(&device, flops, &[own], None).points.remove(0);
        let full = one(None, prediction(104_750, 10.0, 1.0));
        assert!(full.bound == "DRAM" && near(full.of_bound, 1.0), "{full:?}");
        assert!(near(full.memory[0].intensity.expect("bytes are moved"), 10.0 / 3_352_000.0));
        assert_eq!(full.memory[2].intensity, None);
        assert_eq!(full.nearest().map(|level| level.name), Some("DRAM"));

        let peak = device.clock_mhz * f64::from(device.multiprocessors) * device.multiprocessor.fp32 * 2.0;
        let busy = one(Some(peak as u64), prediction(1, 10.0, 2.0));
        assert!(busy.bound == "FP32" && near(busy.of_bound, 0.5), "{busy:?}");
    }

    #[test]
    fn measured_times_take_the_place_of_predicted_ones() {
        let device = Description::open("h100").expect("it is known");
        let own = [prediction(1, 100.0, 1.0)];
        let times = Times::from([("some".to_owned(), 4.0)]);
        let found = roofline(&device, None, &own, Some(&times));
        assert_eq!((found.points[0].time_ns, found.points[0].per_second), (4000.0, 25e6));
        assert!(roofline(&device, None, &own, Some(&Times::new())).points.is_empty());
    }
}
