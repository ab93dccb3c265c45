//! Ping-pong: the two consumers compute different tiles. While one consumer stores its product, the other multiplies.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use cuda_std::thread;
use rung::{LaunchRequest, rung};

use super::hopper::{CONSUMER_BARRIER, OutputMatrix, Position, Ring, Staged, WARP_GROUP, depth, store_through_shared};
use crate::tensor_core::tma::{self, TensorMap, barrier_arrive, barrier_sync};
use crate::tensor_core::wgmma::{
    self, BOX_BYTES, BOX_ROWS, Boxes, Finish, ROW_BYTES, STEPS, Sums, Tile, setmaxnreg_dec, setmaxnreg_inc,
};
use crate::tensor_core::{BAND, Bf16, Element, F16, Tf32, tile_corner};

/// The number of warp groups that multiply.
const CONSUMERS: u32 = 2;
/// The number of rows in a tile, and the number of a stage's boxes that hold these rows.
const ROWS: u32 = 128;
const A_BOXES: u32 = ROWS / BOX_ROWS;
/// The number of columns in a wide tile and in a narrow tile.
const WIDE: u32 = 192;
const NARROW: u32 = 128;
/// The number of stages that fit into shared memory for each tile width.
const WIDE_STAGES: u32 = 5;
const NARROW_STAGES: u32 = 6;
/// The number of boxes for the product: one per consumer is enough, because a consumer stores its tile while the other
/// consumer multiplies.
const OUTPUT_BOXES: u32 = CONSUMERS;
/// A thread's sums for half of the rows of a wide or narrow tile.
pub(super) type WideSums = [f32; WIDE as usize / 2];
pub(super) type NarrowSums = [f32; NARROW as usize / 2];
/// The number of registers per thread: 24 + 2 · 240 = 3 · 168, as in `gemm_warp_specialized`. A consumer needs more
/// registers here than in that rung, because it has two descriptors of `a` and up to 192 sums.
const PRODUCER_REGISTERS: u32 = 24;
const CONSUMER_REGISTERS: u32 = 240;
/// The numbered barrier at which the first consumer waits until it may multiply. The second consumer uses the next
/// barrier. The barriers of the epilogue have lower numbers.
const ORDER_BARRIER: u32 = CONSUMER_BARRIER + CONSUMERS;

/// Returns the number of bytes in a stage for tiles with this number of columns.
const fn stage_bytes(columns: u32) -> u32 {
    (ROWS + columns) * ROW_BYTES
}

/// The number of bytes of dynamic shared memory, which is enough for both widths.
pub(super) const SHARED_BYTES: u32 = {
    let wide = Ring::<WIDE_STAGES>::bytes(stage_bytes(WIDE), OUTPUT_BOXES);
    let narrow = Ring::<NARROW_STAGES>::bytes(stage_bytes(NARROW), OUTPUT_BOXES);
    if wide > narrow { wide } else { narrow }
};

/// `gemm_persistent` with a separate tile for each consumer. The consumers multiply alternately.
///
/// In `gemm_persistent`, both consumers work on the same tile, and both pack and store their sums at the same time. The
/// tensor cores idle for 2500 to 2900 cycles between the last product of a tile and the first product of the next tile.
/// If k is 1024, this is a seventh of the time.
///
/// Here each consumer computes whole tiles of 128 rows ("ping-pong", as in CUTLASS). When a consumer has started the
/// last products of its tile, it lets the other consumer begin. It stores its sums while the other consumer multiplies.
/// The alternation has a second purpose. A thread that waits for a stage identifies the stage's phase only by its
/// parity. So the thread must not begin to wait while the stage still lags by more than one phase.
///
/// Per cycle of its products, a tile with 192 columns needs 53 bytes from the L2 cache, and a tile with 128 columns
/// needs 64. The kernel uses narrow tiles only if the product ends sooner with them, because more multiprocessors are
/// busy (`is_wide`).
///
/// # Safety
/// See [`gemm`](super).
#[rung(
    after = gemm_persistent,
    lesson = "two warp groups alternate between tiles: one writes its product while the other multiplies",
    blocks = [384],
    dynamic_shared = SHARED_BYTES,
    row_bytes = 16,
    grid = |launch| [tiles_of(launch).min(launch.device.multiprocessors), 1, 1],
    (A, C, COLUMN_MAJOR) = {
        _: (Bf16, Bf16, false), columns: (Bf16, Bf16, true), f32: (Bf16, f32, false), f32_columns: (Bf16, f32, true),
        f16: (F16, F16, false), f16_columns: (F16, F16, true), f16_f32: (F16, f32, false),
        f16_f32_columns: (F16, f32, true), tf32_columns: (Tf32, f32, true),
    }
)]
pub unsafe fn gemm_ping_pong<A, C, const COLUMN_MAJOR: bool>(
    #[grid_constant] a_map: &TensorMap,
    #[grid_constant] b_map: &TensorMap,
    #[grid_constant] c_map: &TensorMap,
    c: *mut C,
    m: u32,
    n: u32,
    k: u32,
) {
    let output = OutputMatrix { map: c_map, data: c, rows: m, columns: n };
    // SAFETY: `multiply_tiles` has the same requirements as the kernel, and the factors are complete when the launch
    // begins.
    unsafe { multiply_tiles::<A, C, COLUMN_MAJOR>([a_map, b_map], &output, k, || ()) };
}

