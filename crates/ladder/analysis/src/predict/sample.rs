//! The resources that a launch uses, sampled by running some of its blocks on the SIMT machine.

use devices::Description;
use simt::critical_path::{CriticalPath, Latencies, Rates, ResourceUse};
use simt::observe::Observer as _;

use crate::Error;
use engine::device::Sim;
use engine::launch::{Arg, Launch};
use engine::problem::Problem;
use engine::registry::Rung;
use engine::run::Session;

/// The number of blocks that are run of a larger launch. The blocks of a launch are alike, except those at the edges
/// of a problem.
const BLOCKS: u64 = 24;
/// The most warp instructions of a sample for a prediction, unless a single block takes more. They take seconds.
pub const INSTRUCTIONS: u64 = 20_000_000;
/// The most warp instructions of a sample next to a run, which a prediction must not slow down.
pub const FEW_INSTRUCTIONS: u64 = 500_000;
/// Products of matrices that take the SIMT machine as long as an instruction of a warp.
const PRODUCTS: u64 = 2;
/// Bytes of a sector.
pub(super) const SECTOR: f64 = 32.0;
/// Bytes of a pass through the banks of shared memory, or of a line that the L1 looks up.
const PASS: f64 = 128.0;

/// A problem on the SIMT machine, whose launches are sampled.
pub struct Sampler<'a> {
    session: Session<'a, Sim>,
    latencies: Latencies,
    rates: Rates,
    /// The places of its buffers in memory.
    ranges: Vec<(u64, u64)>,
    most_instructions: u64,
}

/// The resources that a launch uses, estimated from a sample of its blocks.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The resources that the sampled blocks used.
    pub resource_use: ResourceUse,
    /// The number of blocks of the launch per sampled block.
    pub scale: f64,
    /// The number of sectors of each of the problem's buffers.
    pub sectors: Vec<u64>,
}

impl Sample {
    /// What some of a launch's `blocks` used, with buffers at these places.
    fn new(path: CriticalPath, ranges: &[(u64, u64)], blocks: u64) -> Self {
        let resource_use = path.resource_use();
        Self {
            scale: blocks as f64 / resource_use.blocks.max(1) as f64,
            resource_use,
            sectors: ranges.iter().map(|(_, bytes)| bytes.div_ceil(32)).collect(),
        }
    }

    /// A sampled number, for the whole launch.
    pub(super) fn all(&self, count: u64) -> f64 {
        count as f64 * self.scale
    }

    /// Sectors of all buffers that the blocks touch, each buffer's at most once.
    pub(super) fn touched(&self, sampled: &[u64]) -> f64 {
        let each = sampled.iter().zip(&self.sectors);
        each.map(|(touched, there)| self.all(*touched).min(*there as f64)).sum()
    }

    /// Bytes that go between the memory and the L2, if the L2 keeps what it got.
    pub fn memory_bytes(&self) -> f64 {
        let used = &self.resource_use;
        (self.touched(&used.read) + self.touched(&used.written)) * SECTOR
    }

    /// Bytes that go between the L2 and the multiprocessors.
    pub fn l2_bytes(&self) -> f64 {
        self.all(self.resource_use.l2_reads + self.resource_use.l2_writes) * SECTOR
    }

    /// Bytes that shared memory and the L1 could move in the passes that they make.
    pub fn shared_bytes(&self) -> f64 {
        self.all(self.resource_use.wavefronts + self.resource_use.tags) * PASS
            + self.resource_use.engine_bytes * self.scale
    }

    /// Instructions of warps.
    pub fn instructions(&self) -> f64 {
        self.resource_use.issued.iter().sum::<f64>() * self.scale
    }
}

impl<'a> Sampler<'a> {
    /// Puts a problem's buffers on a machine whose operations take as long as on this device. A sample has up to
    /// `most_instructions` warp instructions, unless a single block takes more.
    ///
    /// # Errors
    /// [`Error::Engine`] when the buffers do not fit into memory.
    pub fn new(
        sim: &'a mut Sim,
        problem: &'a dyn Problem,
        device: &Description,
        most_instructions: u64,
    ) -> Result<Self, Error> {
        let session = Session::new(sim, problem, false)?;
        let (latencies, rates, ranges) = (device.latency, device.multiprocessor.rates(), session.ranges()?);
        Ok(Self { latencies, rates, ranges, session, most_instructions })
    }

    /// Runs a sample of a launch's blocks, spread evenly over the grid. A block has `l1_bytes` of the L1; it may be alone on
    /// its multiprocessor, and all blocks may run at once.
    ///
    /// # Errors
    /// [`Error::Engine`] when the machine refuses the launch or its kernel fails.
    pub fn launch(
        &mut self,
        rung: &Rung,
        launch: &Launch,
        l1_bytes: u64,
        (is_alone, at_once): (bool, bool),
    ) -> Result<Sample, Error> {
        // What several blocks have in common is no block's own time.
        let unlimited = Rates { loads: f64::INFINITY, stores: f64::INFINITY, ..self.rates };
        let rates = if is_alone { self.rates } else { unlimited };

        let ranges = &self.ranges;
        let session = &mut self.session;
        let mut observe = |chosen: Option<&[u64]>| {
            session.launch_with(rung, launch, |machine, prepared| {
                let path = CriticalPath::new(prepared.function, self.latencies, l1_bytes, ranges)
                    .with_rates(rates)
                    .with_blocks_at_once(at_once);
                machine.launch_followed(&prepared.with_blocks(chosen), path)
            })
        };
        let all = launch.blocks();
        // Of blocks that wait for one another there is no sample.
        let is_of_several = |arg: &Arg| matches!(arg, Arg::Table { count: 2.., .. });
        if rung.blocks_wait || launch.args.iter().any(is_of_several) {
            return Ok(Sample::new(observe(None)?, ranges, all));
        }
        let most = all.min(BLOCKS);
        // Spread evenly, the one in the middle first.
        let mut chosen: Vec<u64> = (0..most).map(|part| (part * all + all / 2) / most).collect();
        chosen.swap(0, (most / 2) as usize);
        let mut path = observe(Some(&chosen[..1]))?;
        let one = (path.instructions() + path.products() / PRODUCTS).max(1);
        let more = (self.most_instructions / one).clamp(1, most) as usize;
        if let Some(others @ [_, ..]) = chosen.get(1..more) {
            path.merge(observe(Some(others))?);
        }
        Ok(Sample::new(path, ranges, all))
    }
}
