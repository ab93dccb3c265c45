//! Warp-group products: the tensor cores read both factors from shared memory.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use cuda_std::{shared, thread};
use rung::rung;

use super::hopper::{BOXES, SIDE, STAGE_BYTES, SUMS, depth, multiply, store_from_registers};
use crate::tensor_core::tma::fence_shared;
use crate::tensor_core::wgmma::{self, BOX_ALIGN, BOX_BYTES, BOX_ROWS, Finish, ROW_BYTES, swizzled_offset};
use crate::tensor_core::{BAND, Bf16, Element, Shared, Wide, cp_async, opaque, tile_corner};

/// The number of stages in shared memory.
const STAGES: u32 = 3;
/// The number of threads in a block: one warp group.
const THREADS: u32 = 128;
/// The number of bytes per copy.
const CHUNK: u32 = 16;

/// A warp group computes a 128 × 128 tile from stages that 16-byte asynchronous copies fill.
///
/// In `gemm_cp_async`, each warp loads fragments into registers before it multiplies. For 64 × 64 elements of the
/// product and 64 elements along k, a warp reads 16 KB of shared memory. Neighboring warps load the same rows of `a`
/// again. On Hopper, this method reaches about 60 % of the tensor cores' peak.
///
/// `wgmma` takes descriptors of whole tiles instead. A warp group (four warps) multiplies 64 × 16 by 16 × 128 elements
/// with one instruction, and no fragment passes through a register (`multiply` in `hopper.rs`). The tiles must have the
/// layout that the hardware reads: boxes with rows of 128 bytes, whose 16-byte chunks are swizzled. Chunk `c` of row
/// `r` is at `c ^ r % 8`, so chunks with the same number in eight rows are in different banks. The copies are 16-byte
/// `cp.async`, as in `gemm_cp_async`. A fence follows the copies, because tensor cores access shared memory through a
/// different proxy than the threads that wrote it.
///
/// # Safety
/// See [`gemm`](super).
#[rung(
    after = gemm_cp_async,
    lesson = "a warp group multiplies whole tiles from shared memory: no fragments in registers",
    blocks = [128],
    resident = 2,
    dynamic_shared = BOX_ALIGN + STAGES * STAGE_BYTES,
    grid = |launch| [launch.count_tiles(SIDE, SIDE), 1, 1],
    (A, C) = { _: (Bf16, Bf16), f32: (Bf16, f32) },
    COLUMN_MAJOR = { _: false, columns: true }
)]
pub unsafe fn gemm_wgmma<A, C, const COLUMN_MAJOR: bool>(a: *const A, b: *const A, c: *mut C, m: u32, n: u32, k: u32) {
    let start = shared::dynamic_shared_mem::<u8>();
    let first_stage = Shared::of(start).aligned_to(BOX_ALIGN);
    let stages = start.wrapping_add(first_stage.offset_from(Shared::of(start)) as usize);
    let (row, column) = tile_corner(thread::block_idx_x(), [SIDE, SIDE], BAND, m, n);
    let fill = |index: u32, stage: u32| {
        let (to, k_start) = (stages.wrapping_add((stage * STAGE_BYTES) as usize), index * depth::<A>());
        let b_to = to.wrapping_add((BOXES * BOX_BYTES) as usize);
        // SAFETY: all threads of the block reach this code together, for a stage that no thread reads and no product
        // uses anymore. The factors have these rows and columns.
        unsafe {
            copy_boxes(a, [m, k], [row, k_start], [BOX_ROWS, 0], to);
            if COLUMN_MAJOR {
                copy_boxes(b, [n, k], [column, k_start], [BOX_ROWS, 0], b_to);
            } else {
                copy_boxes(b, [k, n], [k_start, column], [0, BOX_ROWS], b_to);
            }
        }
    };

    let stage_count = k.div_ceil(depth::<A>());
    for i in 0..STAGES - 1 {
        if i < stage_count {
            fill(i, i);
        }
        cp_async::commit();
    }
    let mut sums = [[0.0; SUMS]; 2];
    let (mut used, mut filled) = (0, STAGES - 1);
    for i in 0..stage_count {
        cp_async::wait::<{ STAGES - 2 }>();
        fence_shared();
        thread::sync_threads();
        // SAFETY: the stage is full, because every thread has waited for its copies before the barrier. The stage is
        // filled again only after the next barrier, which follows the wait for these products.
        unsafe { multiply::<A, COLUMN_MAJOR>(&mut sums, first_stage.byte_add(used * STAGE_BYTES), i > 0) };
        // If there is no next stage, this group of copies is empty, so that the number of groups in flight stays
        // constant.
        if i + STAGES - 1 < stage_count {
            fill(i + STAGES - 1, filled);
        }
        cp_async::commit();
        // SAFETY: all threads of the warp group, which is the whole block, reach this code.
        unsafe { wgmma::wait::<0>() };
        used = if used + 1 == STAGES { 0 } else { used + 1 };
        filled = if filled + 1 == STAGES { 0 } else { filled + 1 };
    }
    for (half, sums) in sums.iter_mut().enumerate() {
        // SAFETY: all threads of the warp group reach this code, and no other block writes this tile.
        unsafe {
            sums.finish();
            store_from_registers(sums, [row + half as u32 * BOX_ROWS, column], c, [m, n]);
        }
    }
}

