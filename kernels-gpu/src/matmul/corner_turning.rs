//! Corner turning: a tile of a column-major matrix is loaded with coalesced reads and transposed when it is stored.

use core::mem::MaybeUninit;

use cuda_std::{GpuFloat, address_space, thread};
use rung::rung;

/// `matmul_tiled` with the second matrix in column-major order: a thread's x and y swap roles while a tile of this
/// matrix is loaded.
///
/// Neighboring threads read neighboring elements of a column of `b`, so the reads are coalesced. The threads write the
/// elements to a column of the tile, whose rows are padded to avoid bank conflicts. The rest of the kernel is the same
/// as `matmul_tiled`, so the order of `b` in memory no longer costs anything. (Section 6.1, corner turning, figure
/// 6.4.)
///
/// # Safety
/// See [`matmul`](super).
#[rung(
    after = matmul_tiled,
    lesson = "column-major, but coalesced: a thread's x and y swap roles while a tile is loaded",
    blocks = [(16, 16), (32, 32)],
    default_block = (32, 32),
    grid = |launch| launch.tiles(launch.block[1], launch.block[0])
)]
pub unsafe fn matmul_corner_turning<const BLOCK_X: u32, const BLOCK_Y: u32>(
    a: *const f32,
    b_columns: *const f32,
    c: *mut f32,
    m: u32,
    n: u32,
    k: u32,
) {
    const { assert!(BLOCK_X == BLOCK_Y, "the tiles are square") };
    const SIDE: u32 = BLOCK_X;
    // The lanes of a warp write 32 / SIDE neighboring columns of the tile. With 32 / SIDE words of padding per row (1
    // for SIDE = 32, 2 for SIDE = 16), the 32 words are in 32 different banks.
    const STRIDE_B: u32 = SIDE + 32 / SIDE;
    #[address_space(shared)]
    static mut TILE_A: MaybeUninit<[f32; (SIDE * SIDE) as usize]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut TILE_B: MaybeUninit<[f32; (SIDE * STRIDE_B) as usize]> = MaybeUninit::uninit();
    let (tile_a, tile_b) = ((&raw mut TILE_A).cast::<f32>(), (&raw mut TILE_B).cast::<f32>());
    let (thread_row, thread_col) = (thread::thread_idx_y(), thread::thread_idx_x());
    let block_row = thread::block_idx_y() + thread::block_idx_z() * thread::grid_dim_y();
    let (row, col) = (block_row * SIDE + thread_row, thread::block_idx_x() * SIDE + thread_col);
    // The change: while a tile is loaded, the thread's x selects a row of `b`, and its y selects a column.
    let b_col = thread::block_idx_x() * SIDE + thread_row;

    let mut sum = 0.0;
    for first in (0..k).step_by(SIDE as usize) {
        let (a_col, a_word) = (first + thread_col, thread_row * SIDE + thread_col);
        let (b_row, b_word) = (first + thread_col, thread_col * STRIDE_B + thread_row);
        // SAFETY: only elements inside the matrices are read, and each thread writes one word of each tile.
        unsafe {
            *tile_a.add(a_word as usize) = if row < m && a_col < k { *a.add((row * k + a_col) as usize) } else { 0.0 };
            *tile_b.add(b_word as usize) =
                if b_row < k && b_col < n { *b_columns.add((b_col * k + b_row) as usize) } else { 0.0 };
        }
        thread::sync_threads();
        // Two loops, because LLVM completely unrolls a loop of 16 steps, but not a loop of 32 steps.
        for start in (0..SIDE).step_by(16) {
            for i in start..start + 16 {
                let (a_word, b_word) = (thread_row * SIDE + i, i * STRIDE_B + thread_col);
                // SAFETY: both words are in the tiles, and were written before the barrier.
                let (x, y) = unsafe { (*tile_a.add(a_word as usize), *tile_b.add(b_word as usize)) };
                sum = GpuFloat::mul_add(x, y, sum);
            }
        }
        // The next step overwrites the tiles, so all threads must first finish reading them.
        thread::sync_threads();
    }
    if row < m && col < n {
        // SAFETY: row < m and col < n. No other thread writes this element.
        unsafe { *c.add((row * n + col) as usize) = sum };
    }
}
