//! Tensor cores: a warp multiplies whole fragments, which its lanes load word by word.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use core::array;
use core::mem::MaybeUninit;

use cuda_std::{address_space, thread};
use rung::rung;

use crate::tensor_core::mma::{self, Chunk, Fragment, MmaElement, halves, load_chunk, multiply_add, store_sums};
use crate::tensor_core::{BAND, Bf16, F16, Output, tile_corner};

/// The number of rows and of columns in a block's tile of `c`.
const SIDE: u32 = 128;
/// The number of elements along `k` in the tiles of `a` and `b`.
const DEPTH: u32 = 32;
/// The number of elements in 16 bytes.
const CHUNK: u32 = 8;
/// The number of words from one row to the next in a tile of `SIDE` rows of `DEPTH` elements (K-major).
const K_MAJOR_STRIDE: u32 = DEPTH / 2 + 4;
/// The number of words from one pair along `k` to the next in a tile of `DEPTH / 2` rows of `SIDE` pairs.
const PAIRS_STRIDE: u32 = SIDE + 8;

/// A warp multiplies 16 × 16 elements of `a` by 16 × 8 of `b` with one instruction, `mma.sync`.
///
/// `mma.sync` takes fragments from a warp's registers and adds the 2048 products to 16 × 8 sums. With this instruction,
/// a multiprocessor of compute capability 8.0 does 1024 multiply-adds per cycle, and a multiprocessor of 9.0 does more.
/// The CUDA cores of these multiprocessors do only 64 and 128. The next rungs optimize how fragments reach the
/// registers.
///
/// A block of 8 warps computes 128 × 128 elements of `c`, and each warp computes 64 × 32 of these elements. For 16
/// elements along `k`, a warp reads 64 rows of `a` and 32 columns of `b` from shared memory, 3 KB. Shared memory
/// delivers 128 bytes per cycle, so this takes 24 cycles for 16 `mma.sync` (32768 multiply-adds). So these tiles are
/// close to the limit of shared memory. Larger warp tiles (`gemm_cp_async`) need less of its bandwidth. A register
/// holds two elements that are neighbors along `k`. A lane loads them as one word, so 16 `mma.sync` need 24 loads.
///
/// # Bank conflicts
/// Lane `l` reads pair `l % 4` of row `l / 4`, so a warp reads 4 words from each of 8 rows. With 64-byte rows, every
/// second row begins in the same bank, and a load takes 4 wavefronts. With 16 bytes of padding, a row has 20 words, and
/// 8 rows begin in banks 0, 20, 8, 28, 16, 4, 24 and 12. So the 32 words are in 32 banks.
///
/// If `b` is row-major, the two elements of a pair are in two rows of memory. A thread reads both rows and joins the
/// pairs before the stores. So row `i` of the tile holds the pairs of elements `2 i` and `2 i + 1` along `k`. From this
/// tile, lane `l` reads word `l / 4` of row `l % 4`. With 8 words of padding, rows are 8 banks apart.
///
/// # Safety
/// See [`gemm`](super).
#[rung(
    after = gemm_tiled,
    lesson = "tensor cores: a warp multiplies 16 x 16 by 16 x 8 at once, from fragments that lanes load by hand",
    blocks = [256],
    resident = 2,
    grid = |launch| [launch.count_tiles(SIDE, SIDE), 1, 1],
    (A, C) = { _: (Bf16, Bf16), f32: (Bf16, f32), f16: (F16, F16), f16_f32: (F16, f32) },
    COLUMN_MAJOR = { _: false, columns: true }
)]
pub unsafe fn gemm_mma<A: MmaElement, C: Output, const COLUMN_MAJOR: bool>(
    a: *const A,
    b: *const A,
    c: *mut C,
    m: u32,
    n: u32,
    k: u32,
) {
    const WORDS_A: u32 = SIDE * K_MAJOR_STRIDE;
    const WORDS_B: u32 = if COLUMN_MAJOR { SIDE * K_MAJOR_STRIDE } else { DEPTH / 2 * PAIRS_STRIDE };
    #[address_space(shared)]
    static mut TILE_A: MaybeUninit<[Chunk; WORDS_A as usize / 4]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut TILE_B: MaybeUninit<[Chunk; WORDS_B as usize / 4]> = MaybeUninit::uninit();
    let (tile_a, tile_b) = ((&raw mut TILE_A).cast::<u32>(), (&raw mut TILE_B).cast::<u32>());
    let (tile_row, tile_col) = tile_corner(thread::block_idx_x(), [SIDE, SIDE], BAND, m, n);
    // Two rows and four columns of warps.
    let warp = thread::thread_idx_x() / 32;
    let (warp_row, warp_col) = (warp % 2 * 64, warp / 2 * 32);

    let from_a = first_word::<true>(tile_a, warp_row);
    let from_b = first_word::<COLUMN_MAJOR>(tile_b, warp_col);
    let mut sums = [[[[0.0; 4]; 2]; 2]; 4];
    for k_start in (0..k).step_by(DEPTH as usize) {
        // The loads come before the barrier, so that they overlap the multiplications of other warps.
        // SAFETY: the matrices have the sizes m * k and k * n.
        let (loaded_a, loaded_b) = unsafe {
            let loaded_a = load_chunks::<true>(a.cast(), [m, k], tile_row, k_start);
            let loaded_b = if COLUMN_MAJOR {
                load_chunks::<true>(b.cast(), [n, k], tile_col, k_start)
            } else {
                load_chunks::<false>(b.cast(), [k, n], k_start, tile_col)
            };
            (loaded_a, loaded_b)
        };
        thread::sync_threads();
        // SAFETY: all threads have passed a barrier since the last read of the tiles.
        unsafe {
            store_chunks::<true>(tile_a, loaded_a);
            store_chunks::<COLUMN_MAJOR>(tile_b, loaded_b);
        }
        thread::sync_threads();
        for step in 0..DEPTH / mma::SIDE {
            // SAFETY: the barrier orders the reads after all writes. All lanes of the warp execute the call together.
            unsafe {
                let a = array::from_fn(|i| load_fragment::<true, false>(from_a, 16 * i as u32, step));
                let b = array::from_fn(|i| load_fragment::<COLUMN_MAJOR, true>(from_b, 16 * i as u32, step));
                multiply_add::<A, 4, 2>(&mut sums, &a, &b);
            }
        }
    }
    // SAFETY: only one warp stores each element of `c`.
    unsafe { store_sums(&sums, c, [m, n], tile_row + warp_row, tile_col + warp_col) };
}

