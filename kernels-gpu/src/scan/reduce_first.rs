//! Reduce, then scan: the output is written once.

use core::mem::MaybeUninit;

use cuda_std::{address_space, thread};
use rung::rung;

use super::resident;
use super::shuffle::sum_of_warps_before;
use super::three_phases::scan_tile;
use super::vector::{ITEMS, SumTile};
use crate::grid_barrier::GridBarrier;
use crate::operation::Sum;

/// `scan_three_phases`, but the first phase only sums the tiles.
///
/// The last phase loads the input again and scans each tile, starting with the sum of the tiles before it. So the input
/// is read twice and the output is written once: the kernel moves three times the size of the input instead of four.
///
/// # Safety
/// See [`scan_three_phases`](super::three_phases).
#[rung(
    after = scan_three_phases,
    lesson = "the first phase only sums tiles: the input is read twice, and the output is written once",
    blocks = [64, 128, 256, 512, 1024],
    default_block = 512,
    items_per_thread = ITEMS,
    resident = 1,
    grid = |launch| launch.stride(resident(launch)),
    single_pass,
    blocks_wait
)]
pub unsafe fn scan_reduce_first<const BLOCK: u32>(
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
        // SAFETY: all threads of the block call both functions, no thread writes the input, and the tile's sum has one
        // writer.
        unsafe {
            let sum = SumTile::load::<BLOCK>(input, tile, n).sum();
            let before = sum_of_warps_before::<i32, Sum, BLOCK>(warp_sums, sum);
            if thread::thread_idx_x() == BLOCK - 1 {
                *sums.add(tile as usize) = before.wrapping_add(sum);
            }
            thread::sync_threads();
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
        // SAFETY: all threads of the block call `scan_tile`, no other block scans this tile, and the sums are complete.
        unsafe {
            let before = if tile > 0 { *sums.add(tile as usize - 1) } else { 0 };
            scan_tile::<BLOCK>(warp_sums, input, output, tile, n, before);
        }
        tile += blocks;
    }
    // SAFETY: each block calls `finish` once, after the last grid barrier.
    unsafe { barrier.finish() };
}
