//! Tensor cores: scores and weights stay in the registers of a warp.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use core::array;
use core::mem::MaybeUninit;

use cuda_std::{GpuFloat, address_space, thread};
use rung::rung;

use super::tiled::of_four;
use super::{exp2, exponent_scale, keys_seen};
use crate::tensor_core::mma::{Chunk, Fragment, MmaElement, SIDE, halves, ldmatrix, multiply_add, store_sums};
use crate::tensor_core::{Bf16, F16, Output, Shared, load, store};

const THREADS: u32 = 256;
/// The number of queries in a block: 16 per warp.
pub(super) const ROWS: u32 = THREADS / 32 * SIDE;
/// The number of keys in a tile.
pub(super) const KEYS: u32 = 64;
/// The number of fragments along the keys of a tile.
pub(super) const STEPS: usize = (KEYS / SIDE) as usize;
/// The number of 16-bit elements in 16 bytes.
const CHUNK: u32 = 8;

/// A warp computes the output of 16 queries with `mma.sync`, and the weights never leave its registers.
///
/// `attention_tiled` reads shared memory for every four multiply-adds, and the CUDA cores limit its speed. Here both
/// products use `mma.sync`. A warp holds the fragments of 16 rows of `q`, multiplies them by a tile of 64 keys, and has
/// 16 × 64 scores in its accumulators. Lane `l` holds scores of rows `l / 4` and `l / 4 + 8`, so the maximum of a row
/// takes two shuffles.
///
/// The weights are the left factor of the second product. For 16 keys, a lane's accumulators are exactly the elements
/// that `mma.sync` expects from this lane in a 16 × 16 fragment. Two neighbors along the keys, rounded to 16 bits, fill
/// one register. So no weight passes through shared memory. The rows of `k` run along the head dimension, which is the
/// order that `mma.sync` expects for the right factor. `v` has the opposite order, so `ldmatrix.trans` transposes each
/// 8 × 8 matrix. (Dao, *FlashAttention-2*, 2023.)
///
/// # Bank conflicts
/// `ldmatrix` reads eight 16-byte rows in one wavefront if they are in different banks. Each row is padded by 16 bytes,
/// so that neighboring rows begin 4 banks apart.
///
/// # Safety
/// See [`attention`](super).
#[rung(
    after = attention_tiled,
    lesson = "tensor cores: scores become weights in registers, in the layout that the second product expects",
    blocks = [256],
    resident = 128 / D,
    grid = |launch| [launch.count_tiles(ROWS, 1), 1, 1],
    T = { _: Bf16, f16: F16 },
    D = { _: 128, d64: 64 },
    CAUSAL = { _: false, causal: true }
)]
pub unsafe fn attention_mma<T: MmaElement + Output<Pair = u32>, const D: u32, const CAUSAL: bool>(
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
    const PITCH: u32 = (D + CHUNK) * 2;
    const COUNT: usize = (KEYS * D / CHUNK / THREADS) as usize;
    #[address_space(shared)]
    static mut TILE_K: MaybeUninit<[Chunk; (KEYS * PITCH / 16) as usize]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut TILE_V: MaybeUninit<[Chunk; (KEYS * PITCH / 16) as usize]> = MaybeUninit::uninit();
    let (tile_k, tile_v) = ((&raw mut TILE_K).cast::<Chunk>(), (&raw mut TILE_V).cast::<Chunk>());
    if queries == 0 {
        return;
    }
    let tile = Tile::<CAUSAL>::of_block(heads, kv_heads, queries, keys);
    // SAFETY: the head of `q` exists, and so does the head of `k` and `v` that it uses.
    let (q, k, v, output) = unsafe {
        let (of_q, of_kv) = ((tile.head * queries * D) as usize, (tile.kv_head * keys * D) as usize);
        (q.add(of_q), k.add(of_kv), v.add(of_kv), output.add(of_q))
    };
    // SAFETY: `q` has `queries` rows.
    let q: [Fragment; COLUMNS] = unsafe { load_queries(q.cast(), D, tile.row, queries) };
    let (from_k, from_v) = (first_chunk::<false>(tile_k, PITCH), first_chunk::<true>(tile_v, PITCH));
    let (mut softmax, mut sums) = (Softmax::START, [[[[0.0; 4]; 2]; COLUMNS]]);

    for first_key in (0..tile.end).step_by(KEYS as usize) {
        // SAFETY: `k` and `v` have `keys` rows of `D` elements, and a query of the block sees at least one key.
        let (loaded_k, loaded_v): ([[u32; 4]; COUNT], [[u32; 4]; COUNT]) =
            unsafe { (load_chunks(k.cast(), D, first_key, keys), load_chunks(v.cast(), D, first_key, keys)) };
        thread::sync_threads();
        // SAFETY: all threads have passed a barrier since the last read of the tiles.
        unsafe {
            store_chunks(tile_k, PITCH, D, &loaded_k);
            store_chunks(tile_v, PITCH, D, &loaded_v);
        }
        thread::sync_threads();
        if first_key >= tile.end_of_warp {
            continue;
        }
        let mut scores = [[[[0.0; 4]; 2]; STEPS]];
        for (step, q) in q.iter().enumerate() {
            // SAFETY: the tile is complete, and all lanes of the warp execute the calls together.
            unsafe {
                let k =
                    array::from_fn(|i| ldmatrix::<false>(from_k.byte_add(i as u32 * 16 * PITCH + step as u32 * 32)));
                multiply_add::<T, 1, STEPS>(&mut scores, &[*q], &k);
            }
        }
        let [scores] = &mut scores;
        tile.mask(scores, first_key);
        let factors = softmax.weigh(scores.as_flattened_mut(), exponent_scale(D));
        scale(sums[0].as_flattened_mut(), factors);
        for (step, weights) in scores.iter().enumerate() {
            // SAFETY: the tile is complete, and all lanes of the warp execute the calls together.
            unsafe {
                let v = array::from_fn(|i| ldmatrix::<true>(from_v.byte_add(step as u32 * 16 * PITCH + i as u32 * 32)));
                multiply_add::<T, 1, COLUMNS>(&mut sums, &[fragment::<T>(weights)], &v);
            }
        }
    }
    scale(sums[0].as_flattened_mut(), softmax.inverse_sums());
    // SAFETY: only one warp stores each row of `output`.
    unsafe { store_sums(&sums, output, [queries, D], tile.row, 0) };
}

