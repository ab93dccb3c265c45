//! The resources that a launch uses, estimated from some of its blocks: the input of the [`model`](crate::model).

use devices::Description;
use devices::Rates;
use simt::Function;
use simt_timing::{CriticalPath, ResourceUse};

use crate::Geometry;
use crate::geometry::is_alone;

/// Bytes per sector.
pub(crate) const SECTOR: f64 = 32.0;
/// Bytes per pass through the banks of shared memory, or per line that the L1 looks up.
const PASS: f64 = 128.0;
/// The number of blocks that represent the blocks of a larger launch. The blocks of a launch are alike, except at the
/// edges of a problem.
const BLOCKS: u64 = 24;

/// The resources that a launch uses, estimated from a sample of its blocks.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The resources that the sampled blocks used.
    pub resource_use: ResourceUse,
    /// The number of blocks of the launch per sampled block.
    pub scale: f64,
    /// The number of sectors of each buffer.
    pub sectors: Vec<u64>,
}

/// Returns the numbers of the blocks that represent a launch, spread evenly over the grid, with the middle block first.
pub fn blocks(all: u64) -> Vec<u64> {
    let sample_size = all.min(BLOCKS);
    let mut chosen: Vec<u64> = (0..sample_size).map(|part| (part * all + all / 2) / sample_size).collect();
    chosen.swap(0, (sample_size / 2) as usize);
    chosen
}

/// Creates the observer of sampled blocks. A multiprocessor holds `resident` blocks with `static_shared` bytes of
/// static shared memory each. `buffers` holds the first address and the size in bytes of each buffer.
pub fn path(
    function: &Function,
    device: &Description,
    buffers: &[(u64, u64)],
    (geometry, resident): (Geometry, u32),
    static_shared: u32,
) -> CriticalPath {
    let blocks = geometry.blocks();
    let rates = device.multiprocessor.rates();
    // Time on resources that blocks share is not part of a single block's time.
    let rates = match is_alone(device, blocks, resident) {
        true => rates,
        false => Rates { loads: f64::INFINITY, stores: f64::INFINITY, ..rates },
    };
    // A block's share of the L1, which shares its memory with shared memory.
    let shared = u64::from(static_shared + geometry.shared_bytes) * u64::from(resident);
    let l1_bytes = device.multiprocessor.l1_bytes.saturating_sub(shared) / u64::from(resident.max(1));
    CriticalPath::new(function, device.latency, l1_bytes, buffers)
        .with_rates(rates)
        .with_concurrent_blocks(blocks <= u64::from(device.multiprocessors) * u64::from(resident))
}

impl Sample {
    /// Creates the sample of a launch of `blocks` blocks. `buffers` holds the first address and the size in bytes of
    /// each buffer.
    pub fn new(path: CriticalPath, buffers: &[(u64, u64)], blocks: u64) -> Self {
        let resource_use = path.resource_use();
        Self {
            scale: blocks as f64 / resource_use.blocks.max(1) as f64,
            resource_use,
            sectors: buffers.iter().map(|(_, bytes)| bytes.div_ceil(32)).collect(),
        }
    }

    /// Scales a sampled count to the whole launch.
    pub(crate) fn scaled(&self, count: u64) -> f64 {
        count as f64 * self.scale
    }

    /// Returns the number of sectors that the blocks touch in all buffers, with each sector of a buffer counted at most
    /// once.
    pub(crate) fn touched(&self, sampled: &[u64]) -> f64 {
        let each = sampled.iter().zip(&self.sectors);
        each.map(|(touched, there)| self.scaled(*touched).min(*there as f64)).sum()
    }

    /// Returns the bytes that move between the memory and the L2, if the L2 keeps all data.
    pub fn memory_bytes(&self) -> f64 {
        let resource_use = &self.resource_use;
        (self.touched(&resource_use.read) + self.touched(&resource_use.written)) * SECTOR
    }

    /// Returns the bytes that move between the L2 and the multiprocessors.
    pub fn l2_bytes(&self) -> f64 {
        self.scaled(self.resource_use.l2_reads + self.resource_use.l2_writes) * SECTOR
    }

    /// Returns the bytes that shared memory and the L1 could move in their passes.
    pub fn shared_bytes(&self) -> f64 {
        self.scaled(self.resource_use.wavefronts + self.resource_use.tags) * PASS
            + self.resource_use.engine_bytes * self.scale
    }

    /// Returns the number of warp instructions.
    pub fn instructions(&self) -> f64 {
        self.resource_use.issued.iter().sum::<f64>() * self.scale
    }
}