/// Computes the block's tiles, which are wide or narrow. One thread calls `wait_for_factors` before it starts the first
/// copy.
///
/// # Safety
/// The requirements of [`gemm`](super) must hold when `wait_for_factors` has returned. All threads of the block call
/// the function, and the block has [`SHARED_BYTES`] of dynamic shared memory.
#[inline(always)]
pub(super) unsafe fn multiply_tiles<A: Element, C: Staged, const COLUMN_MAJOR: bool>(
    factors: [&TensorMap; 2],
    output: &OutputMatrix<'_, C>,
    k: u32,
    wait_for_factors: impl FnOnce(),
) where
    WideSums: Sums<A>,
    NarrowSums: Sums<A>,
{
    const WIDE_SUMS: usize = WIDE as usize / 2;
    const NARROW_SUMS: usize = NARROW as usize / 2;
    const WIDE_BOXES: u32 = WIDE / BOX_ROWS;
    const NARROW_BOXES: u32 = NARROW / BOX_ROWS;
    // SAFETY: the called functions have the same requirements as this function.
    unsafe {
        if is_wide(output.rows, output.columns, thread::grid_dim_x()) {
            alternate::<A, C, COLUMN_MAJOR, WIDE_SUMS, WIDE, WIDE_BOXES, WIDE_STAGES>(
                factors,
                output,
                k,
                wait_for_factors,
            );
        } else {
            alternate::<A, C, COLUMN_MAJOR, NARROW_SUMS, NARROW, NARROW_BOXES, NARROW_STAGES>(
                factors,
                output,
                k,
                wait_for_factors,
            );
        }
    }
}

/// Computes the block's tiles of `COLUMNS` columns. A thread has `N` sums for each half of a tile's rows, and each of
/// `STAGES` stages has `B_BOXES` boxes of `b`.
///
/// # Safety
/// See [`multiply_tiles`].
#[inline(always)]
unsafe fn alternate<
    A: Element,
    C: Staged,
    const COLUMN_MAJOR: bool,
    const N: usize,
    const COLUMNS: u32,
    const B_BOXES: u32,
    const STAGES: u32,