/// The queries of a warp, and the keys that they see.
pub(super) struct Tile<const CAUSAL: bool> {
    /// The head of `q`, and the head of `k` and `v`, numbered across all sequences.
    pub(super) head: u32,
    pub(super) kv_head: u32,
    /// The first query of the warp.
    pub(super) row: u32,
    /// The number of keys that the block sees, and the number that the warp sees.
    pub(super) end: u32,
    pub(super) end_of_warp: u32,
    queries: u32,
    keys: u32,
}

impl<const CAUSAL: bool> Tile<CAUSAL> {
    /// Returns the tile of this warp. A block computes `ROWS` queries of a head. `queries` must not be 0.
    #[inline(always)]
    pub(super) fn of_block(heads: u32, kv_heads: u32, queries: u32, keys: u32) -> Self {
        // At least 1, so that the divisions need no check for zero.
        let (blocks, group) = (queries.div_ceil(ROWS).max(1), (heads / kv_heads.max(1)).max(1));
        let (head, first) = (thread::block_idx_x() / blocks, thread::block_idx_x() % blocks * ROWS);
        let row = first + thread::thread_idx_x() / 32 * SIDE;
        let end_of = |row: u32| keys_seen::<CAUSAL>(row.min(queries) - 1, queries, keys);
        let (end, end_of_warp) = (end_of(first + ROWS), end_of(row + SIDE));
        Self { head, kv_head: head / group, row, end, end_of_warp, queries, keys }
    }

