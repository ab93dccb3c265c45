//! The limits of a GPU on the geometry of a launch.

use crate::code::Program;

/// The largest grid, in blocks in x, y and z, that every GPU can launch.
const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65535, 65535];
/// The largest size of a block in z, in threads, on every GPU.
const MAX_BLOCK_Z: u32 = 64;

/// The limits on the geometry of a launch that differ between GPUs.
///
/// ```
/// use simt::GeometryLimits;
///
/// let limits = GeometryLimits::LARGEST;
/// assert!(limits.check_cluster([4, 1, 1], [2, 1, 1]).is_ok());
/// let problem = limits.check_cluster([5, 1, 1], [2, 1, 1]).unwrap_err();
/// assert_eq!(problem, "a grid of (5, 1, 1) is not divisible into clusters of (2, 1, 1)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeometryLimits {
    /// The largest number of threads of a block.
    pub threads: u32,
    /// The largest number of bytes of static and dynamic shared memory of a block.
    pub shared_bytes: u32,
    /// The largest number of blocks of a cluster.
    pub cluster_blocks: u32,
}

impl GeometryLimits {
    /// For each limit, the largest value on any GPU. Only some GPUs, such as an H200, support clusters of more than 8
    /// blocks.
    pub const LARGEST: Self = Self { threads: 1024, shared_bytes: 227 * 1024, cluster_blocks: 16 };

    /// Checks the grid, the blocks and the shared memory of a launch against the limits of the GPU and of the compiled
    /// kernel.
    ///
    /// # Errors
    /// Returns the problem in words when the GPU cannot launch the kernel with this geometry.
    pub fn check(self, program: &Program, grid: [u32; 3], block: [u32; 3], dynamic_shared: u32) -> Result<(), String> {
        let threads = block.iter().fold(1u64, |threads, side| threads.saturating_mul((*side).into()));
        let shared = u64::from(program.shared_bytes) + u64::from(dynamic_shared);
        Err(if grid.contains(&0) {
            format!("a grid of {} has no blocks", sides(grid))
        } else if block.contains(&0) {
            format!("a block of {} has no threads", sides(block))
        } else if threads > u64::from(self.threads) {
            format!("a block of {threads} threads is too large; the maximum is {}", self.threads)
        } else if block[2] > MAX_BLOCK_Z {
            format!("a block of {} is too large; z is at most {MAX_BLOCK_Z}", sides(block))
        } else if grid.iter().zip(MAX_GRID).any(|(side, most)| *side > most) {
            format!("a grid of {} is too large; x is at most 2^31 - 1, y and z {}", sides(grid), MAX_GRID[1])
        } else if shared > u64::from(self.shared_bytes) {
            format!("{shared} bytes of shared memory a block; at most {} fit", self.shared_bytes)
        } else if let Some(required) = program.required_block.filter(|required| *required != block) {
            format!("compiled for blocks of {} (.reqntid), but launched with {}", sides(required), sides(block))
        } else if let Some(most) = program.max_threads.filter(|most| threads > u64::from(*most)) {
            format!("compiled for blocks of at most {most} threads (.maxntid), but launched with {threads}")
        } else {
            return Ok(());
        })
    }

    /// Checks the clusters of a grid that [`check`](Self::check) accepts.
    ///
    /// # Errors
    /// Returns the problem in words when the GPU does not support clusters of this size or the grid is not divisible
    /// into them.
    pub fn check_cluster(self, grid: [u32; 3], cluster: [u32; 3]) -> Result<(), String> {
        let blocks = cluster.iter().fold(1u64, |blocks, side| blocks.saturating_mul((*side).into()));
        Err(if blocks == 0 {
            format!("a cluster of {} has no blocks", sides(cluster))
        } else if blocks > u64::from(self.cluster_blocks) {
            format!("a cluster of {blocks} blocks; at most {} fit", self.cluster_blocks)
        } else if (0..3).any(|axis| !grid[axis].is_multiple_of(cluster[axis])) {
            format!("a grid of {} is not divisible into clusters of {}", sides(grid), sides(cluster))
        } else {
            return Ok(());
        })
    }
}

fn sides(sides: [u32; 3]) -> String {
    format!("({}, {}, {})", sides[0], sides[1], sides[2])
}

/// Returns the cluster size of a launch; `asked` is the cluster size that the launch requests, if any.
pub(super) fn cluster_of(program: &Program, asked: Option<[u32; 3]>) -> Result<[u32; 3], String> {
    let cluster = asked.or(program.required_cluster).unwrap_or([1; 3]);
    match program.required_cluster {
        Some(required) if required != cluster => {
            let (required, cluster) = (sides(required), sides(cluster));
            Err(format!("compiled for clusters of {required} (.reqnctapercluster), launched with {cluster}"))
        }
        None if asked.is_none() && program.explicit_cluster => {
            Err("compiled for clusters (.explicitcluster), launched without a cluster size".to_owned())
        }
        _ => Ok(cluster),
    }
}
