//! Partial sums in shared memory: global memory is read once and the input stays as it was.

use cuda_std::thread;
use rung::Rung;

use super::complete_unroll::combine_unrolled;
use super::every_operation::every_operation;
use super::operation::{Operation, Sum};
use super::{Element, ON_CHIP, Part, all_exist, data_blocks, load_and_combine};
use crate::grid::BlockOutput;

/// This file's rungs.
pub const RUNGS: &[Rung] =
    &[Rung { entries: EVERY_OPERATION, ..REDUCE_SMEM }, REDUCE_SMEM_DYN, REDUCE_SMEM_UNROLL4, REDUCE_SMEM_UNROLL4_DYN];

/// Combines a part of `N` data blocks in `tile`.
///
/// A thread without an element puts the identity into the tile, so every step finds a full one and needs
/// no check.
///
/// # Safety
/// As [`reduce`](super) says, with blocks of `BLOCK` threads; `tile` is `BLOCK` elements of shared
/// memory.
#[inline(always)]
unsafe fn smem<T: Element, O: Operation<T>, const BLOCK: usize, const N: usize>(
    tile: *mut T,
    input: *const T,
    output: *mut T,
    n: u32,
) {
    let part = Part::of_block_size(BLOCK as u32, N as u32);
    let first = part.first();
    // SAFETY: as the kernel's contract says.
    let own = unsafe {
        if all_exist::<N>(first, part.block, n) {
            load_and_combine::<T, O, N, false>(input, first, part.block, n)
        } else {
            load_and_combine::<T, O, N, true>(input, first, part.block, n)
        }
    };
    // SAFETY: a thread writes only its own element before the barrier.
    unsafe { *tile.add(part.tid as usize) = own };
    thread::sync_threads();
    // SAFETY: as the kernel's contract says; the whole tile is written.
    unsafe {
        combine_unrolled::<T, O, BLOCK>(tile, part.tid, BLOCK as u32);
        BlockOutput::new(output).write(|| *tile);
    }
}

/// A part of one data block.
///
/// # Safety
/// As [`reduce`](super) says, with blocks of `BLOCK` threads; `tile` is `BLOCK` elements of shared memory.
#[inline(always)]
unsafe fn smem1<T: Element, O: Operation<T>, const BLOCK: usize>(
    tile: *mut T,
    input: *const T,
    output: *mut T,
    n: u32,
) {
    // SAFETY: as the caller promises.
    unsafe { smem::<T, O, BLOCK, 1>(tile, input, output, n) }
}

every_operation! { reduce_smem; shared [BLOCK]; smem1 }

entries! {
    /// `reduce_gmem` in shared memory: one load from global memory a thread and no store but the
    /// block's sum; the steps run on the chip.
    ///
    /// # Safety
    /// As [`reduce`](super) says.
    reduce_smem(input: *const i32, output: *mut i32, n: u32) for BLOCK in [64, 128, 256, 512, 1024];
    shared tile: [i32; BLOCK];
    rung ON_CHIP {
        lesson: "the block's words go to shared memory once, and the rounds touch global memory no more",
    };
    // SAFETY: the body has the kernel's contract.
    => unsafe { smem::<i32, Sum, BLOCK, 1>(tile, input, output, n) }
}

entries! {
    /// The same with dynamic shared memory, whose size the launch chooses: `BLOCK` words.
    ///
    /// # Safety
    /// As [`reduce`](super) says, launched with `4 * BLOCK` bytes of shared memory.
    reduce_smem_dyn(input: *const i32, output: *mut i32, n: u32) for BLOCK in [64, 128, 256, 512, 1024];
    dynamic tile: [i32; BLOCK];
    rung ON_CHIP {
        lesson: "shared memory sized by the launch: costs nothing against a size known to the compiler",
    };
    // SAFETY: the body has the kernel's contract.
    => unsafe { smem::<i32, Sum, BLOCK, 1>(tile, input, output, n) }
}

entries! {
    /// Four data blocks a block: four loads in flight a thread, and a quarter of the blocks, barriers
    /// and partial sums.
    ///
    /// # Safety
    /// As [`reduce`](super) says.
    reduce_smem_unroll4(input: *const i32, output: *mut i32, n: u32) for BLOCK in [64, 128, 256, 512, 1024];
    shared tile: [i32; BLOCK];
    rung ON_CHIP {
        lesson: "four words summed in registers on the way to shared memory: a quarter of the rounds",
        geometry: data_blocks(4),
    };
    // SAFETY: the body has the kernel's contract.
    => unsafe { smem::<i32, Sum, BLOCK, 4>(tile, input, output, n) }
}

entries! {
    /// Four data blocks a block, with dynamic shared memory.
    ///
    /// # Safety
    /// As [`reduce`](super) says, launched with `4 * BLOCK` bytes of shared memory.
    reduce_smem_unroll4_dyn(input: *const i32, output: *mut i32, n: u32) for BLOCK in [64, 128, 256, 512, 1024];
    dynamic tile: [i32; BLOCK];
    rung ON_CHIP {
        lesson: "the same with shared memory sized by the launch",
        geometry: data_blocks(4),
    };
    // SAFETY: the body has the kernel's contract.
    => unsafe { smem::<i32, Sum, BLOCK, 4>(tile, input, output, n) }
}
