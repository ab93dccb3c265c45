//! All-reduce: every rank gets the sum of the arrays of all ranks.
//!
//! This is the operation of NCCL's `ncclAllReduce`. Usually, each device is one rank. Ranks are numbered from 0. The
//! kernels here read and write the memory of the other ranks by address (CUDA C++ Programming Guide, "Peer-to-Peer
//! Memory Access"). Every kernel gets a [`Table`] with the addresses of all ranks' inputs, another for the outputs, and
//! a third for the flags.
//!
//! A launch has one row of blocks (the grid's y dimension) for each rank that the launch computes. The first row
//! computes rank `first`. With one rank on each device, every device launches one row. Alternatively, one device can
//! hold the memory of all ranks and launch all rows. Such a launch shows the behavior of the kernels, but not of the
//! links between devices.
//!
//! Blocks with the same x form a group, which has one block for each rank. The blocks of a group process the same
//! elements and wait for each other with flags ([`flags`]). Different groups never wait for each other.
//!
//! Every rung without packets has two barriers of all ranks:
//! - The first barrier is at the start. A rank's input is complete only when the rank's kernel starts, so no other rank
//!   may read the input earlier.
//! - The second barrier is at the end. When a rank's kernel has ended, the rank may change its input and read its
//!   output. By then, all other ranks must have finished reading the input and writing the output.
//!
//! Copying and adding are the same in every rung: [`sum`](fn@sum::sum) adds arrays element by element. The rungs differ
//! in which arrays each rank reads and writes, and when.
//!
//! # Safety
//! For all kernels, entry `r` of `inputs` and of `outputs` points to `n` < 2^31 elements, aligned to 16 bytes. Entry
//! `r` of `flags` points to [`MAX_BLOCKS`] × [`flags::FLAGS_PER_BLOCK`] zeros, which are zeros again after the launch.
//! `ranks` is 1 to [`MAX_RANKS`], and each row's rank is below `ranks`. All ranks use the same `n`, `ranks` and block
//! size. All rows have the same number of blocks, at most [`MAX_BLOCKS`]. All blocks of all rows run at the same time.
//! Nothing else uses the memory during the launch.

use rung::LaunchRequest;
#[cfg(not(target_arch = "nvptx64"))]
use rung::Rung;

pub mod at_one;
pub mod flags;
pub mod inbox;
pub mod one_shot;
pub mod packets;
pub mod ring;
pub mod sum;
pub mod tree;
pub mod two_shot;
pub mod two_shot_packets;

/// The rungs, in the order of the ladder.
#[cfg(not(target_arch = "nvptx64"))]
pub const RUNGS: &[Rung] = &[
    at_one::ALLREDUCE_AT_ONE,
    tree::ALLREDUCE_TREE,
    ring::ALLREDUCE_RING,
    one_shot::ALLREDUCE_ONE_SHOT,
    packets::ALLREDUCE_PACKETS,
    two_shot::ALLREDUCE_TWO_SHOT,
    two_shot_packets::ALLREDUCE_TWO_SHOT_PACKETS,
];

/// The maximum number of ranks.
pub const MAX_RANKS: usize = 8;

/// The maximum number of blocks in all rows of one device. [`grid`] never returns more blocks, so an array with one
/// entry per block of a row never needs more entries.
///
/// More blocks would not be faster: over NVLink, 32 blocks reach 346 GB/s of a ring's 360 GB/s (measured on two H100s
/// with a prototype in CUDA C++).
pub const MAX_BLOCKS: u32 = 128;

/// A table with an address for each rank, which kernels take as a `#[grid_constant]` parameter.
#[repr(C)]
pub struct Table<T>([*mut T; MAX_RANKS]);

impl<T> Table<T> {
    /// Returns the address of a rank's memory.
    #[inline(always)]
    pub fn of(&self, rank: u32) -> *mut T {
        // SAFETY: each rank is below `ranks`, which is at most MAX_RANKS, the length of the table.
        unsafe { *self.0.as_ptr().add(rank as usize) }
    }
}

/// Returns the rank after `rank` in the ring of all ranks. Rank 0 follows the last rank.
#[inline(always)]
pub(crate) fn next_rank(rank: u32, ranks: u32) -> u32 {
    if rank + 1 < ranks { rank + 1 } else { 0 }
}

/// Returns the grid for a launch of any rung: one row of blocks for each of the device's ranks, with enough blocks for
/// all elements. Lengths 0 and 1 of the launch's shape are the numbers of ranks and of elements.
///
/// All rows together have at most one block per multiprocessor, because blocks wait for each other: a block that waits
/// for a block that cannot start waits forever. One block always fits on a multiprocessor. But these kernels use so
/// many registers that a second block of 512 threads may not fit.
#[must_use]
pub fn grid(launch: &LaunchRequest<'_>) -> [u32; 3] {
    let rows = launch.length(0).clamp(1, MAX_RANKS as u64) as u32;
    let enough = launch.length(1).div_ceil(launch.threads() * u64::from(launch.items_per_thread));
    let resident = launch.device.multiprocessors.min(MAX_BLOCKS) / rows;
    [enough.clamp(1, resident.max(1).into()) as u32, rows, 1]
}

#[cfg(test)]
mod tests {
    use rung::DeviceProperties;

    use super::*;

    #[test]
    fn all_blocks_of_all_rows_are_resident() {
        let grid = |ranks, n, multiprocessors| {
            let device = DeviceProperties { multiprocessors };
            grid(&LaunchRequest { shape: &[ranks, n], block: [512, 1, 1], items_per_thread: 4, device })
        };
        assert_eq!([grid(3, 0, 132), grid(1, 2048, 132), grid(8, 2049, 132)], [[1, 3, 1], [1, 1, 1], [2, 8, 1]]);
        assert_eq!([grid(1, 1 << 20, 132), grid(3, 1 << 20, 132)], [[128, 1, 1], [42, 3, 1]]);
        assert_eq!([grid(8, 1 << 20, 132), grid(8, 1 << 20, 4)], [[16, 8, 1], [1, 8, 1]]);
        assert_eq!([grid(1, 1 << 30, 200), grid(3, 1 << 20, 60)], [[128, 1, 1], [20, 3, 1]]);
    }
}
