//! Compares the calculated occupancy with the driver's.

use serde::Serialize;
use toolkit::Usage;

use super::{Limits, block_of, of};
use crate::Error;
use engine::device::{Device, Resident};
use engine::launch::{Code, Launch};
use engine::options::Options;
use engine::registry::{Entries, Ladder, Rung};

/// The occupancy of one entry with one block size, as the driver reports it and as this crate calculates it.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The rung.
    pub rung: &'static str,
    /// The entry of the rung.
    pub entry: String,
    /// Threads per block in x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory of the launch.
    pub dynamic_shared: u32,
    /// The calculated number of blocks per SM.
    pub calculated: u32,
    /// The driver's figures.
    pub driver: Resident,
}

impl Comparison {
    /// Returns whether the calculated number of blocks equals the driver's.
    pub fn agrees(&self) -> bool {
        self.calculated == self.driver.blocks
    }
}

/// The comparisons of a ladder's entries.
#[derive(Clone, Debug, Default)]
pub struct LadderComparison {
    /// The comparison of each entry with each of its blocks.
    pub comparisons: Vec<Comparison>,
    /// The reasons why entries were left out.
    pub left_out: Vec<String>,
}

/// Compares all entries of these rungs, with each block that they support.
///
/// # Errors
/// Returns [`Error::Request`] when the device has no driver, and when its architecture is not in the tables. Returns
/// [`Error::Engine`] when the driver fails.
pub fn check(
    device: &mut dyn Device,
    ladder: &'static Ladder,
    rungs: &[&'static Rung],
) -> Result<LadderComparison, Error> {
    let info = device.info();
    let no_driver = format!(
        "the comparison needs a GPU's driver, and a {} has none; `ladder why --occupancy` does not need it",
        info.kind
    );
    let Some(capability) = info.compute_capability else {
        return Err(Error::Request(no_driver));
    };
    let limits = Limits::of(capability)?;
    let mut found = LadderComparison::default();
    for rung in rungs {
        for launch in launches(ladder, rung)? {
            if let Some(lacks) = device.check_supported(&launch) {
                found.left_out.push(lacks.to_string());
                continue;
            }
            let Some(driver) = device.resident(&launch)? else {
                return Err(Error::Request(no_driver));
            };
            // The driver does not report a kernel's barriers. One barrier per block is never the tightest limit,
            // because the limit on blocks is reached first.
            let usage = Usage { registers: driver.registers, shared_bytes: driver.static_shared, ..Usage::default() };
            found.comparisons.push(Comparison {
                rung: rung.name,
                calculated: of(limits, usage, block_of(&launch)).blocks,
                entry: launch.entry,
                block: launch.block,
                dynamic_shared: launch.shared_bytes,
                driver,
            });
        }
    }
    Ok(found)
}

/// Returns launches of a rung's entries, one for each block that an entry supports. These launches cannot be run: they
/// have no arguments and a single block.
///
/// # Errors
/// Returns [`Error::Engine`] when the ladder's default problem cannot be made.
pub fn launches(ladder: &'static Ladder, rung: &'static Rung) -> Result<Vec<Launch>, Error> {
    let shape = ladder.problem(&Options::default())?.facts().shape;
    let fixed = rung.only_block(&shape).map(|block| vec![block]);
    let variants: Vec<&str> = match rung.entries {
        Entries::PerVariant(variants) => variants.iter().map(|(name, _)| *name).collect(),
        Entries::Any | Entries::PerBlock(_) => vec![""],
    };
    let mut launches = Vec::new();
    for variant in variants {
        let blocks = match rung.entries.of(variant) {
            Some(Entries::PerBlock(blocks)) => blocks.to_vec(),
            _ => fixed.clone().unwrap_or_else(|| ladder.blocks.to_vec()),
        };
        for block in blocks {
            launches.push(Launch {
                code: Code::Kernels,
                entry: rung.entry(variant, block).map_err(engine::Error::from)?,
                grid: [1; 3],
                block,
                shared_bytes: (rung.dynamic_shared)(block, variant),
                args: Vec::new(),
            });
        }
    }
    Ok(launches)
}
