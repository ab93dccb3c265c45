//! The limits of a GPU on the geometry of a launch.

use super::launch::LaunchError;
use crate::code::Program;

/// Threads that a block can have.
const MAX_THREADS: u64 = 1024;
/// Bytes of shared memory that a block can have on the GPUs that allow the most.
const MAX_SHARED: u64 = 227 * 1024;

/// Checks that a GPU, and the kernel, can be launched with this geometry.
pub(super) fn check_geometry(
    program: &Program,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
) -> Result<(), LaunchError> {
    let threads = block.iter().fold(1u64, |threads, side| threads.saturating_mul((*side).into()));
    let shared = u64::from(program.shared_bytes) + u64::from(shared_bytes);
    let side = |sides: [u32; 3]| format!("({}, {}, {})", sides[0], sides[1], sides[2]);
    let problem = if grid.contains(&0) {
        format!("a grid of {} has no blocks", side(grid))
    } else if block.contains(&0) {
        format!("a block of {} has no threads", side(block))
    } else if threads > MAX_THREADS {
        format!("a block of {threads} threads; at most {MAX_THREADS} fit")
    } else if block[2] > 64 {
        format!("a block of {}; z is at most 64", side(block))
    } else if grid[0] > i32::MAX as u32 || grid[1] > 65535 || grid[2] > 65535 {
        format!("a grid of {}; x is at most 2^31 - 1, y and z 65535", side(grid))
    } else if shared > MAX_SHARED {
        format!("{shared} bytes of shared memory a block; at most {MAX_SHARED} fit")
    } else if program.required_block.is_some_and(|required| required != block) {
        let required = program.required_block.unwrap_or_default();
        format!("compiled for blocks of {} (.reqntid), launched with {}", side(required), side(block))
    } else if program.max_threads.is_some_and(|most| threads > u64::from(most)) {
        let most = program.max_threads.unwrap_or_default();
        format!("compiled for blocks of at most {most} threads (.maxntid), launched with {threads}")
    } else {
        return Ok(());
    };
    Err(LaunchError::geometry(program, problem))
}

/// Blocks that a cluster can have: more than 8 is what only some GPUs have, an H200 among them.
const MAX_CLUSTER: u64 = 16;

/// The blocks of a cluster of a launch that asks for `asked`, or for none.
pub(super) fn check_cluster(
    program: &Program,
    grid: [u32; 3],
    asked: Option<[u32; 3]>,
) -> Result<[u32; 3], LaunchError> {
    let cluster = asked.or(program.required_cluster).unwrap_or([1; 3]);
    let side = |sides: [u32; 3]| format!("({}, {}, {})", sides[0], sides[1], sides[2]);
    let blocks = cluster.iter().fold(1u64, |blocks, side| blocks.saturating_mul((*side).into()));
    let problem = match program.required_cluster {
        Some(required) if required != cluster => {
            format!("compiled for clusters of {} (.reqnctapercluster), launched with {}", side(required), side(cluster))
        }
        None if asked.is_none() && program.explicit_cluster => {
            "compiled for clusters (.explicitcluster), launched without".to_owned()
        }
        _ if blocks == 0 => format!("a cluster of {} has no blocks", side(cluster)),
        _ if blocks > MAX_CLUSTER => {
            format!("a cluster of {blocks} blocks; at most {MAX_CLUSTER} fit")
        }
        _ if (0..3).any(|axis| !grid[axis].is_multiple_of(cluster[axis])) => {
            format!("a grid of {} is not made of clusters of {}", side(grid), side(cluster))
        }
        _ => return Ok(cluster),
    };
    Err(LaunchError::geometry(program, problem))
}
