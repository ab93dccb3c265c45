//! Asynchronous copies of the next tile, and swizzled tiles.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use core::array;

use cuda_std::{shared, thread};
use rung::rung;

use super::exponent_scale;
use super::mma::{KEYS, ROWS, STEPS, Softmax, Tile, fragment, load_queries, row_and_chunk, scale};
use crate::tensor_core::cp_async::{commit, copy_four, wait};
use crate::tensor_core::mma::{Chunk, Fragment, MmaElement, SIDE, ldmatrix, multiply_add, store_sums};
use crate::tensor_core::{Bf16, F16, Output, Shared};

const THREADS: u32 = 256;
/// The number of elements in 16 bytes, the size of a copy.
const CHUNK: u32 = 8;

/// While the block multiplies a tile, the copies of the next tiles of `k` and `v` are in flight.
///
/// In `attention_mma`, a block loads two tiles into registers, waits for the loads, stores the tiles in shared memory,
/// and waits for all threads before it multiplies. These steps take two barriers per tile, and 32 registers only hold
/// loaded elements. Here shared memory has two stages, each with a tile of `k` and a tile of `v`. `cp.async` fills one
/// stage while the block multiplies the other stage. One barrier per tile is enough. After the barrier, the stage has
/// arrived for all threads, and all threads have multiplied the previous stage, which is filled next.
///
/// The tiles are swizzled, as in `gemm_ldmatrix`: chunk `j` of row `i` is stored as chunk `j ^ i % 8`. Padding would
/// cost 4 KB for the two stages, and rows would not start at multiples of 128 bytes.
///
/// # Safety
/// See [`attention`](super).
#[rung(
    after = attention_mma,
    lesson = "asynchronous copies fill one stage while the other is multiplied, with one barrier for each tile",
    blocks = [256],
    resident = 128 / D,
    dynamic_shared = 2 * 2 * KEYS * D * 2,
    grid = |launch| [launch.count_tiles(ROWS, 1), 1, 1],
    T = { _: Bf16, f16: F16 },
    D = { _: 128, d64: 64 },
    CAUSAL = { _: false, causal: true }
)]
pub unsafe fn attention_cp_async<T: MmaElement + Output<Pair = u32>, const D: u32, const CAUSAL: bool>(
    q: *const T,
    k: *const T,
    v: *const T,
    output: *mut T,
    heads: u32,
    kv_heads: u32,
    queries: u32,
    keys: u32,
) {
    const COLUMNS: usize = (D / SIDE) as usize;
    const PITCH: u32 = D * 2;
    const TILE_BYTES: u32 = KEYS * PITCH;
    let stages = Shared::of(shared::dynamic_shared_mem::<Chunk>());
    if queries == 0 {
        return;
    }
    let tile = Tile::<CAUSAL>::of_block(heads, kv_heads, queries, keys);
    // SAFETY: the head of `q` exists, and so does the head of `k` and `v` that it uses.
    let (q, k, v, output) = unsafe {
        let (of_q, of_kv) = ((tile.head * queries * D) as usize, (tile.kv_head * keys * D) as usize);
        (q.add(of_q), k.add(of_kv), v.add(of_kv), output.add(of_q))
    };
    let start_copies = |first_key: u32, stage: u32| {
        // SAFETY: `k` and `v` have `keys` rows of `D` elements. All threads have passed a barrier since the last read
        // of the stage.
        unsafe {
            start_copies(stages.byte_add(stage), k, D, first_key, keys);
            start_copies(stages.byte_add(stage + TILE_BYTES), v, D, first_key, keys);
        }
        commit();
    };
    start_copies(0, 0);
    // SAFETY: `q` has `queries` rows.
    let q: [Fragment; COLUMNS] = unsafe { load_queries(q.cast(), D, tile.row, queries) };
    let (from_k, from_v) = (first_chunk::<false>(PITCH), first_chunk::<true>(PITCH));
    let (mut softmax, mut sums, mut stage) = (Softmax::START, [[[[0.0; 4]; 2]; COLUMNS]], 0);

    for first_key in (0..tile.end).step_by(KEYS as usize) {
        wait::<0>();
        thread::sync_threads();
        if first_key + KEYS < tile.end {
            start_copies(first_key + KEYS, stage ^ (2 * TILE_BYTES));
        }
        let (tile_k, tile_v) = (stages.byte_add(stage), stages.byte_add(stage + TILE_BYTES));
        stage ^= 2 * TILE_BYTES;
        if first_key >= tile.end_of_warp {
            continue;
        }
        // Advancing by two chunks within a row is an exclusive or, and advancing by 16 rows does not change the
        // swizzle.
        let mut scores = [[[[0.0; 4]; 2]; STEPS]];
        for (step, q) in q.iter().enumerate() {
            let from = tile_k.byte_add(from_k ^ (step as u32 * 32));
            // SAFETY: the tile has arrived, and all lanes of the warp execute the calls together.
            unsafe {
                let k = array::from_fn(|i| ldmatrix::<false>(from.byte_add(i as u32 * 16 * PITCH)));
                multiply_add::<T, 1, STEPS>(&mut scores, &[*q], &k);
            }
        }
        let [scores] = &mut scores;
        tile.mask(scores, first_key);
        let factors = softmax.weigh(scores.as_flattened_mut(), exponent_scale(D));
        scale(sums[0].as_flattened_mut(), factors);
        for (step, weights) in scores.iter().enumerate() {
            let from = |i: usize| tile_v.byte_add((from_v ^ (i as u32 * 32)) + step as u32 * 16 * PITCH);
            // SAFETY: the tile has arrived, and all lanes of the warp execute the calls together.
            unsafe {
                let v = array::from_fn(|i| ldmatrix::<true>(from(i)));
                multiply_add::<T, 1, COLUMNS>(&mut sums, &[fragment::<T>(weights)], &v);
            }
        }
    }
    // Waits for the copies of the first stage even if no query sees a key.
    wait::<0>();
    scale(sums[0].as_flattened_mut(), softmax.inverse_sums());
    // SAFETY: only one warp stores each row of `output`.
    unsafe { store_sums(&sums, output, [queries, D], tile.row, 0) };
}

