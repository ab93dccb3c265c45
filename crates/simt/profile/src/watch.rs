//! Options for watching a launch.

use devices::Description;
use devices::occupancy::Usage;

use crate::dram::Dram;

/// The watched block and warp of a launch, and the device for which the launch is explained.
#[derive(Clone, Debug)]
pub struct Watch {
    /// The block whose warps are followed, by its number in the grid.
    pub block: u64,
    /// The warp that figures show, by its number in the block.
    pub warp: u64,
    /// The device for which times are predicted and whose latencies are modeled.
    pub device: Description,
    /// The kernel's resource usage as reported by `ptxas`. If it is `None`, registers are assumed not to limit the
    /// number of blocks, and static shared memory is taken from the PTX.
    pub usage: Option<Usage>,
    /// The memory that maps requests to channels and banks.
    pub dram: Dram,
    /// The buffers that figures name and that count as the launch's data: the first address and the size in bytes of
    /// each. If it is `None`, the buffers to which the arguments point are used.
    pub buffers: Option<Vec<(u64, u64)>>,
}

impl Watch {
    /// Watches the first warp of the first block.
    pub fn new(device: Description) -> Self {
        Self { block: 0, warp: 0, device, usage: None, dram: Dram::FIGURE, buffers: None }
    }
}