/// Starts the copies of [`BOXES`] boxes of a matrix with these rows and columns. The first box begins at the row and
/// column `first`, and each following box begins `next` rows and columns after the previous box. Elements outside the
/// matrix are zero.
///
/// If the matrix's rows are not multiples of 16 bytes, elements are copied one by one, by loads and stores.
///
/// # Safety
/// The caller must ensure that all threads of the block call the function, that the matrix exists, and that nothing
/// accesses the boxes before a wait for the copies.
#[inline(always)]
unsafe fn copy_boxes<A: Element>(
    matrix: *const A,
    [rows, columns]: [u32; 2],
    first: [u32; 2],
    next: [u32; 2],
    to: *mut u8,
) {
    const COPIES: u32 = BOX_BYTES / CHUNK / THREADS;
    const CHUNKS_PER_ROW: u32 = ROW_BYTES / CHUNK;
    let elements = CHUNK / size_of::<A>() as u32;
    let thread = thread::thread_idx_x();
    // The address of this thread's copy number `i`, and the row and column of its first element.
    let copy = |i: u32| {
        let (index, chunk) = (i / COPIES, thread % CHUNKS_PER_ROW);
        let box_row = i % COPIES * (THREADS / CHUNKS_PER_ROW) + thread / CHUNKS_PER_ROW;
        let offset = index * BOX_BYTES + swizzled_offset(box_row, chunk);
        let (row, column) = (first[0] + index * next[0] + box_row, first[1] + index * next[1] + chunk * elements);
        (to.wrapping_add(offset as usize), row, column)
    };
    if columns.is_multiple_of(elements) && matrix.cast::<Wide<f32, 4>>().is_aligned() {
        for i in 0..BOXES * COPIES {
            let (to, row, column) = copy(i);
            let exists = row < rows && column < columns;
            let from = if exists { matrix.wrapping_add((row * columns + column) as usize) } else { matrix };
            // SAFETY: the chunk is in the boxes. If its first element exists, all 16 bytes do, because rows are
            // multiples of 16 bytes.
            unsafe { cp_async::copy_four(Shared::of(to), from.cast(), exists) };
        }
        return;
    }
    // The compiler would unroll a loop with a known number of iterations.
    for i in 0..opaque(BOXES * COPIES) {
        let (to, row, column) = copy(i);
        for element in 0..elements {
            let exists = row < rows && column + element < columns;
            let from = matrix.wrapping_add((row * columns + column + element) as usize);
            // SAFETY: the element is read only if it exists, and its copy is in the boxes.
            unsafe { *to.cast::<A>().add(element as usize) = if exists { *from } else { A::ZERO } };
        }
    }
}
