//! A rung's occupancy, and how it changes with the block, the shared memory and the registers.

mod json;
mod text;

pub(super) use json::json;
pub(super) use text::{details, summary};

use toolkit::Usage;

use crate::error::Error;
use analysis::occupancy::Limits;
use analysis::occupancy::OccupancyError;
use analysis::occupancy::{Block, Occupancy, Resources, of};
use engine::Kernels;
use engine::device::Resident;
use engine::launch::Launch;
use engine::problem::Problem;
use engine::registry::{Ladder, Rung};

/// An entry with a block, on an architecture.
#[derive(Clone, Debug)]
pub(super) struct Held {
    /// What is launched.
    pub launch: Launch,
    /// What its entry takes.
    pub usage: Usage,
    /// How many of its blocks a multiprocessor holds.
    pub occupancy: Occupancy,
}

/// An amount of a resource, and what becomes of the occupancy with as much of it.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// The least amount with which it is so.
    pub from: u32,
    /// The most.
    pub up_to: u32,
    /// What is so with the least.
    pub occupancy: Occupancy,
}

/// A rung's occupancy on an architecture.
#[derive(Clone, Debug)]
pub(super) struct Report {
    /// The rung's ladder.
    pub ladder: &'static Ladder,
    /// The rung.
    pub rung: &'static Rung,
    /// The architecture, as it was asked for.
    pub arch: String,
    /// What it has.
    pub limits: &'static Limits,
    /// With the block that was asked for, or the rung's own.
    pub own: Held,
    /// With each block that the rung can be launched with.
    pub blocks: Vec<Held>,
    /// With other amounts of shared memory a block, in bytes, static and dynamic together.
    pub shared: Vec<Step>,
    /// With other numbers of registers a thread.
    pub registers: Vec<Step>,
    /// What the driver of a GPU of this architecture says of it.
    pub driver: Option<Resident>,
}

impl Report {
    /// A rung's occupancy on an architecture, `sm_90`, with `block` or the one that the rung has for the problem.
    ///
    /// # Errors
    /// As [`Ladder::launch`] for the block, and [`Error::Occupancy`] as [`usage`](super::usage) has it.
    pub(super) fn new(
        kernels: &'static Kernels,
        ladder: &'static Ladder,
        rung: &'static Rung,
        problem: &dyn Problem,
        block: Option<[u32; 3]>,
        arch: &str,
    ) -> Result<Self, Error> {
        let limits = Limits::named(arch)?;
        let own = Held::new(kernels, ladder.launch(rung, problem, block)?, arch)?;
        let mut blocks = Vec::new();
        for block in ladder.blocks_of(rung, problem) {
            match ladder.launch(rung, problem, Some(block)) {
                Ok(launch) => blocks.push(Held::new(kernels, launch, arch)?),
                // It cannot be launched with this block anywhere.
                Err(engine::Error::TooMuchShared { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let (resources, block) = (Resources::from(own.usage), Block::from(&own.launch));
        let with_shared = |bytes| {
            let resources = Resources {
                static_shared: 0,
                ..resources
            };
            let block = Block {
                dynamic_shared: bytes,
                ..block
            };
            of(limits, resources, block)
        };
        let with_registers = |registers| {
            let resources = Resources {
                registers,
                ..resources
            };
            of(limits, resources, block)
        };
        Ok(Self {
            ladder,
            rung,
            arch: arch.to_owned(),
            limits,
            shared: steps(0, limits.shared_opt_in, limits.shared_unit, with_shared),
            registers: steps(1, limits.registers_per_thread, 1, with_registers),
            own,
            blocks,
            driver: None,
        })
    }
}

impl Held {
    /// A launch's occupancy on an architecture, `sm_90`.
    ///
    /// # Errors
    /// As [`usage`](super::usage).
    pub(super) fn new(
        kernels: &'static Kernels,
        launch: Launch,
        arch: &str,
    ) -> Result<Self, OccupancyError> {
        let usage = analysis::occupancy::usage(kernels, &launch, arch)?;
        Ok(Self {
            occupancy: of(Limits::named(arch)?, usage, &launch),
            launch,
            usage,
        })
    }

    /// Bytes of shared memory that a block asks for, static and dynamic.
    pub(super) fn shared_bytes(&self) -> u32 {
        self.usage.shared_bytes + self.launch.shared_bytes
    }
}

/// The occupancies with `least` to `most` of something that is given in units, neighbours with as many blocks
/// together.
fn steps(least: u32, most: u32, unit: u32, with: impl Fn(u32) -> Occupancy) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for amount in (least..=most).step_by(unit as usize) {
        let occupancy = with(amount);
        match steps.last_mut() {
            Some(step) if step.occupancy.blocks == occupancy.blocks => step.up_to = amount,
            last => {
                // What is between two multiples is rounded up to the second.
                let from = last.map_or(least, |last| last.up_to + 1);
                steps.push(Step {
                    from,
                    up_to: amount,
                    occupancy,
                });
            }
        }
    }
    steps
}
