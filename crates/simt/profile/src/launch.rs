//! Recording and explanation of a launch.

use devices::occupancy::{Occupancy, Usage};
use simt::memory::global::GlobalMemory;
use simt::observe::BlockFilter;
use simt::{Arg, Function, Launch, Simulator};

use crate::counters::{Numbers, counted};
use crate::figures::{Observers, Recording, Residence, finish, observers};
use crate::metrics::Metric;
use crate::model::{Constants, Estimate, estimate};
use crate::sample::{self, Sample};
use crate::verdict::{BoundVerdict, Utilization, verdict};
use crate::watch::Watch;
use crate::{Error, Geometry, metrics};

/// A completed launch and its explanation.
#[derive(Debug)]
pub struct LaunchProfile {
    /// The kernel's demangled name.
    pub kernel: String,
    /// The grid and block of the launch.
    pub geometry: Geometry,
    /// The counters, by Nsight Compute's names.
    pub numbers: Numbers,
    /// The number of blocks that a multiprocessor holds at once, and the limits on this number.
    pub occupancy: Occupancy,
    /// The time that the model predicts.
    pub estimate: Estimate,
    /// The input of the prediction.
    pub sample: Sample,
    /// The resource that bounds the launch.
    pub verdict: Option<BoundVerdict>,
    /// The actions of a warp, its block and each instruction.
    pub recording: Recording,
}

impl LaunchProfile {
    /// Returns the number of a [metric](metrics::METRICS) or a counter.
    pub fn metric(&self, name: &str) -> Option<f64> {
        match metrics::METRICS.iter().find(|metric| metric.name == name) {
            Some(metric) => self.number(metric),
            None => self.numbers.get(name).copied(),
        }
    }

    /// Returns the number of a metric.
    pub fn number(&self, metric: &Metric) -> Option<f64> {
        metric.sim.of(&metric.name, &self.numbers)
    }
}

/// Runs a launch once and explains it.
///
/// # Errors
/// Returns [`Error::Launch`] when the simulator rejects the launch or its kernel fails, and the errors of
/// [`Recorder::new`] before anything runs.
pub fn record(simulator: &mut Simulator, launch: &Launch<'_>, watch: Watch) -> Result<LaunchProfile, Error> {
    let recorder = Recorder::new(simulator, launch, watch)?;
    let observers = simulator.launch_observed(launch, recorder.observers())?;
    Ok(recorder.finish(observers))
}

/// The steps of [`record`] before and after the launch, for callers that run the launch themselves, for example with
/// sanitizers.
pub struct Recorder {
    function: Function,
    geometry: Geometry,
    watch: Watch,
    usage: Usage,
    occupancy: Occupancy,
    residence: Residence,
    buffers: Vec<(u64, u64)>,
}

impl Recorder {
    /// Prepares to watch a launch.
    ///
    /// # Errors
    /// Returns [`Error::Request`] when the launch does not have the watched block or warp, and [`Error::Device`] when
    /// the tables do not contain the device's architecture.
    pub fn new(simulator: &Simulator, launch: &Launch<'_>, watch: Watch) -> Result<Self, Error> {
        let geometry = Geometry::from(launch);
        for (what, number, count) in [("block", watch.block, geometry.blocks()), ("warp", watch.warp, geometry.warps())]
        {
            if number >= count {
                return Err(Error::Request(format!("there is no {what} {number}; there are {count}, numbered from 0")));
            }
        }
        let device = &watch.device;
        let function = launch.function.clone();
        let declared = Usage { shared_bytes: function.program().shared_bytes, ..Usage::default() };
        let usage = watch.usage.unwrap_or(declared);
        let occupancy = geometry.occupancy(device, usage)?;
        let residence = Residence {
            device: device.name.clone(),
            multiprocessors: device.multiprocessors,
            blocks: geometry.blocks(),
            resident: occupancy.blocks,
            warps: geometry.warps() as u32,
            most_warps: devices::Limits::named(&device.arch)?.warps,
            has_registers: watch.usage.is_some(),
        };
        let buffers = watch.buffers.clone().unwrap_or_else(|| pointed_to(simulator.memory(), launch.args));
        Ok(Self { function, geometry, watch, usage, occupancy, residence, buffers })
    }

    /// Returns the observers with which the launch must run.
    pub fn observers(&self) -> Observers {
        let Self { function, geometry, watch, usage, buffers, .. } = self;
        let mut chosen = sample::blocks(geometry.blocks());
        if !chosen.contains(&watch.block) {
            chosen.push(watch.block);
        }
        let path = sample::path(function, &watch.device, buffers, (*geometry, self.resident()), usage.shared_bytes)
            .with_spans_of(watch.block);
        observers(function, watch, buffers, BlockFilter::new(chosen, path))
    }

    /// Returns the number of blocks that a multiprocessor holds at once, at least 1.
    fn resident(&self) -> u32 {
        self.occupancy.blocks.max(1)
    }

    /// Explains the launch from the data of its observers.
    pub fn finish(self, seen: Observers) -> LaunchProfile {
        let (blocks, resident) = (self.geometry.blocks(), self.resident());
        let Self { function, geometry, watch, occupancy, residence, buffers, .. } = self;
        let (recording, path) = finish(seen, watch, buffers, residence);
        let sample = Sample::new(path, &recording.buffers, blocks);
        let estimate = estimate(&recording.watch.device, &Constants::CALIBRATED, &sample, blocks, resident);
        let numbers = counted(&recording.counters.all().metrics());
        let data = sample.memory_bytes() as u64;
        let utilization = Utilization::from_model(&recording.watch.device, &estimate, &numbers, geometry, data);
        LaunchProfile {
            kernel: simt::demangled(function.name()),
            geometry,
            verdict: verdict(&utilization),
            numbers,
            occupancy,
            estimate,
            sample,
            recording,
        }
    }
}

/// Returns the allocations to which words of the arguments point, each once, in the order of the arguments.
fn pointed_to(memory: &GlobalMemory, args: &[Arg]) -> Vec<(u64, u64)> {
    let mut buffers: Vec<(u64, u64)> = Vec::new();
    for word in args.iter().flat_map(Arg::words) {
        if let Some(allocation) = memory.find(word) {
            let buffer = (allocation.base, allocation.bytes);
            if !buffers.contains(&buffer) {
                buffers.push(buffer);
            }
        }
    }
    buffers
}
