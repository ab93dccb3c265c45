//! Rooflines: the performance of launches compared with the limits of a device's memories and multiprocessors.
//!
//! Consider a launch that does `work` on each byte of a memory. Its rate is at most `work` × the memory's bandwidth,
//! and at most the peak rate of the multiprocessors. In a log-log chart, the memory's limit is a slope, and the
//! multiprocessors' limit is a horizontal line (Williams, Waterman and Patterson, "Roofline: An Insightful Visual
//! Performance Model for Multicore Architectures", 2009). Each memory has a separate roof (Yang and others,
//! "Hierarchical Roofline Performance Analysis for Deep Learning Applications", 2020). The work of a launch is its
//! number of floating-point operations, if this number is known. Otherwise it is the number of warp instructions (Ding
//! and Williams, "An Instruction Roofline Model for GPUs", 2019).
//!
//! Roofs come from a device's [`Description`], bytes and instructions from the [`Sample`] of a launch, and times are
//! predicted or measured.

use serde::Serialize;

use devices::Description;

use crate::model::Estimate;
use crate::sample::Sample;

/// Instructions that a multiprocessor issues per clock, one for each of its schedulers.
const SCHEDULERS: f64 = 4.0;
/// Bytes per word of shared memory.
const WORD: f64 = 4.0;

/// The roofline of several launches on a device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Roofline {
    /// The unit of the work: `FLOP` or `warp instruction`.
    pub unit: &'static str,
    /// The limits of the multiprocessors in work per second. The last limit is the highest.
    pub compute: Vec<Roof>,
    /// The limits of the memories in bytes per second.
    pub memory: Vec<Roof>,
    /// The launches, in order.
    pub points: Vec<Point>,
}

/// A limit of a device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Roof {
    /// The name of the limited resource.
    pub name: &'static str,
    /// The limit, in units per second.
    pub per_second: f64,
}

/// A launch in a roofline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The name of the rung or the kernel.
    #[serde(rename = "rung")]
    pub name: String,
    /// The time in nanoseconds.
    pub time_ns: f64,
    /// The work of the launch.
    pub work: f64,
    /// The work per second.
    pub per_second: f64,
    /// The use of each memory relative to its roof, in the order of [`Roofline::memory`].
    pub memory: Vec<Level>,
    /// The nearest roof.
    pub bound: &'static str,
    /// The share of the nearest roof that the launch reaches, from 0 to 1.
    pub of_bound: f64,
}

/// A launch's traffic to a memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Level {
    /// The memory.
    pub name: &'static str,
    /// Bytes that a launch moves.
    pub bytes: f64,
    /// The work per byte: the arithmetic intensity. `None` if no bytes are moved.
    pub intensity: Option<f64>,
    /// The share of the memory's bandwidth that is used.
    pub of_roof: f64,
}

impl Point {
    /// Returns the level at which a chart draws the launch: the level of the nearest roof among the memories that the
    /// launch uses.
    pub fn nearest(&self) -> Option<&Level> {
        let used_levels = self.memory.iter().filter(|level| level.intensity.is_some());
        used_levels.max_by(|a, b| a.of_roof.total_cmp(&b.of_roof))
    }
}

/// A launch to draw in a roofline.
#[derive(Clone, Debug)]
pub struct Measured<'a> {
    /// The name of the launch.
    pub name: &'a str,
    /// The measured or predicted time in microseconds.
    pub us: f64,
    /// The resources that the launch uses.
    pub sample: &'a Sample,
}

impl<'a> Measured<'a> {
    /// Creates a launch with its predicted time.
    pub fn predicted(name: &'a str, estimate: &Estimate, sample: &'a Sample) -> Self {
        Self { name, us: estimate.us, sample }
    }
}