/// Returns the row and the column of this thread's first chunk in a tile, in global memory order.
#[inline(always)]
fn first_chunk<const K_MAJOR: bool>() -> (u32, u32) {
    let chunks_in_row = if K_MAJOR { DEPTH } else { SIDE } / CHUNK;
    let (row, chunk) = (thread::thread_idx_x() / chunks_in_row, thread::thread_idx_x() % chunks_in_row);
    if K_MAJOR {
        // In a wavefront, eight lanes store 128 bytes, which are chunks of two rows. Rows that are 4 apart are in
        // different banks.
        (row / 8 * 8 + row % 2 * 4 + row / 2 % 4, chunk * CHUNK)
    } else {
        (row * 2, chunk * CHUNK)
    }
}

/// Loads this thread's two chunks of a tile. They are in rows `SIDE / 2` apart if the tile is K-major, and otherwise in
/// neighboring rows.
///
/// # Safety
/// The caller must ensure that the matrix is row-major and has `rows * columns` elements.
#[inline(always)]
unsafe fn load_chunks<const K_MAJOR: bool>(
    matrix: *const u16,
    [rows, columns]: [u32; 2],
    tile_row: u32,
    tile_col: u32,
) -> [Chunk; 2] {
    let (row, col) = first_chunk::<K_MAJOR>();
    let (row, col, distance) = (tile_row + row, tile_col + col, if K_MAJOR { SIDE / 2 } else { 1 });
    // Along a row of tiles, only `col` changes, so the compiler computes the row's address once.
    let first = matrix.wrapping_add((row * columns) as usize).wrapping_add(col as usize);
    let left = columns as i32 - col as i32;
    [0, distance].map(|i| {
        let from = first.wrapping_add((i * columns) as usize);
        // SAFETY: if the row exists, `left` columns exist from `from` on.
        unsafe { load_chunk(matrix, columns, from, if row + i < rows { left } else { 0 }) }
    })
}

