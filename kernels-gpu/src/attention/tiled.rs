//! One pass over the keys with the online softmax, on CUDA cores.

use core::array;
use core::mem::MaybeUninit;

use cuda_std::{GpuFloat, address_space, thread, warp};
use rung::rung;

use super::{exp2, exponent_scale, keys_seen};
use crate::tensor_core::{Bf16, Element, F16, Output, Wide, load, opaque};

const THREADS: u32 = 128;
/// The number of lanes that share a query.
const LANES: u32 = 4;
/// The number of queries in a block.
const ROWS: u32 = THREADS / LANES;
/// The number of keys in a tile in shared memory, and the number of keys whose scores a thread holds.
const KEYS: u32 = 32;
const STEP: usize = 16;
/// The number of elements in 16 bytes of global memory, and the number of floats in 16 bytes of shared memory.
const CHUNK: u32 = 8;
const FLOATS: u32 = 4;

/// One pass over the keys: whenever the maximum of a row grows, the sums of the product with `v` are rescaled.
///
/// The softmax needs the maximum of a row before the first weight, so `attention_naive` writes all scores first. The
/// *online softmax* uses the maximum of the scores so far. For the next scores, it first computes the new maximum. Then
/// it multiplies the sum of weights and the sums of the output by 2^(old - new). After the last key, both sums are
/// relative to the maximum of the whole row, and their quotient is the output. (Milakov and Gimelshein, *Online
/// normalizer calculation for softmax*, 2018; Dao et al., *FlashAttention*, 2022.)
///
/// So scores stay in registers, and global memory holds only the four tensors. Four lanes share a query. Each lane
/// holds a quarter of the query's elements of `q` and `output`. Two shuffles add the lanes' parts of a score. Tiles of
/// `k` and `v` are stored in shared memory as floats, and 32 queries use each tile. A thread reads 16 bytes of shared
/// memory for four multiply-adds. It processes the scores 16 keys at a time, so it rescales the sums once per 16 keys.
/// The block skips tiles that none of its queries sees.
///
/// # Bank conflicts
/// The four lanes of a query read 64 contiguous bytes of a row, 16 bytes per lane, because a lane's groups of elements
/// are 16 elements apart. The remaining lanes of the warp belong to other queries and read these 64 bytes as well.
///
/// # Safety
/// See [`attention`](super).
#[rung(
    after = attention_naive,
    lesson = "the online softmax: one pass over tiles of keys, and no matrix of scores in memory",
    blocks = [128],
    resident = 3,
    grid = |launch| [launch.count_tiles(ROWS, 1), 1, 1],
    T = { _: Bf16, f16: F16 },
    D = { _: 128, d64: 64 },
    CAUSAL = { _: false, causal: true }
)]
pub unsafe fn attention_tiled<T: Element + Output<Pair = u32>, const D: u32, const CAUSAL: bool>(
    q: *const T,
    k: *const T,
    v: *const T,
    output: *mut T,
    heads: u32,
    kv_heads: u32,
    queries: u32,
    keys: u32,
) {
    const PARTS: usize = (D / LANES / FLOATS) as usize;
    const TILE: usize = (KEYS * D / FLOATS) as usize;
    #[address_space(shared)]
    static mut TILE_K: MaybeUninit<[Wide<f32, 4>; TILE]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut TILE_V: MaybeUninit<[Wide<f32, 4>; TILE]> = MaybeUninit::uninit();
    let (tile_k, tile_v) = ((&raw mut TILE_K).cast::<Wide<f32, 4>>(), (&raw mut TILE_V).cast::<Wide<f32, 4>>());
    let (tid, block) = (thread::thread_idx_x(), thread::block_idx_x());
    let (part, blocks) = (tid % LANES, queries.div_ceil(ROWS).max(1));
    let (head, first_query) = (block / blocks, block % blocks * ROWS);
    let query = first_query + tid / LANES;
    if queries == 0 {
        return;
    }
    let kv_start = head / (heads / kv_heads.max(1)).max(1) * keys * D;
    let (k, v) = (k.wrapping_add(kv_start as usize), v.wrapping_add(kv_start as usize));
    // This lane's elements of `q` and of `output` are 4 · part to 4 · part + 3 of every 16.
    let first = (head * queries + query) * D + part * FLOATS;
    let row = array::from_fn::<_, PARTS, _>(|i| {
        array::from_fn::<_, 4, _>(|j| match query < queries {
            // SAFETY: query < queries, so the row exists.
            true => unsafe { *q.add((first + i as u32 * LANES * FLOATS) as usize + j) }.to_f32(),
            false => 0.0,
        })
    });
    let (key_count, mut max, mut sum) = (keys_seen::<CAUSAL>(query, queries, keys), f32::MIN, 0.0);
    let mut sums = [[0.0; 4]; PARTS];
    let end = keys_seen::<CAUSAL>((first_query + ROWS).min(queries) - 1, queries, keys);
    for first_key in (0..end).step_by(KEYS as usize) {
        thread::sync_threads();
        // SAFETY: all threads have passed a barrier since the last read of the tiles.
        unsafe {
            store_tile::<T>(tile_k, k, D, first_key, keys);
            store_tile::<T>(tile_v, v, D, first_key, keys);
        }
        thread::sync_threads();
        for step in (0..opaque(KEYS)).step_by(STEP) {
            let index_of = |key: usize, i: usize| (step + key as u32) * D / FLOATS + i as u32 * LANES + part;
            let mut scores = [0.0; STEP];
            for (key, score) in scores.iter_mut().enumerate() {
                for (i, q) in row.iter().enumerate() {
                    // SAFETY: the chunk is in the tile, which is complete.
                    let k = unsafe { (*tile_k.add(index_of(key, i) as usize)).0 };
                    *score = (0..4).fold(*score, |score, j| GpuFloat::mul_add(q[j], k[j], score));
                }
                *score = of_four(*score, |a, b| a + b);
                if first_key + step + key as u32 >= key_count {
                    *score = f32::NEG_INFINITY;
                }
            }
            let new_max = scores.iter().fold(max, |max, score| max.max(*score));
            let factor = exp2((max - new_max) * exponent_scale(D));
            max = new_max;
            sum *= factor;
            sums.as_flattened_mut().iter_mut().for_each(|sum| *sum *= factor);
            for (key, score) in scores.iter().enumerate() {
                let weight = exp2((score - max) * exponent_scale(D));
                sum += weight;
                for (i, sums) in sums.iter_mut().enumerate() {
                    // SAFETY: the chunk is in the tile, which is complete.
                    let v = unsafe { (*tile_v.add(index_of(key, i) as usize)).0 };
                    (0..4).for_each(|j| sums[j] = GpuFloat::mul_add(weight, v[j], sums[j]));
                }
            }
        }
    }
    // A query that sees no key has a sum of 0, and an output of 0.
    let inverse = if sum > 0.0 { 1.0 / sum } else { 0.0 };
    if query < queries {
        for (i, sums) in sums.iter().enumerate() {
            let [a, b, c, d] = sums.map(|sum| sum * inverse);
            // SAFETY: query < queries, and no other thread writes these elements, which are aligned as pairs.
            unsafe {
                let to = output.add((first + i as u32 * LANES * FLOATS) as usize).cast::<u32>();
                *to = T::pair(a, b);
                *to.add(1) = T::pair(c, d);
            }
        }
    }
}