    /// Replaces the scores of keys that a query does not see by -∞. The tile of keys begins at `first_key`.
    #[inline(always)]
    pub(super) fn mask(&self, scores: &mut [[[f32; 4]; 2]; STEPS], first_key: u32) {
        let key_count = |row: u32| keys_seen::<CAUSAL>(row, self.queries, self.keys);
        // The first query of the warp sees the fewest keys.
        if first_key + KEYS <= key_count(self.row) {
            return;
        }
        let lane = thread::thread_idx_x() % 32;
        let key_count = [0, 8].map(|half| key_count(self.row + half + lane / 4));
        for (i, scores) in scores.as_flattened_mut().iter_mut().enumerate() {
            for (j, score) in scores.iter_mut().enumerate() {
                if first_key + i as u32 * 8 + lane % 4 * 2 + j as u32 % 2 >= key_count[j / 2] {
                    *score = f32::NEG_INFINITY;
                }
            }
        }
    }
}

/// The online softmax of the two rows whose scores are in a lane's accumulators.
pub(super) struct Softmax {
    /// The maximum of each row's scores.
    max: [f32; 2],
    /// The sum of this lane's weights.
    sum: [f32; 2],
}

impl Softmax {
    /// The state before the first key. The maximum is finite, so its difference from each score is finite or -∞, and
    /// never NaN.
    pub(super) const START: Self = Self { max: [f32::MIN; 2], sum: [0.0; 2] };

    /// Replaces the scores with their weights. Returns the factor by which each row's earlier sums must be multiplied.
    #[inline(always)]
    pub(super) fn weigh(&mut self, scores: &mut [[f32; 4]], exponent_scale: f32) -> [f32; 2] {
        let mut max = self.max;
        for &[a, b, c, d] in &*scores {
            max = [max[0].max(a.max(b)), max[1].max(c.max(d))];
        }
        let max = max.map(|max| of_four(max, f32::max));
        let offsets = max.map(|max| -max * exponent_scale);
        let factors = [0, 1].map(|row| exp2((self.max[row] - max[row]) * exponent_scale));
        // Each step processes both rows, because instructions of different rows do not wait for each other.
        let mut sum = [0.0; 2];
        for [a, b, c, d] in scores {
            *a = exp2(GpuFloat::mul_add(*a, exponent_scale, offsets[0]));
            *b = exp2(GpuFloat::mul_add(*b, exponent_scale, offsets[0]));
            *c = exp2(GpuFloat::mul_add(*c, exponent_scale, offsets[1]));
            *d = exp2(GpuFloat::mul_add(*d, exponent_scale, offsets[1]));
            sum = [sum[0] + (*a + *b), sum[1] + (*c + *d)];
        }
        self.sum = [0, 1].map(|row| GpuFloat::mul_add(self.sum[row], factors[row], sum[row]));
        self.max = max;
        factors
    }

    /// Returns 1 / the sum of all weights of each row, or 0 for a query that sees no key.
    #[inline(always)]
    pub(super) fn inverse_sums(self) -> [f32; 2] {
        self.sum.map(|sum| {
            let sum = of_four(sum, |a, b| a + b);
            if sum > 0.0 { 1.0 / sum } else { 0.0 }
        })
    }
}

/// Multiplies the accumulators of both rows by one factor per row.
#[inline(always)]
pub(super) fn scale(sums: &mut [[f32; 4]], [first, second]: [f32; 2]) {
    for [a, b, c, d] in sums {
        (*a, *b, *c, *d) = (*a * first, *b * first, *c * second, *d * second);
    }
}

