//! What is watched of a launch.

use devices::Description;
use devices::occupancy::Usage;

use crate::dram::Dram;

/// What is watched of a launch, and for which device it is explained.
#[derive(Clone, Debug)]
pub struct Watch {
    /// The block whose warps are followed, by its number in the grid.
    pub block: u64,
    /// The warp that figures show, by its number in the block.
    pub warp: u64,
    /// The device that times are predicted for, and whose latencies are modelled.
    pub device: Description,
    /// What the kernel uses of a multiprocessor, as `ptxas` says. Without this, registers are taken not to limit the number
    /// of blocks, and static shared memory is what the PTX declares.
    pub usage: Option<Usage>,
    /// The memory whose channels and banks requests are mapped to.
    pub dram: Dram,
    /// The parts of memory that figures name and that count as the launch's data: first addresses and bytes. Without
    /// this, those that the arguments point to.
    pub buffers: Option<Vec<(u64, u64)>>,
}

impl Watch {
    /// Watches the first warp of the first block.
    pub fn new(device: Description) -> Self {
        Self { block: 0, warp: 0, device, usage: None, dram: Dram::FIGURE, buffers: None }
    }
}