/// Combines the values of the four lanes of a query and returns the result to all four lanes. All lanes of the warp
/// must call the function together.
#[inline(always)]
pub(super) fn of_four(value: f32, combine: impl Fn(f32, f32) -> f32) -> f32 {
    // SAFETY: the mask names all 32 lanes, and all of them execute the shuffle.
    let value = combine(value, unsafe { warp::warp_shuffle_xor(u32::MAX, value, 1, 32) }.0);
    // SAFETY: the mask names all 32 lanes, and all of them execute the shuffle.
    combine(value, unsafe { warp::warp_shuffle_xor(u32::MAX, value, 2, 32) }.0)
}

/// Converts a tile of `KEYS` rows of `columns` elements to floats and stores it. Rows from `rows` on are 0.
///
/// # Safety
/// The caller must ensure that all threads of the block call the function, and that no thread reads the tile before a
/// barrier. The matrix must have `rows` rows and be aligned to 16 bytes.
#[inline(always)]
unsafe fn store_tile<T: Element>(tile: *mut Wide<f32, 4>, matrix: *const T, columns: u32, first_row: u32, rows: u32) {
    for i in (thread::thread_idx_x()..KEYS * columns / CHUNK).step_by(THREADS as usize) {
        let mut floats = [Wide([0.0; 4]); 2];
        if first_row + i * CHUNK / columns < rows {
            // SAFETY: the row exists, and rows are multiples of a chunk.
            let elements: [T; 8] = unsafe { load(matrix.add((first_row * columns + i * CHUNK) as usize)) };
            floats = [0, 4].map(|half| Wide(array::from_fn(|j| elements[half + j].to_f32())));
        }
        // SAFETY: i * CHUNK < KEYS * columns, and no other thread writes this chunk.
        unsafe {
            *tile.add(i as usize * 2) = floats[0];
            *tile.add(i as usize * 2 + 1) = floats[1];
        }
    }
}
