//! Slices of the depth: enough blocks for every SM where `c` has few tiles.
//!
//! Where `c` has 288 tiles for 132 SMs, two or three each, SMs have nothing to do while the last tiles are multiplied.
//! Here a block takes a smaller tile, 64 × 64, and where that is not enough the depth is cut into slices, each a block
//! of its own. The blocks of a tile then add to `c` in turn: the first slice writes, the next waits until that is done,
//! adds its own sums and passes the turn on. So the result is the same in every run, and nothing has to be zero at the
//! start but the turns.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use core::array;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use cuda_std::atomic::mid::{atomic_load_32_device, atomic_store_32_device, device_thread_fence};
use cuda_std::thread;
use rung::{Form, Geometry, Rung};

use super::block_tile::{DEPTH, Part, Product, ThreadTile, TileSizes, write};
use super::copy_pipeline::stages_len;
use crate::wide::{self, Wide};

/// This file's rungs.
pub const RUNGS: &[Rung] = &[MATMUL_SLICED];

/// 2 × 2 warps, and 4 × 8 elements a thread: 64 rows and 64 columns.
type SmallTile = ThreadTile<2, 2, 4, 8>;

entries! {
    /// `matmul_pipelined` with 64 × 64 elements of `c` a block, and with the depth in slices, each a block of its own.
    ///
    /// A block waits for blocks of a lower index only, which were scheduled before it: they never wait for it. The last
    /// slice leaves the turns zero.
    ///
    /// Predicted: where c has 288 tiles for 132 SMs, two or three each, a quarter of the SMs' time is lost, and with three
    /// slices 7 %. Measured on an H100 80GB HBM3: 1000 × 1100 × 1300 takes 111.1 µs in one slice, 100.4 in two, 94.9 in
    /// three and 94.2 in four (cuBLAS 90.2); 1024³, whose 256 tiles are nearly two for each SM, 63.0 in one and 66.3 in
    /// two (58.0).
    ///
    /// # Safety
    /// As [`matmul`](super) says, where a block takes 64 × 64 elements of `c`, the grid's x counts those tiles and its y
    /// slices, with dynamic shared memory for three pairs of tiles; `turns` points to a zero for each tile, and is left
    /// so.
    matmul_sliced(a: *const f32, b: *const f32, c: *mut f32, m: u32, n: u32, k: u32, turns: *mut u32)
    for BLOCK in [128];
    resident 4;
    dynamic stages: [Wide<f32, 4>; stages_len::<SmallTile>() / 4];
    rung Rung::USUAL {
        lesson: "smaller tiles, and the depth in slices that add up in turn: the top where tiles are few",
        geometry: Geometry::NumberedTiles {
            rows: SmallTile::ROWS as u32,
            columns: SmallTile::COLUMNS as u32,
            most_slices: 8,
        },
        default_block: [SmallTile::THREADS as u32, 1, 1],
        form: Form::Workspace,
    };
    // SAFETY: the body has the kernel's contract.
    => unsafe {
        const { assert!(BLOCK == SmallTile::THREADS) };
        let product = Product { a, b, c, m, n, k };
        if n.is_multiple_of(4) {
            sliced::<true>(stages.cast(), &product, turns);
        } else {
            sliced::<false>(stages.cast(), &product, turns);
        }
    }
}

/// # Safety
/// The contract of [`matmul_sliced_128`], whose shared memory is `stages`. With `WIDE`, `n` is a multiple of 4.
#[inline(always)]
unsafe fn sliced<const WIDE: bool>(stages: *mut f32, product: &Product, turns: *mut u32) {
    let (slice, slices) = (thread::block_idx_y(), thread::grid_dim_y());
    let mut part = Part::of_this_block::<SmallTile>(product);
    // Whole tiles for each slice; the last ones may get none.
    let depth = product.k.div_ceil(DEPTH as u32).div_ceil(slices) * DEPTH as u32;
    part.from = (slice * depth).min(product.k);
    part.to = (part.from + depth).min(product.k);

    let turn = turns.wrapping_add(thread::block_idx_x() as usize);
    let mut is_my_turn = slice == 0;
    // SAFETY: as the caller promises; in its turn, the block's elements of `c` are its own.
    unsafe {
        SmallTile::multiply::<WIDE>(stages, product, &part, |row, column, mut sums| {
            if !is_my_turn {
                wait_for_turn(turn, slice);
                is_my_turn = true;
            }
            if slice > 0 {
                sums = add_what_is_there::<WIDE>(product, row, column, sums);
            }
            write::<WIDE>(product, row, column, sums);
        });
        // All of the block's writes come before the next block's turn.
        thread::sync_threads();
        if slices > 1 && thread::thread_idx_x() == 0 {
            wait_for_turn(turn, slice);
            let next = if slice + 1 == slices { 0 } else { slice + 1 };
            atomic_store_32_device(turn, Release, next);
        }
    }
}

/// Waits until it is this slice's turn. What the blocks before wrote is then there to be read.
///
/// # Safety
/// `turn` points to the tile's turn counter, which the blocks of the slices before this one raise to `slice`.
#[inline(always)]
unsafe fn wait_for_turn(turn: *mut u32, slice: u32) {
    // SAFETY: as the caller promises.
    unsafe {
        while atomic_load_32_device(turn, Relaxed) != slice {}
        // One fence behind the loop, in the place of one behind each load.
        device_thread_fence(Acquire);
    }
}

/// The sums and four neighbouring elements of `c`, or those of them that it has, together.
///
/// # Safety
/// The contract of [`write`](fn@write): the four elements are this thread's alone, and with `WIDE`, `n` is a multiple of 4.
#[inline(always)]
unsafe fn add_what_is_there<const WIDE: bool>(product: &Product, row: u32, column: u32, sums: [f32; 4]) -> [f32; 4] {
    let at = product.c.wrapping_add((row * product.n + column) as usize);
    // SAFETY: inside of `c`; where `n` is a multiple of 4, so is the first element's place.
    unsafe {
        if WIDE {
            let there: [f32; 4] = wide::load(at);
            array::from_fn(|j| sums[j] + there[j])
        } else {
            array::from_fn(|j| if column + (j as u32) < product.n { sums[j] + *at.wrapping_add(j) } else { sums[j] })
        }
    }
}