>(
    [a_map, b_map]: [&TensorMap; 2],
    output: &OutputMatrix<'_, C>,
    k: u32,
    wait_for_factors: impl FnOnce(),
) where
    [f32; N]: Sums<A>,
{
    let ring = Ring::<STAGES>::of_block(stage_bytes(COLUMNS), OUTPUT_BOXES);
    let (warp_group, thread) = (thread::thread_idx_x() / WARP_GROUP, thread::thread_idx_x() % WARP_GROUP);
    if thread::thread_idx_x() == 0 {
        tma::prefetch([a_map, b_map, output.map]);
        // SAFETY: a barrier of the block follows. One consumer, which is four warps, uses each stage.
        unsafe { ring.init(WARP_GROUP / 32) };
    }
    thread::sync_threads();
    let (m, n) = (output.rows, output.columns);
    let tiles = count_tiles(m, n, COLUMNS);
    let (first, blocks) = (thread::block_idx_x(), thread::grid_dim_x());
    let stage_count = k.div_ceil(depth::<A>());
    let mut position = Position::<STAGES>::START;
    let mut tile = first;
    if warp_group == 0 {
        // SAFETY: all threads of the warp group reach this code.
        unsafe { setmaxnreg_dec::<PRODUCER_REGISTERS>() };
        if thread == 0 {
            wait_for_factors();
            while tile < tiles {
                let (row, column) = tile_corner(tile, [ROWS, COLUMNS], BAND, m, n);
                for i in 0..stage_count {
                    let corner = [row, column, i * depth::<A>()];
                    // SAFETY: one thread fills the stage, after its consumer has left the stage.
                    unsafe {
                        ring.empty(position.stage).wait(position.parity ^ 1);
                        ring.fill::<COLUMN_MAJOR, A_BOXES, B_BOXES>(position.stage, [a_map, b_map], corner);
                    }
                    position.advance();
                }
                tile += blocks;
            }
        }
        return;
    }
    // SAFETY: whole warp groups reach this code, and the producer releases the registers that they acquire.
    unsafe { setmaxnreg_inc::<CONSUMER_REGISTERS>() };
    let consumer = warp_group - 1;
    let mut sums = [[0.0; N]; 2];
    // The block's tiles alternate between the consumers, and so do the stages of these tiles.
    tile += consumer * blocks;
    position.skip(consumer * stage_count);
    while tile < tiles {
        if tile != first {
            // SAFETY: the other consumer arrives at this barrier for each tile except the block's last tile.
            unsafe { barrier_sync(ORDER_BARRIER + consumer, CONSUMERS * WARP_GROUP) };
        }
        for i in 0..stage_count {
            // SAFETY: all threads of the warp group reach this code, and the stage is full. It has the boxes of `a`,
            // followed by the boxes of `b`.
            unsafe {
                ring.full(position.stage).wait(position.parity);
                let stage = ring.stage(position.stage);
                let upper_a = Tile::<A, Boxes<true>>::at(stage);
                let lower_a = Tile::<A, Boxes<true>>::at(stage.byte_add(BOX_BYTES));
                let b = Tile::<A, Boxes<COLUMN_MAJOR>>::at(stage.byte_add(A_BOXES * BOX_BYTES));
                let [upper, lower] = &mut sums;
                wgmma::fence();
                for step in 0..STEPS {
                    upper.multiply(upper_a.step(step), b.step(step), i > 0 || step > 0);
                    lower.multiply(lower_a.step(step), b.step(step), i > 0 || step > 0);
                }
                wgmma::commit();
            }
            if i + 1 == stage_count && tile + blocks < tiles {
                // SAFETY: the other consumer waits at this barrier before the block's next tile.
                unsafe { barrier_arrive(ORDER_BARRIER + (consumer ^ 1), CONSUMERS * WARP_GROUP) };
            }
            // SAFETY: after the wait, the products of the previous stage have ended, so the warp group leaves that
            // stage.
            unsafe {
                wgmma::wait::<1>();
                if i > 0 {
                    ring.leave(position.previous());
                }
            }
            position.advance();
        }
        // The tile's corner is computed while the last products run.
        let (row, column) = tile_corner(tile, [ROWS, COLUMNS], BAND, m, n);
        for (half, sums) in sums.iter_mut().enumerate() {
            // SAFETY: all threads of the warp group reach this code. Only this warp group writes this tile and this
            // box.
            unsafe {
                sums.finish();
                if half == 0 {
                    ring.leave(position.previous());
                }
                let (corner, slot) = ([row + half as u32 * BOX_ROWS, column], ring.output_box(consumer));
                store_through_shared::<_, _, 1>(sums, corner, output, slot, consumer);
            }
        }
        position.skip(stage_count);
        tile += CONSUMERS * blocks;
    }
    if thread == 0 {
        // The block must not end before the last copies have read shared memory.
        tma::wait_read::<0>();
    }
}

/// Returns whether wide tiles are faster for this number of blocks. The block with the most columns decides. With wide
/// tiles, it may have up to 4 % more columns, because products of narrow tiles take 4 % longer per column.
///
/// The host calls this function with the number of multiprocessors, and the kernel with the number of blocks. If there
/// are fewer blocks than multiprocessors, each block has at most one tile of the chosen width, and the result is the
/// same.
const fn is_wide(m: u32, n: u32, blocks: u32) -> bool {
    most_columns(m, n, WIDE, blocks) * 25 <= most_columns(m, n, NARROW, blocks) * 26
}

/// Returns the number of columns that the block with the most tiles has to multiply.
const fn most_columns(m: u32, n: u32, columns: u32, blocks: u32) -> u64 {
    // At least 1, so that the division needs no check for zero.
    let blocks = if blocks == 0 { 1 } else { blocks };
    count_tiles(m, n, columns).div_ceil(blocks) as u64 * columns as u64
}

/// Returns the number of tiles with this number of columns.
#[inline(always)]
const fn count_tiles(m: u32, n: u32, columns: u32) -> u32 {
    m.div_ceil(ROWS) * n.div_ceil(columns)
}

/// Returns the number of tiles of a launch, at least 1.
pub(super) fn tiles_of(launch: &LaunchRequest<'_>) -> u32 {
    let (m, n) = (launch.length(0) as u32, launch.length(1) as u32);
    launch.count_tiles(ROWS, if is_wide(m, n, launch.device.multiprocessors) { WIDE } else { NARROW })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_has_the_hosts_width() {
        for multiprocessors in [78, 114, 132, 144] {
            for (m, n) in (1..60).flat_map(|i| (1..60).map(move |j| (i * 61, j * 61))) {
                let is_wide_for_host = is_wide(m, n, multiprocessors);
                let tiles = count_tiles(m, n, if is_wide_for_host { WIDE } else { NARROW });
                // `gemm_repacked` may have more blocks than tiles.
                for blocks in tiles.min(multiprocessors)..=multiprocessors {
                    assert_eq!(is_wide(m, n, blocks), is_wide_for_host, "{m} x {n}, {blocks} of {multiprocessors}");
                }
            }
        }
    }
}
