//! 16-byte copies.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use core::array;

use cuda_std::{shared, thread};
use rung::rung;

use super::register_tiles::{
    COL_GROUP, DEPTH, Float4, ROW_GROUP, STAGES, a_stride, copy_four_of_row, load_fragment, multiply_add, pair_len,
    tile_of_block, write_sums,
};
use crate::tensor_core::Shared;
use crate::tensor_core::cp_async::{self, copy_one};

/// The number of rows of `c` that a block computes.
const ROWS: u32 = 128;

/// The number of columns of `c` that a block computes.
const COLS: u32 = 256;

/// `matmul_double_buffered` with rows of `b` copied four columns at a time.
///
/// The schedulers of a multiprocessor issue 4 instructions per cycle, and each multiplication of a warp takes one issue
/// slot. All other instructions take slots from the multiplications, so the loop should have few other instructions.
/// For a pair of tiles, a thread of `matmul_double_buffered` starts 24 one-word copies, each with an address and a
/// check. Here a thread starts 8 one-word copies of `a`, whose tile is transposed, and four 16-byte copies of `b`. For
/// 2048 multiplications, the simulator counts 2253 PTX instructions per warp and pair of tiles instead of 2318.
///
/// A 16-byte copy needs an address that is a multiple of 16. So every row of `b` must begin at such an address, and `n`
/// must be a multiple of 4. For other `n`, [`copy_four_of_row`] copies the four words one by one.
///
/// # Safety
/// See [`matmul`](super).
#[rung(
    after = matmul_double_buffered,
    lesson = "16-byte copies of the second matrix: a quarter of the instructions, if its rows are aligned",
    blocks = [256],
    grid = |launch| [launch.count_tiles(ROWS, COLS), 1, 1],
    dynamic_shared = STAGES * pair_len(ROWS, COLS) * 4
)]
pub unsafe fn matmul_vector_copies(a: *const f32, b: *const f32, c: *mut f32, m: u32, n: u32, k: u32) {
    const A_STRIDE: u32 = a_stride(ROWS);
    // The number of threads that copy a row of a tile of `b`, four columns each.
    const QUADS: u32 = COLS / 4;
    let stages = shared::dynamic_shared_mem::<Float4>().cast::<f32>();
    let (tile_row, tile_col) = tile_of_block(m, n, ROWS, COLS);
    let tid = thread::thread_idx_x();
    let (warp, lane) = (tid / 32, tid % 32);
    let thread_row = warp % 2 * 64 + lane % 8 * 4;
    let thread_col = warp / 2 * 64 + lane / 8 * 4;

    // The elements that this thread copies: every 16th row of one column of `a`, and four columns of every fourth row
    // of `b`. For a row or column outside a matrix, the thread copies the last row or column instead. The products of
    // these duplicates are not written to `c`.
    let (a_row, a_col) = (tid / DEPTH, tid % DEPTH);
    let (b_row, quad) = (tid / QUADS, tid % QUADS);
    let b_col = tile_col + quad * 4;
    let a_offsets: [u32; 8] = array::from_fn(|i| (tile_row + a_row + i as u32 * 16).min(m - 1) * k + a_col);
    let a_words = Shared::of(stages).byte_add((a_col * A_STRIDE + a_row) * 4);
    let b_words = Shared::of(stages).byte_add((DEPTH * A_STRIDE + b_row * COLS + quad * 4) * 4);
    let start_copies = |pair: u32| {
        let (first, stage) = (pair * DEPTH, pair % STAGES * pair_len(ROWS, COLS) * 4);
        if first < k {
            let (a, b) = (a.wrapping_add(first as usize), b.wrapping_add((first * n) as usize));
            for (i, &offset) in (0..).zip(&a_offsets) {
                let to = a_words.byte_add(stage + i * 16 * 4);
                // SAFETY: the element is in `a` if its column exists. No thread accesses the target word before the
                // copy has arrived.
                unsafe { copy_one(to, a.wrapping_add(offset as usize), first + a_col < k) };
            }
            // The change: four columns of four rows instead of one column of 16 rows.
            for row in (0..DEPTH).step_by(4) {
                let (to, row) = (b_words.byte_add(stage + row * COLS * 4), row + b_row);
                // SAFETY: `b` has this row if the check passes. No thread accesses these words before the copy has
                // arrived.
                unsafe { copy_four_of_row(to, (b, n), (row, b_col), (quad, QUADS), first + row < k) };
            }
        }
    };
    // Returns the elements that this thread multiplies in step `step` of a pair: 8 elements of a column of `a`, and 16
    // of a row of `b`.
    let load_fragments = |pair: u32, step: u32| -> ([f32; 8], [f32; 16]) {
        let tile_a = stages.wrapping_add((pair % STAGES * pair_len(ROWS, COLS)) as usize);
        let tile_b = tile_a.wrapping_add((DEPTH * A_STRIDE) as usize);
        // SAFETY: the groups of four are in the tiles, at multiples of 16 bytes, and have arrived.
        unsafe {
            let x = load_fragment(tile_a.add((step * A_STRIDE + thread_row) as usize), ROW_GROUP);
            (x, load_fragment(tile_b.add((step * COLS + thread_col) as usize), COL_GROUP))
        }
    };

    let mut sums = [[0.0; 16]; 8];
    for pair in 0..STAGES - 1 {
        start_copies(pair);
        cp_async::commit();
    }
    cp_async::wait::<{ STAGES - 2 }>();
    thread::sync_threads();
    let (mut x, mut y) = load_fragments(0, 0);
    for pair in 0..k.div_ceil(DEPTH) {
        start_copies(pair + STAGES - 1);
        cp_async::commit();
        // The thread reads the fragments of the next step before it multiplies the fragments of this step.
        for step in 1..DEPTH {
            let (next_x, next_y) = load_fragments(pair, step);
            multiply_add(&x, &y, &mut sums);
            (x, y) = (next_x, next_y);
        }
        // The next pair has arrived, as in `matmul_async_copies`. After the last pair, the fragments are never
        // multiplied.
        cp_async::wait::<{ STAGES - 2 }>();
        thread::sync_threads();
        let (next_x, next_y) = load_fragments(pair + 1, 0);
        multiply_add(&x, &y, &mut sums);
        (x, y) = (next_x, next_y);
    }
    // SAFETY: `c` has m * n elements, and each element has one writer. The column is a multiple of 4.
    unsafe { write_sums(&sums, c, (m, n), (tile_row + thread_row, tile_col + thread_col)) };
}