/// Returns the fragment of 16 × 16 weights: first rows 0 and 8, then the same rows for the next 8 keys.
#[inline(always)]
pub(super) fn fragment<T: Output<Pair = u32>>([left, right]: &[[f32; 4]; 2]) -> Fragment {
    [T::pair(left[0], left[1]), T::pair(left[2], left[3]), T::pair(right[0], right[1]), T::pair(right[2], right[3])]
}

/// Loads the fragments of 16 rows of `q`, starting at `row`. Rows from `rows` on are 0.
///
/// # Safety
/// The caller must ensure that `q` has `rows` rows of `columns` elements and is aligned to 4 bytes.
#[inline(always)]
pub(super) unsafe fn load_queries<const N: usize>(q: *const u32, columns: u32, row: u32, rows: u32) -> [Fragment; N] {
    let lane = thread::thread_idx_x() % 32;
    array::from_fn(|step| {
        [0, 1, 2, 3].map(|matrix| {
            let (half, k_half) = halves::<false>(matrix);
            let row = row + half * 8 + lane / 4;
            let pair = row * columns / 2 + step as u32 * 8 + k_half * 4 + lane % 4;
            // SAFETY: the pair is read only if row < rows.
            if row < rows { unsafe { *q.add(pair as usize) } } else { 0 }
        })
    })
}

/// Loads this thread's chunks of a tile of `KEYS` rows of `columns` elements. Rows from `rows` on are 0.
///
/// # Safety
/// The caller must ensure that the matrix has `rows` rows, at least one, and is aligned to 16 bytes.
#[inline(always)]
unsafe fn load_chunks<const N: usize>(matrix: *const u32, columns: u32, first_row: u32, rows: u32) -> [[u32; 4]; N] {
    array::from_fn(|i| {
        let chunk = i as u32 * THREADS + thread::thread_idx_x();
        let exists = first_row + chunk * CHUNK / columns < rows;
        // Missing chunks are replaced by existing chunks, so the loads need no branch and are all in flight at the same
        // time.
        let place = if exists { first_row * columns / 2 + chunk * 4 } else { 0 };
        // SAFETY: the first row exists, and so does the row of this chunk.
        let words: [u32; 4] = unsafe { load(matrix.add(place as usize)) };
        words.map(|word| if exists { word } else { 0 })
    })
}

/// Stores chunks that [`load_chunks`] returned in a tile whose rows are `pitch` bytes apart.
///
/// # Safety
/// The caller must ensure that no thread accesses the tile before the next barrier.
#[inline(always)]
unsafe fn store_chunks<const N: usize>(tile: *mut Chunk, pitch: u32, columns: u32, chunks: &[[u32; 4]; N]) {
    for (i, words) in chunks.iter().enumerate() {
        let chunk = i as u32 * THREADS + thread::thread_idx_x();
        let (row, column) = (chunk * CHUNK / columns, chunk % (columns / CHUNK));
        // SAFETY: the chunk is in the tile, and no other thread writes it.
        unsafe { store(tile.wrapping_byte_add((row * pitch + column * 16) as usize).cast(), *words) };
    }
}

/// Returns the address of the chunk that this lane passes to the first `ldmatrix` of a tile.
#[inline(always)]
fn first_chunk<const IS_V: bool>(tile: *const Chunk, pitch: u32) -> Shared {
    let (row, chunk) = row_and_chunk::<IS_V>();
    Shared::of(tile).byte_add(row * pitch + chunk * 16)
}

/// Returns the row and the chunk of a tile that this lane passes to the first `ldmatrix`. The chunk is a row of 8 × 8
/// matrix number `lane / 8`. In the first product, keys are columns of the right factor. In the second product, the sum
/// runs along the keys.
#[inline(always)]
pub(super) fn row_and_chunk<const IS_V: bool>() -> (u32, u32) {
    let lane = thread::thread_idx_x() % 32;
    let (half, k_half) = halves::<true>(lane / 8);
    if IS_V { (k_half * 8 + lane % 8, half) } else { (half * 8 + lane % 8, k_half) }
}