/// Computes the roofline of launches. `flops` is the number of floating-point operations of each launch, if the work is
/// measured in such operations.
pub fn roofline(device: &Description, flops: Option<u64>, launches: &[Measured<'_>]) -> Roofline {
    let one = &device.multiprocessor;
    // There are `clock_mhz` cycles per microsecond, and 10^6 microseconds per second.
    let cycles = device.clock_mhz * 1e6 * f64::from(device.multiprocessors);
    let mut compute = match flops {
        // A multiplication with an addition counts as two operations.
        Some(_) => vec![Roof { name: "FP32", per_second: cycles * one.fp32 * 2.0 }],
        None => vec![Roof { name: "issue slots", per_second: cycles * SCHEDULERS }],
    };
    let has_products = launches.iter().any(|launch| launch.sample.resource_use.products > 0.0);
    if flops.is_some() && has_products && one.matrix > 0.0 {
        compute.push(Roof { name: "tensor cores", per_second: cycles * one.matrix * 2.0 });
    }
    let memory = vec![
        Roof { name: "DRAM", per_second: device.memory.gb_per_s * 1e9 },
        Roof { name: "L2", per_second: device.l2.gb_per_s * 1e9 },
        Roof { name: "shared/L1", per_second: cycles * one.words * WORD },
    ];
    let point = |launch: &Measured<'_>| {
        let (sample, seconds) = (launch.sample, launch.us * 1e-6);
        let work = flops.map_or(sample.instructions(), |flops| flops as f64);
        let bytes = [sample.memory_bytes(), sample.l2_bytes(), sample.shared_bytes()];
        let levels = memory.iter().zip(bytes).map(|(roof, bytes)| Level {
            name: roof.name,
            bytes,
            intensity: (bytes > 0.0).then(|| work / bytes),
            of_roof: bytes / seconds / roof.per_second,
        });
        let memory: Vec<Level> = levels.collect();
        // Either the tensor cores do all floating-point work of this launch, or they do none.
        let by_products = sample.resource_use.products > 0.0;
        let roof = compute.iter().rfind(|roof| by_products || roof.name != "tensor cores")?;
        let compute_share = (roof.name, work / seconds / roof.per_second);
        let shares = memory.iter().map(|level| (level.name, level.of_roof)).chain([compute_share]);
        let (bound, of_bound) = shares.max_by(|a, b| a.1.total_cmp(&b.1))?;
        let (name, time_ns, per_second) = (launch.name.to_owned(), launch.us * 1e3, work / seconds);
        Some(Point { name, time_ns, work, per_second, memory, bound, of_bound })
    };
    let points = launches.iter().filter_map(point).collect();
    let unit = if flops.is_some() { "FLOP" } else { "warp instruction" };
    Roofline { unit, compute, memory, points }
}

#[cfg(test)]
mod tests {
    use super::*;
    use simt_timing::ResourceUse;

    /// Returns the sample of a launch that reads `sectors` sectors and issues `instructions` instructions.
    fn sample(sectors: u64, instructions: f64) -> Sample {
        let mut resource_use = ResourceUse::default();
        (resource_use.read, resource_use.l2_reads) = (vec![sectors], sectors);
        resource_use.issued[0] = instructions;
        Sample { resource_use, scale: 1.0, sectors: vec![sectors] }
    }

    #[test]
    fn the_nearest_roof_bounds_a_launch() {
        let device = Description::open("h100").expect("a known device");
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9 * b.abs();
        let one = |flops, sample: &Sample, us| {
            roofline(&device, flops, &[Measured { name: "some", us, sample }]).points.remove(0)
        };
        // The memory delivers at most 3352 bytes per nanosecond, which is 104.75 sectors.
        let full = one(None, &sample(104_750, 10.0), 1.0);
        assert!(full.bound == "DRAM" && near(full.of_bound, 1.0), "{full:?}");
        assert!(near(full.memory[0].intensity.expect("bytes are moved"), 10.0 / 3_352_000.0));
        assert_eq!(full.memory[2].intensity, None);
        assert_eq!(full.nearest().map(|level| level.name), Some("DRAM"));

        let peak = device.clock_mhz * f64::from(device.multiprocessors) * device.multiprocessor.fp32 * 2.0;
        let busy = one(Some(peak as u64), &sample(1, 10.0), 2.0);
        assert!(busy.bound == "FP32" && near(busy.of_bound, 0.5), "{busy:?}");
        let slow = one(None, &sample(1, 100.0), 4.0);
        assert_eq!((slow.time_ns, slow.per_second), (4000.0, 25e6));
    }
}
