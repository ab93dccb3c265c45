//! The whole scan: scan each tile, scan the sums of the tiles, and add the scanned sums to the tiles.

use core::mem::MaybeUninit;

use cuda_std::{address_space, thread};
use rung::rung;

use super::resident;
use super::shuffle::sum_of_warps_before;
use super::vector::{ITEMS, SumTile};
use crate::grid_barrier::GridBarrier;
use crate::operation::Sum;

/// The scan has three phases with grid barriers between them. First, the blocks scan the tiles and store the tiles'
/// sums. Then one block scans the sums. Finally, the blocks add to each tile the sum of the tiles before it.
///
/// The previous rungs scan sections, and leave the sums of the sections to the host. In CUDA C++, the three phases are
/// usually three kernels, because the end of a kernel acts as a grid barrier. Here the phases run in one launch, whose
/// blocks are all resident at the same time. The output is written, read and written again, so the phases move four
/// times the size of the input. (*Programming Massively Parallel Processors*, section 11.6.)
///
/// # Safety
/// See [`scan`](super). `input`, `output` and `sums` are aligned to 16 bytes. `sums` has an element for each tile.
/// `barrier` points to a word that is 0, and the word is 0 again when the kernel ends.
#[rung(
    after = scan_vector,
    lesson = "the whole scan in three phases: scan tiles, scan their sums, add the sums; all data move four times",
    blocks = [64, 128, 256, 512, 1024],
    default_block = 512,
    items_per_thread = ITEMS,
    resident = 1,
    grid = |launch| launch.stride(resident(launch)),
    single_pass,
    blocks_wait
)]
pub unsafe fn scan_three_phases<const BLOCK: u32>(
    input: *const i32,
    output: *mut i32,
    sums: *mut i32,
    barrier: *mut u32,
    n: u32,
) {
    #[address_space(shared)]
    static mut WARP_SUMS: MaybeUninit<[i32; BLOCK as usize / 32]> = MaybeUninit::uninit();
    let warp_sums = (&raw mut WARP_SUMS).cast::<i32>();
    let (first, blocks, tiles) = (thread::block_idx_x(), thread::grid_dim_x(), n.div_ceil(BLOCK * ITEMS));
    // SAFETY: the counter is 0, and only these grid barriers use it.
    let mut barrier = unsafe { GridBarrier::new(barrier) };

    let mut tile = first;
    while tile < tiles {
        // SAFETY: all threads of the block call `scan_tile`. Only this block accesses the tile in this phase, and the
        // tile's sum has one writer.
        unsafe {
            let sum = scan_tile::<BLOCK>(warp_sums, input, output, tile, n, 0);
            if thread::thread_idx_x() == 0 {
                *sums.add(tile as usize) = sum;
            }
        }
        tile += blocks;
    }
    // SAFETY: all threads of the grid call `wait`, and all blocks are resident.
    unsafe { barrier.wait() };
    if first == 0 {
        let (mut part, mut sum) = (0, 0_i32);
        while part * BLOCK * ITEMS < tiles {
            // SAFETY: only this block accesses the sums between the grid barriers, and only one thread accesses each
            // element.
            sum = sum.wrapping_add(unsafe { scan_tile::<BLOCK>(warp_sums, sums, sums, part, tiles, sum) });
            part += 1;
        }
    }
    // SAFETY: all threads of the grid call `wait`, and all blocks are resident.
    unsafe { barrier.wait() };
    let mut tile = first;
    while tile < tiles {
        if tile > 0 {
            // SAFETY: this block wrote the tile, and the sums are complete.
            unsafe {
                let before = *sums.add(tile as usize - 1);
                SumTile::load::<BLOCK>(output, tile, n).store::<BLOCK>(output, tile, n, before);
            }
        }
        tile += blocks;
    }
    // SAFETY: each block calls `finish` once, after the last grid barrier.
    unsafe { barrier.finish() };
}

/// Scans a tile, adds `before` to its elements, and returns the sum of its elements to all threads.
///
/// # Safety
/// All threads of a block of `BLOCK` call the function together. `warp_sums` is shared memory with a word for each
/// warp. `input` and `output` have `n` elements and are aligned to 16 bytes, and no other thread accesses this thread's
/// elements.
#[inline(always)]
pub(super) unsafe fn scan_tile<const BLOCK: u32>(
    warp_sums: *mut i32,
    input: *const i32,
    output: *mut i32,
    tile: u32,
    n: u32,
    before: i32,
) -> i32 {
    // SAFETY: `input` and `output` have `n` elements and are aligned to 16 bytes, and all threads of the block call
    // these functions.
    unsafe {
        let (elements, warp_sum) = SumTile::load::<BLOCK>(input, tile, n).scan();
        let warps = sum_of_warps_before::<i32, Sum, BLOCK>(warp_sums, warp_sum);
        elements.store::<BLOCK>(output, tile, n, before.wrapping_add(warps));
        let sum = *warp_sums.add(BLOCK as usize / 32 - 1);
        // The next tile overwrites `warp_sums`, so all threads must read its words first.
        thread::sync_threads();
        sum
    }
}
