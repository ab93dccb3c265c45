//! Rooflines: what launches do in a second, against what a device's memories and multiprocessors allow.
//!
//! A launch that does `work` on each byte of a memory does at most `work` × the memory's bandwidth in a second, and at most
//! what the multiprocessors can do: in a chart with logarithms on both sides the former is a slope and the latter a level
//! line (Williams, Waterman and Patterson, "Roofline: An Insightful Visual Performance Model for Multicore
//! Architectures", 2009). Each memory has a roof of its own (Yang and others, "Hierarchical Roofline Performance Analysis
//! for Deep Learning Applications", 2020). The work of a launch that is measured in floating-point operations are those; of
//! any other one it is warps' instructions (Ding and Williams, "An Instruction Roofline Model for GPUs", 2019).
//!
//! Roofs come from a device's [`Description`], bytes and instructions from the [`Sample`] of a launch, and times are
//! predicted or measured.

use serde::Serialize;

use devices::Description;

use crate::model::Estimate;
use crate::sample::Sample;

/// Instructions that a multiprocessor issues in a clock, one for each of its schedulers.
const SCHEDULERS: f64 = 4.0;
/// Bytes of a word of shared memory.
const WORD: f64 = 4.0;

/// The roofline of some launches on a device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Roofline {
    /// The unit of the work: `FLOP` or `warp instruction`.
    pub unit: &'static str,
    /// What the multiprocessors can do: work a second. The last one is the highest.
    pub compute: Vec<Roof>,
    /// What the memories can move: bytes a second.
    pub memory: Vec<Roof>,
    /// The launches, in their order.
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

/// A launch under the roofs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Its name: the rung's or the kernel's.
    #[serde(rename = "rung")]
    pub name: String,
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

/// A launch's traffic to a memory.
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
    /// The level that the launch stands on in a chart: the nearest memory roof's, of those that it uses.
    pub fn nearest(&self) -> Option<&Level> {
        let used = self.memory.iter().filter(|level| level.intensity.is_some());
        used.max_by(|a, b| a.of_roof.total_cmp(&b.of_roof))
    }
}

/// A launch that stands in a roofline.
#[derive(Clone, Debug)]
pub struct Measured<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its time, measured or predicted, in microseconds.
    pub us: f64,
    /// What it uses.
    pub sample: &'a Sample,
}

impl<'a> Measured<'a> {
    /// A launch with its predicted time.
    pub fn predicted(name: &'a str, estimate: &Estimate, sample: &'a Sample) -> Self {
        Self { name, us: estimate.us, sample }
    }
}

/// The roofline of launches, each of which does so many floating-point operations if it is measured by them.
pub fn roofline(device: &Description, flops: Option<u64>, launches: &[Measured<'_>]) -> Roofline {
    let one = &device.multiprocessor;
    // A second has 10^6 microseconds, of which each has so many cycles.
    let cycles = device.clock_mhz * 1e6 * f64::from(device.multiprocessors);
    let mut compute = match flops {
        // A product that is added is two operations.
        Some(_) => vec![Roof { name: "FP32", per_second: cycles * one.fp32 * 2.0 }],
        None => vec![Roof { name: "issue slots", per_second: cycles * SCHEDULERS }],
    };
    let has_products = launches.iter().any(|own| own.sample.resource_use.products > 0.0);
    if flops.is_some() && has_products && one.matrix > 0.0 {
        compute.push(Roof { name: "tensor cores", per_second: cycles * one.matrix * 2.0 });
    }
    let memory = vec![
        Roof { name: "DRAM", per_second: device.memory.gb_per_s * 1e9 },
        Roof { name: "L2", per_second: device.l2.gb_per_s * 1e9 },
        Roof { name: "shared/L1", per_second: cycles * one.words * WORD },
    ];
    let point = |own: &Measured<'_>| {
        let (sample, seconds) = (own.sample, own.us * 1e-6);
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
        let (name, time_ns, per_second) = (own.name.to_owned(), own.us * 1e3, work / seconds);
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

    /// A launch that reads so many sectors and issues so many instructions.
    fn sample(sectors: u64, instructions: f64) -> Sample {
        let mut resource_use = ResourceUse::default();
        (resource_use.read, resource_use.l2_reads) = (vec![sectors], sectors);
        resource_use.issued[0] = instructions;
        Sample { resource_use, scale: 1.0, sectors: vec![sectors] }
    }

    #[test]
    fn a_launch_stands_under_the_roof_that_it_is_nearest_to() {
        let device = Description::open("h100").expect("it is known");
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9 * b.abs();
        let one = |flops, sample: &Sample, us| {
            roofline(&device, flops, &[Measured { name: "some", us, sample }]).points.remove(0)
        };
        // 3352 bytes in a nanosecond are all that the memory gives: 104.75 sectors.
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
