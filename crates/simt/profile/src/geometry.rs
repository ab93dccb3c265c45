//! The geometry of a launch, and the occupancy that it allows on a device.

use std::fmt;

use devices::occupancy::{self, Block, Occupancy, Usage};
use devices::{Description, Limits};
use serde::Serialize;

/// The grid and the block of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Geometry {
    /// The number of blocks in x, y and z.
    pub grid: [u32; 3],
    /// The number of threads per block in x, y and z.
    pub block: [u32; 3],
    /// The dynamic shared memory of a block in bytes.
    pub shared_bytes: u32,
}

impl Geometry {
    /// Returns the number of blocks.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|side| u64::from(*side)).product()
    }

    /// Returns the number of threads per block.
    pub fn threads(&self) -> u64 {
        self.block.iter().map(|side| u64::from(*side)).product()
    }

    /// Returns the number of warps per block.
    pub fn warps(&self) -> u64 {
        self.threads().div_ceil(32)
    }

    /// Returns the resources that the geometry requires of a multiprocessor for each block.
    pub fn block_load(&self) -> Block {
        let threads = u32::try_from(self.threads()).unwrap_or(u32::MAX);
        Block { threads, dynamic_shared: self.shared_bytes }
    }

    /// Returns the number of blocks that a multiprocessor holds at once.
    ///
    /// # Errors
    /// Returns an error when the tables do not contain the device's architecture.
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

/// Formats the geometry as `4 × 256`, or, with several dimensions, as `4,2 × 16,16`. Trailing sides of 1 are left out.
impl fmt::Display for Geometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sides = |sides: [u32; 3]| {
            let used = sides.iter().rposition(|side| *side != 1).map_or(1, |last| last + 1);
            sides[..used].iter().map(u32::to_string).collect::<Vec<_>>().join(",")
        };
        write!(f, "{} × {}", sides(self.grid), sides(self.block))
    }
}

/// Returns whether each block has a multiprocessor to itself, if the launch has `blocks` blocks and a multiprocessor
/// can hold `resident` blocks.
pub(crate) fn is_alone(device: &Description, blocks: u64, resident: u32) -> bool {
    resident <= 1 || blocks <= u64::from(device.multiprocessors)
}
