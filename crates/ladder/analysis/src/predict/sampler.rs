//! Samples the resources that a launch uses by running some of its blocks on the simulator.

use devices::Description;
use profile::sample::{self, Sample};
use simt::observe::Observer as _;

use crate::Error;
use crate::occupancy::{EntryOccupancy, geometry};
use engine::device::Sim;
use engine::launch::{Arg, Launch};
use engine::problem::Problem;
use engine::registry::Rung;
use engine::run::Session;

/// The maximum number of warp instructions in a sample for a prediction, unless one block needs more. The simulator
/// takes seconds for this number.
pub const INSTRUCTIONS: u64 = 20_000_000;
/// The maximum number of warp instructions in a sample that accompanies a run, because the prediction must not slow
/// down the run.
pub const FEW_INSTRUCTIONS: u64 = 500_000;
/// The number of products of a matrix multiplication that take the simulator as long as one warp instruction.
const PRODUCTS: u64 = 2;
/// A problem on the simulator, whose launches are sampled.
pub struct Sampler<'a> {
    session: Session<'a, Sim>,
    device: &'a Description,
    /// The address ranges of the problem's buffers.
    ranges: Vec<(u64, u64)>,
    most_instructions: u64,
}

impl<'a> Sampler<'a> {
    /// Uploads a problem's buffers to the simulator. Operations have the latencies of `device`. A sample has up to
    /// `most_instructions` warp instructions, unless one block needs more.
    ///
    /// # Errors
    /// Returns [`Error::Engine`] when the buffers do not fit into memory.
    pub fn new(
        sim: &'a mut Sim,
        problem: &'a dyn Problem,
        device: &'a Description,
        most_instructions: u64,
    ) -> Result<Self, Error> {
        let session = Session::new(sim, problem, false)?;
        let ranges = session.ranges()?;
        Ok(Self { device, ranges, session, most_instructions })
    }

    /// Runs a sample of a launch's blocks, spread evenly over the grid. `entry` determines the number of blocks per
    /// multiprocessor.
    ///
    /// # Errors
    /// Returns [`Error::Engine`] when the simulator refuses the launch or its kernel fails.
    pub fn launch(&mut self, rung: &Rung, launch: &Launch, entry: &EntryOccupancy) -> Result<Sample, Error> {
        let (device, ranges) = (self.device, &self.ranges);
        let filled = (geometry(launch), entry.occupancy.blocks.max(1));
        let session = &mut self.session;
        let mut observe = |chosen: Option<&[u64]>| {
            session.launch_with(rung, launch, |simulator, prepared| {
                let path = sample::path(prepared.function, device, ranges, filled, entry.static_shared_bytes);
                path.launch(simulator, &prepared.with_blocks(chosen))
            })
        };
        let all = launch.blocks();
        // Blocks that wait for each other cannot be sampled, so all blocks run.
        let is_of_several = |arg: &Arg| matches!(arg, Arg::Table { count: 2.., .. });
        if rung.blocks_wait || launch.args.iter().any(is_of_several) {
            return Ok(Sample::new(observe(None)?, ranges, all));
        }
        let chosen = sample::blocks(all);
        let mut path = observe(Some(&chosen[..1]))?;
        let one = (path.instructions() + path.products() / PRODUCTS).max(1);
        let more = (self.most_instructions / one).clamp(1, chosen.len() as u64) as usize;
        if let Some(others @ [_, ..]) = chosen.get(1..more) {
            path.merge(observe(Some(others))?);
        }
        Ok(Sample::new(path, ranges, all))
    }
}
