//! The geometry of a launch, and how it fills a device.

use std::fmt;

use devices::occupancy::{self, Block, Occupancy, Usage};
use devices::{Description, Limits};
use serde::Serialize;

/// The grid and the block of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Geometry {
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory of a block.
    pub shared_bytes: u32,
}

impl Geometry {
    /// The number of blocks.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|side| u64::from(*side)).product()
    }

    /// The number of threads of a block.
    pub fn threads(&self) -> u64 {
        self.block.iter().map(|side| u64::from(*side)).product()
    }

    /// The number of warps of a block.
    pub fn warps(&self) -> u64 {
        self.threads().div_ceil(32)
    }

    /// What it adds to a multiprocessor's load for each of its blocks.
    pub fn block_load(&self) -> Block {
        let threads = u32::try_from(self.threads()).unwrap_or(u32::MAX);
        Block { threads, dynamic_shared: self.shared_bytes }
    }

    /// How many blocks a multiprocessor holds at once.
    ///
    /// # Errors
    /// When the tables do not have the device's architecture.
    pub fn occupancy(&self, device: &Description, usage: Usage) -> Result<Occupancy, devices::Error> {
        Ok(occupancy::of(Limits::named(&device.arch)?, usage, self.block_load()))
    }
}

impl From<&simt::Launch<'_>> for Geometry {
    fn from(launch: &simt::Launch<'_>) -> Self {
        let simt::Launch { grid, block, shared_bytes, .. } = *launch;
        Self { grid, block, shared_bytes }
    }
}

/// `4 × 256`, or with all sides that are not 1: `4,2 × 16,16`.
impl fmt::Display for Geometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sides = |sides: [u32; 3]| {
            let used = sides.iter().rposition(|side| *side != 1).map_or(1, |last| last + 1);
            sides[..used].iter().map(u32::to_string).collect::<Vec<_>>().join(",")
        };
        write!(f, "{} × {}", sides(self.grid), sides(self.block))
    }
}

/// Whether a block has a multiprocessor for itself, of a launch of `blocks` blocks of which one holds `resident`.
pub(crate) fn is_alone(device: &Description, blocks: u64, resident: u32) -> bool {
    resident <= 1 || blocks <= u64::from(device.multiprocessors)
}
