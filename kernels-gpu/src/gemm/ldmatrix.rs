//! Fragments loaded with `ldmatrix` from swizzled tiles.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use core::array;
use core::mem::MaybeUninit;

use cuda_std::{address_space, thread};
use rung::rung;

use crate::tensor_core::mma::{self, Chunk, Fragment, MmaElement, halves, load_chunk, multiply_add, store_sums};
use crate::tensor_core::{BAND, Bf16, F16, Output, Shared, tile_corner};

/// The number of rows and of columns in a block's tile of `c`.
const SIDE: u32 = 128;
/// The number of elements along `k` in the tiles of `a` and `b`.
const DEPTH: u32 = 32;
const THREADS: u32 = 256;
/// The number of elements in 16 bytes.
const CHUNK: u32 = 8;
/// The number of chunks in a tile.
const CHUNKS: u32 = SIDE * DEPTH / CHUNK;

/// One instruction loads a fragment. The tiles are swizzled, so there are no bank conflicts.
///
/// In `gemm_mma`, a warp loads a 512-byte fragment with four instructions, and if `b` is row-major, threads join its
/// pairs. `ldmatrix` loads the whole fragment: each lane provides the address of 16 bytes (8 elements), and the
/// hardware returns four words to each lane. For 16 `mma.sync`, 6 loads are enough instead of 24. For row-major `b`,
/// `.trans` transposes each 8 × 8 matrix during the load. So for both layouts, a tile is a plain copy of global memory.
///
/// # Bank conflicts
/// `ldmatrix` takes one wavefront for every eight 16-byte rows (*chunks*) if they are in different banks. The 32 banks
/// form one line of 128 bytes, 8 chunks. So shared memory is a grid with 8 columns of chunks, and a wavefront serves
/// one chunk of each column. In a K-major tile of 32 elements per row, a line holds two rows. Without padding or a
/// swizzle, one chunk from each of 8 rows lies in only two columns, so loading the 8 chunks takes 4 wavefronts.
///
/// - *Padding* leaves one chunk free after each row. A row then has 5 chunks, and 8 rows begin in columns 0, 5, 2, 7,
///   4, 1, 6 and 3. There are no conflicts, but a tile needs a quarter more memory, which would cost one of the four
///   stages of `gemm_cp_async`.
/// - A *swizzle* needs no additional memory. In line `i`, chunk `j` of a row is stored as chunk `j ^ i % 4` (`j ^ i %
///   8` if a row fills at least one line). Then the chunks with the same number in 8 rows are in 8 different columns,
///   four in each half of a line, so there are no conflicts. Moving an address along `k`, or to other rows, takes one
///   exclusive or with a constant.
///
/// # Safety
/// See [`gemm`](super).
#[rung(
    after = gemm_mma,
    lesson = "ldmatrix loads a fragment in one instruction and can transpose it; a swizzle avoids bank conflicts",
    blocks = [256],
    resident = 2,
    grid = |launch| [launch.count_tiles(SIDE, SIDE), 1, 1],
    (A, C) = { _: (Bf16, Bf16), f32: (Bf16, f32), f16: (F16, F16), f16_f32: (F16, f32) },
    COLUMN_MAJOR = { _: false, columns: true }
)]
pub unsafe fn gemm_ldmatrix<A: MmaElement, C: Output, const COLUMN_MAJOR: bool>(
    a: *const A,
    b: *const A,
    c: *mut C,
    m: u32,
    n: u32,
    k: u32,
) {
    #[address_space(shared)]
    static mut TILE_A: MaybeUninit<[Chunk; CHUNKS as usize]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut TILE_B: MaybeUninit<[Chunk; CHUNKS as usize]> = MaybeUninit::uninit();
    let (tile_a, tile_b) = ((&raw mut TILE_A).cast::<Chunk>(), (&raw mut TILE_B).cast::<Chunk>());
    // The number of chunks in a row of each tile in memory order, and the size of `b` in memory.
    let (chunks_a, chunks_b) = (DEPTH / CHUNK, if COLUMN_MAJOR { DEPTH } else { SIDE } / CHUNK);
    let size_b = if COLUMN_MAJOR { [n, k] } else { [k, n] };
    let (tile_row, tile_col) = tile_corner(thread::block_idx_x(), [SIDE, SIDE], BAND, m, n);
    let warp = thread::thread_idx_x() / 32;
    let (warp_row, warp_col) = (warp % 2 * 64, warp / 2 * 32);

    let mut sums = [[[[0.0; 4]; 2]; 2]; 4];
    for k_start in (0..k).step_by(DEPTH as usize) {
        let (first_row_b, first_col_b) = if COLUMN_MAJOR { (tile_col, k_start) } else { (k_start, tile_col) };
        // SAFETY: the matrices have the sizes m * k and k * n.
        let (loaded_a, loaded_b) = unsafe {
            (
                load_chunks(chunks_a, a.cast(), [m, k], tile_row, k_start),
                load_chunks(chunks_b, b.cast(), size_b, first_row_b, first_col_b),
            )
        };
        thread::sync_threads();
        // SAFETY: all threads have passed a barrier since the last read of the tiles.
        unsafe {
            store_chunks(chunks_a, tile_a, loaded_a);
            store_chunks(chunks_b, tile_b, loaded_b);
        }
        thread::sync_threads();
        for step in 0..DEPTH / mma::SIDE {
            // SAFETY: the barrier orders the reads after all writes. All lanes of the warp execute the call together.
            unsafe {
                let a = load_fragments::<true, false, 4>(chunks_a, Shared::of(tile_a), warp_row, step);
                let b = load_fragments::<COLUMN_MAJOR, true, 2>(chunks_b, Shared::of(tile_b), warp_col, step);
                multiply_add::<A, 4, 2>(&mut sums, &a, &b);
            }
        }
    }
    // SAFETY: only one warp stores each element of `c`.
    unsafe { store_sums(&sums, c, [m, n], tile_row + warp_row, tile_col + warp_col) };
}

