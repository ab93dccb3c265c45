//! Thread coarsening by 8.

use core::mem::MaybeUninit;

use cuda_std::{GpuFloat, address_space, thread};
use rung::rung;

/// The number of neighboring tiles of `c` that a block computes.
const COARSE: u32 = 8;

/// Eight tiles of `c` per block: an eighth of the loads of `a`, and an eighth of the blocks.
///
/// If few blocks remain, some multiprocessors are idle. The best coarsening factor depends on the device and on the
/// matrix size. (Section 6.3 warns against coarsening so far that the hardware is underused.)
///
/// # Safety
/// See [`matmul`](super).
#[rung(
    after = matmul_coarsened4,
    lesson = "eight tiles per block: with too few blocks, a part of the device is idle",
    blocks = [(16, 16), (32, 32)],
    default_block = (32, 32),
    grid = |launch| launch.tiles(launch.block[1], launch.block[0] * COARSE)
)]
pub unsafe fn matmul_coarsened8<const BLOCK_X: u32, const BLOCK_Y: u32>(
    a: *const f32,
    b: *const f32,
    c: *mut f32,
    m: u32,
    n: u32,
    k: u32,
) {
    const { assert!(BLOCK_X == BLOCK_Y, "the tiles are square") };
    const SIDE: u32 = BLOCK_X;
    #[address_space(shared)]
    static mut TILE_A: MaybeUninit<[f32; (SIDE * SIDE) as usize]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut TILE_B: MaybeUninit<[f32; (SIDE * SIDE) as usize]> = MaybeUninit::uninit();
    let (tile_a, tile_b) = ((&raw mut TILE_A).cast::<f32>(), (&raw mut TILE_B).cast::<f32>());
    let (thread_row, thread_col) = (thread::thread_idx_y(), thread::thread_idx_x());
    let block_row = thread::block_idx_y() + thread::block_idx_z() * thread::grid_dim_y();
    let (row, col) = (block_row * SIDE + thread_row, thread::block_idx_x() * SIDE * COARSE + thread_col);
    let word = (thread_row * SIDE + thread_col) as usize;
    // Returns whether this thread's column of a tile exists. The tiles are at constant distances from one address.
    let exists = |tile: usize| tile as u32 * SIDE < n.saturating_sub(col);

    let mut sums = [0.0; COARSE as usize];
    for first in (0..k).step_by(SIDE as usize) {
        let (a_col, b_row) = (first + thread_col, first + thread_row);
        // SAFETY: only elements of `a` are read, and each thread writes one word of the tile.
        unsafe { *tile_a.add(word) = if row < m && a_col < k { *a.add((row * k + a_col) as usize) } else { 0.0 } };
        let b_element = b.wrapping_add((b_row * n + col) as usize);
        for (tile, sum) in sums.iter_mut().enumerate() {
            let is_inside = b_row < k && exists(tile);
            // SAFETY: only elements of `b` are read, and each thread writes one word of the tile.
            unsafe { *tile_b.add(word) = if is_inside { *b_element.add(tile * SIDE as usize) } else { 0.0 } };
            thread::sync_threads();
            // Two loops, as in `matmul_tiled`.
            for start in (0..SIDE).step_by(16) {
                for i in start..start + 16 {
                    let (a_word, b_word) = (thread_row * SIDE + i, i * SIDE + thread_col);
                    // SAFETY: both words are in the tiles, and were written before the barrier.
                    let (x, y) = unsafe { (*tile_a.add(a_word as usize), *tile_b.add(b_word as usize)) };
                    *sum = GpuFloat::mul_add(x, y, *sum);
                }
            }
            // Pins the last addition here, as in `matmul_coarsened1`.
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the assembly is only a comment.
            unsafe {
                core::arch::asm!("// {}", inout(reg32) * sum, options(nomem, nostack, preserves_flags));
            }
            // The next step overwrites the tiles, so all threads must first finish reading them.
            thread::sync_threads();
        }
    }
    for (tile, sum) in sums.into_iter().enumerate() {
        if row < m && exists(tile) {
            // SAFETY: row < m, and the column exists. No other thread writes this element.
            unsafe { *c.wrapping_add((row * n + col) as usize).add(tile * SIDE as usize) = sum };
        }
    }
}