/// Stores two chunks that [`load_chunks`] returned.
///
/// # Safety
/// The caller must ensure that no thread accesses the tile before the next barrier.
#[inline(always)]
unsafe fn store_chunks<const K_MAJOR: bool>(tile: *mut u32, [first, second]: [Chunk; 2]) {
    let (row, col) = first_chunk::<K_MAJOR>();
    if K_MAJOR {
        let to = tile.wrapping_add((row * K_MAJOR_STRIDE + col / 2) as usize);
        // SAFETY: row < SIDE / 2, and no other thread writes these chunks. The stride is a multiple of 16 bytes.
        unsafe {
            *to.cast() = first;
            *to.wrapping_add((SIDE / 2 * K_MAJOR_STRIDE) as usize).cast() = second;
        }
        return;
    }
    // Four pairs of the eight columns: the lower half of a word is from the first row, and the upper half from the
    // second row.
    let pairs = |half: usize| {
        let [(a, b), (c, d)] = [0, 1].map(|i| (first.0[half * 2 + i], second.0[half * 2 + i]));
        Chunk([a & 0xffff | b << 16, a >> 16 | b & 0xffff_0000, c & 0xffff | d << 16, c >> 16 | d & 0xffff_0000])
    };
    let to = tile.wrapping_add((row / 2 * PAIRS_STRIDE + col) as usize);
    // Of eight lanes, four store their first half first and four their second half, so all stores go to different
    // banks.
    let swaps = col / CHUNK / 4 % 2 == 1;
    let (near, far) = if swaps { (pairs(1), pairs(0)) } else { (pairs(0), pairs(1)) };
    // SAFETY: row / 2 < DEPTH / 2 and col + 8 <= SIDE, and no other thread writes these pairs.
    unsafe {
        *to.wrapping_add(if swaps { 4 } else { 0 }).cast() = near;
        *to.wrapping_add(if swaps { 0 } else { 4 }).cast() = far;
    }
}

/// Returns two strides of a tile in words: from one row of `a` or column of `b` to the next, and from one pair along
/// `k` to the next.
const fn strides<const K_MAJOR: bool>() -> [u32; 2] {
    if K_MAJOR { [K_MAJOR_STRIDE, 1] } else { [1, PAIRS_STRIDE] }
}

/// Returns the address of this lane's first word of the fragments that begin at row or column `first` of a tile.
#[inline(always)]
fn first_word<const K_MAJOR: bool>(tile: *const u32, first: u32) -> *const u32 {
    let ([x_stride, pair_stride], lane) = (strides::<K_MAJOR>(), thread::thread_idx_x() % 32);
    tile.wrapping_add(((first + lane / 4) * x_stride + lane % 4 * pair_stride) as usize)
}

/// Loads a fragment: 16 rows of `a` or columns of `b` that start `distance` after the `first` of [`first_word`]. From
/// each row or column, it loads 16 elements along `k`: slice number `step`.
///
/// # Safety
/// The caller must ensure that the whole tile has been written, and that the rows or columns are in it.
#[inline(always)]
unsafe fn load_fragment<const K_MAJOR: bool, const IS_B: bool>(
    first_word: *const u32,
    distance: u32,
    step: u32,
) -> Fragment {
    let [x_stride, pair_stride] = strides::<K_MAJOR>();
    [0, 1, 2, 3].map(|matrix| {
        let (half, k_half) = halves::<IS_B>(matrix);
        let word = (distance + half * 8) * x_stride + (step * 8 + k_half * 4) * pair_stride;
        // SAFETY: the rows or columns are in the tile, which has DEPTH / 2 pairs per row or column.
        unsafe { *first_word.wrapping_add(word as usize) }
    })
}