/// Returns the offset in bytes of a chunk in a swizzled tile whose rows have `chunks` chunks.
#[inline(always)]
pub(super) const fn swizzled(chunks: u32, row: u32, chunk: u32) -> u32 {
    // The number of chunks that the swizzle permutes: the chunks of a row, or of a line of 128 bytes if a row is
    // longer.
    let group = if chunks < 8 { chunks } else { 8 };
    let line = row * group / 8;
    (row * chunks + (chunk ^ (line % group))) * 16
}

/// Loads this thread's two chunks of a tile whose rows have `chunks` chunks.
///
/// # Safety
/// The caller must ensure that the matrix is row-major and has `rows * columns` elements.
#[inline(always)]
unsafe fn load_chunks(
    chunks: u32,
    matrix: *const u16,
    [rows, columns]: [u32; 2],
    tile_row: u32,
    tile_col: u32,
) -> [Chunk; 2] {
    let (row, chunk) = (thread::thread_idx_x() / chunks, thread::thread_idx_x() % chunks);
    let (row, col) = (tile_row + row, tile_col + chunk * CHUNK);
    // Along a row of tiles, only `col` changes, so the compiler computes the row's address once.
    let first = matrix.wrapping_add((row * columns) as usize).wrapping_add(col as usize);
    let left = columns as i32 - col as i32;
    [0, THREADS / chunks].map(|i| {
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
unsafe fn store_chunks(chunks: u32, tile: *mut Chunk, [first, second]: [Chunk; 2]) {
    let (row, chunk) = (thread::thread_idx_x() / chunks, thread::thread_idx_x() % chunks);
    // The second chunk is below the first by a multiple of 8 rows, so it has the same swizzle.
    let to = tile.wrapping_byte_add(swizzled(chunks, row, chunk) as usize);
    // SAFETY: the tile has two chunks for each thread, and no other thread writes these chunks.
    unsafe {
        *to = first;
        *to.wrapping_add(THREADS as usize) = second;
    }
}

/// Loads `N` fragments from a swizzled tile whose rows have `chunks` chunks. The fragments cover 16 · `N` rows of `a`
/// or columns of `b`, starting at `first`, a multiple of 16. From each row or column, it loads 16 elements along `k`:
/// slice number `step`.
///
/// With `K_MAJOR`, neighbors in a row of the tile are neighbors along `k`.
///
/// # Safety
/// The caller must ensure that all lanes of the warp execute the call together, that the whole tile has been written,
/// and that no thread writes the tile at the same time.
#[inline(always)]
pub(super) unsafe fn load_fragments<const K_MAJOR: bool, const IS_B: bool, const N: usize>(
    chunks: u32,
    tile: Shared,
    first: u32,
    step: u32,
) -> [Fragment; N] {
    // This lane passes the address of a chunk, which is a row of 8 × 8 matrix number `lane / 8`.
    let lane = thread::thread_idx_x() % 32;
    let (half, k_half) = halves::<IS_B>(lane / 8);
    let (row, chunk) = if K_MAJOR { (half * 8 + lane % 8, k_half) } else { (k_half * 8 + lane % 8, half) };
    let offset = swizzled(chunks, row, chunk);
    array::from_fn(|i| {
        let x = first + i as u32 * mma::SIDE;
        let (row, col) = if K_MAJOR { (x, step * mma::SIDE) } else { (step * mma::SIDE, x) };
        // Advancing by an even number of chunks within a row is an exclusive or, and advancing by 16 rows does not
        // change the swizzle.
        let offset = (offset ^ (col / CHUNK * 16)) + row * chunks * 16;
        let chunk = tile.byte_add(offset);
        // SAFETY: the chunk is in the tile, and all lanes of the warp execute the call together.
        unsafe { if K_MAJOR { mma::ldmatrix::<false>(chunk) } else { mma::ldmatrix::<true>(chunk) } }
    })
}