/// Starts the copies of this thread's chunks of a tile of `KEYS` rows of `columns` elements. Rows from `rows` on are 0.
///
/// # Safety
/// The caller must ensure that the matrix has `rows` rows and is aligned to 16 bytes, and that no thread accesses the
/// tile before a wait for the copies.
#[inline(always)]
unsafe fn start_copies<T>(tile: Shared, matrix: *const T, columns: u32, first_row: u32, rows: u32) {
    for i in (thread::thread_idx_x()..KEYS * columns / CHUNK).step_by(THREADS as usize) {
        let (row, chunk) = (i * CHUNK / columns, i % (columns / CHUNK));
        let from = matrix.wrapping_add((first_row * columns + i * CHUNK) as usize);
        // SAFETY: the chunk is read only if its row exists. Its destination is in the tile, and no other thread writes
        // there.
        unsafe { copy_four(tile.byte_add(swizzled(columns * 2, row, chunk)), from.cast(), first_row + row < rows) };
    }
}

/// Returns the offset of a chunk in a swizzled tile whose rows are `pitch` bytes long.
#[inline(always)]
const fn swizzled(pitch: u32, row: u32, chunk: u32) -> u32 {
    row * pitch + (chunk ^ (row % 8)) * 16
}

/// Returns the offset of the chunk that this lane passes to the first `ldmatrix` of a tile.
#[inline(always)]
fn first_chunk<const IS_V: bool>(pitch: u32) -> u32 {
    let (row, chunk) = row_and_chunk::<IS_V>();
    swizzled(pitch, row, chunk)
}
