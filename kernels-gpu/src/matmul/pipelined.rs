//! The rungs on top: a pipeline of asynchronous copies, and slices of the depth for products that are small.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use cuda_std::thread;
use rung::{Form, Geometry, Rung};

use super::pipeline::{DEPTH, Part, Product, multiply, shared_bytes, tile};
use crate::wide::{self, Wide};

/// This file's rungs.
pub const RUNGS: &[Rung] = &[MATMUL_PIPELINED, MATMUL_SLICED];

/// The warps of a block of `matmul_pipelined`, down and along.
const WARPS: (usize, usize) = (2, 4);
/// Elements of one of its threads.
const EACH: (usize, usize) = (8, 16);
/// The same of `matmul_sliced`.
const SLICED_WARPS: (usize, usize) = (2, 2);
/// The same of `matmul_sliced`.
const SLICED_EACH: (usize, usize) = (4, 8);

/// Rows and columns of `c` that a block of `matmul_pipelined` takes.
const TILE: (usize, usize) = tile(WARPS, EACH);
/// The same of `matmul_sliced`.
const SLICED_TILE: (usize, usize) = tile(SLICED_WARPS, SLICED_EACH);

/// Threads of a block.
const fn threads(warps: (usize, usize)) -> usize {
    warps.0 * warps.1 * 32
}

entries! {
    /// Eight warps take 128 × 256 elements of `c`, each thread 8 × 16 of them, from a pipeline of three stages
    /// ([`pipeline`](super::pipeline) says how).
    ///
    /// Predicted: 94 of 100 instructions are multiplications, so at most 94 % of the multipliers' peak; cuBLAS's own
    /// kernel for these sizes (256 × 128 × 8, three stages, eight warps) has 89 in 100. Measured on an H100 80GB HBM3,
    /// whose multipliers' peak is 66.9 TFLOP/s: 52.0 for 4096³ (cuBLAS 50.7), 52.8 for 8192³ (51.6), 49.7 for 2048³,
    /// whose 128 tiles are one round of 132 SMs (50.0). 79 %, not 94: Nsight Compute calls a fifth of the stalls
    /// dispatch stalls, of which cuBLAS has half as many. What it took, each measured at 4096³: both fragments in
    /// registers a step ahead 46.8, a warp's barrier in each step 47.9, tiles of 128 × 256 49.1, the copies spread over
    /// the steps 51.2, and edges without a loop of their own 52.4 (with other data, of 24 bits).
    ///
    /// # Safety
    /// As [`matmul`](super) says, where a block takes 128 × 256 elements of `c`, with [`shared_bytes`]
    /// of dynamic shared memory.
    matmul_pipelined(a: *const f32, b: *const f32, c: *mut f32, m: u32, n: u32, k: u32)
    for BLOCK in [256];
    dynamic stages: [Wide<f32, 4>; shared_bytes(WARPS, EACH) / 16];
    rung Rung::USUAL {
        lesson: "8 x 16 a thread, fed by three stages of asynchronous copies, every read paced: the top",
        geometry: Geometry::NumberedTiles {
            rows: TILE.0 as u32,
            columns: TILE.1 as u32,
            most_slices: 1,
        },
    };
    // SAFETY: the body's contract is the kernel's.
    => unsafe {
        const { assert!(BLOCK == threads(WARPS)) };
        let product = Product { a, b, c, m, n, k };
        if n.is_multiple_of(4) {
            pipelined(stages.cast(), &product);
        } else {
            in_strips(stages.cast(), &product);
        }
    }
}

entries! {
    /// The same with 64 × 64 elements of `c` a block, and with the depth in slices, each a block of its own: enough blocks
    /// for every SM where `c` has few tiles.
    ///
    /// The blocks of a tile add to `c` in turn: the first slice writes, the next waits until that is done, adds its own
    /// sums and says so in `turns`. So the result is the same in every run, nothing has to be zero at the start but the
    /// turns, and the last slice leaves those zero. A block waits for blocks of a lower index only, which were
    /// scheduled before it: they never wait for it.
    ///
    /// Predicted: where c has 288 tiles for 132 SMs, two or three each, a quarter of the SMs' time is lost, and with three
    /// slices 7 %. Measured on an H100 80GB HBM3: 1000 × 1100 × 1300 takes 111.1 µs in one slice, 100.4 in two, 94.9 in
    /// three and 94.2 in four (cuBLAS 90.2); 1024³, whose 256 tiles are nearly two for each SM, 63.0 in one and 66.3 in
    /// two (58.0).
    ///
    /// The grid's x counts tiles, its y slices.
    ///
    /// # Safety
    /// As [`matmul`](super) says, where a block takes 64 × 64 elements of `c`, with [`shared_bytes`]
    /// of dynamic shared memory; `turns` points to a zero for each tile, and is left so.
    matmul_sliced(a: *const f32, b: *const f32, c: *mut f32, m: u32, n: u32, k: u32, turns: *mut u32)
    for BLOCK in [128];
    resident 4;
    dynamic stages: [Wide<f32, 4>; shared_bytes(SLICED_WARPS, SLICED_EACH) / 16];
    rung Rung::USUAL {
        lesson: "smaller tiles, and the depth in slices that add up in turn: the top where tiles are few",
        geometry: Geometry::NumberedTiles {
            rows: SLICED_TILE.0 as u32,
            columns: SLICED_TILE.1 as u32,
            most_slices: 8,
        },
        default_block: [128, 1, 1],
        form: Form::Workspace,
    };
    // SAFETY: the body's contract is the kernel's.
    => unsafe {
        const { assert!(BLOCK == threads(SLICED_WARPS)) };
        let product = Product { a, b, c, m, n, k };
        if n.is_multiple_of(4) {
            sliced::<true>(stages.cast(), &product, turns);
        } else {
            sliced::<false>(stages.cast(), &product, turns);
        }
    }
}

/// # Safety
/// As [`matmul_pipelined_256`] says; `n` is a multiple of 4.
#[inline(always)]
unsafe fn pipelined(stages: *mut f32, product: &Product) {
    let part = Part::of(thread::block_idx_x(), TILE, product);
    // SAFETY: the caller's; each element of `c` is one thread's.
    unsafe {
        multiply::<{ TILE.0 }, { TILE.1 }, { threads(WARPS) }, { EACH.0 }, { EACH.1 }, true>(
            stages,
            product,
            &part,
            |row, column, sums| write::<true>(product, row, column, sums),
        );
    }
}

/// Any `n`: the block's tile in strips of 64 columns, one after the other, with 4 × 8 elements a thread.
///
/// Rows that do not begin at multiples of 16 bytes are copied by single words, and the tile at once would be as
/// much code again as the other way is, for the driver to compile before the first launch.
///
/// # Safety
/// As [`matmul_pipelined_256`] says.
#[inline(always)]
unsafe fn in_strips(stages: *mut f32, product: &Product) {
    const STRIP_WARPS: (usize, usize) = (4, 2);
    const STRIP_EACH: (usize, usize) = (4, 8);
    const STRIP: (usize, usize) = tile(STRIP_WARPS, STRIP_EACH);
    const {
        assert!(STRIP.0 == TILE.0 && TILE.1.is_multiple_of(STRIP.1));
        assert!(threads(STRIP_WARPS) == threads(WARPS));
        assert!(shared_bytes(STRIP_WARPS, STRIP_EACH) <= shared_bytes(WARPS, EACH));
    }
    let mut part = Part::of(thread::block_idx_x(), TILE, product);
    let end = (part.left + TILE.1 as u32).min(product.n);
    while part.left < end {
        // SAFETY: the caller's; each element of `c` is one thread's. The barrier parts the strips' use of the
        // stages.
        unsafe {
            multiply::<
                { STRIP.0 },
                { STRIP.1 },
                { threads(STRIP_WARPS) },
                { STRIP_EACH.0 },
                { STRIP_EACH.1 },
                false,
            >(stages, product, &part, |row, column, sums| {
                write::<false>(product, row, column, sums)
            });
            thread::sync_threads();
        }
        part.left += STRIP.1 as u32;
    }
}

/// # Safety
/// As [`matmul_sliced_128`] says. With `WIDE`, `n` is a multiple of 4.
#[inline(always)]
unsafe fn sliced<const WIDE: bool>(stages: *mut f32, product: &Product, turns: *mut u32) {
    const TILE: (usize, usize) = tile(SLICED_WARPS, SLICED_EACH);
    let (index, slice, slices) = (
        thread::block_idx_x(),
        thread::block_idx_y(),
        thread::grid_dim_y(),
    );
    let mut part = Part::of(index, TILE, product);
    // Whole tiles for each slice; the last ones may get none.
    let depth = product.k.div_ceil(DEPTH as u32).div_ceil(slices) * DEPTH as u32;
    part.from = (slice * depth).min(product.k);
    part.to = (part.from + depth).min(product.k);

    let turn = turns.wrapping_add(index as usize);
    let mut is_my_turn = slice == 0;
    // SAFETY: the caller's; in its turn, the block's elements of `c` are its own. The fences order what one block
    // wrote to `c` before the turn that it gives, and the turn that another sees before what that one reads.
    unsafe {
        multiply::<
            { TILE.0 },
            { TILE.1 },
            { threads(SLICED_WARPS) },
            { SLICED_EACH.0 },
            { SLICED_EACH.1 },
            WIDE,
        >(stages, product, &part, |row, column, mut sums| {
            if !is_my_turn {
                while turn.read_volatile() != slice {}
                thread::device_fence();
                is_my_turn = true;
            }
            if slice > 0 {
                add_what_is_there::<WIDE>(product, row, column, &mut sums);
            }
            write::<WIDE>(product, row, column, sums);
        });
        thread::sync_threads();
        if slices > 1 && thread::thread_idx_x() == 0 {
            while turn.read_volatile() != slice {}
            thread::device_fence();
            turn.write_volatile(if slice + 1 == slices { 0 } else { slice + 1 });
        }
    }
}

/// Adds four neighbouring elements of `c` to `sums`. They come from the L2 cache, where other blocks' writes are.
///
/// # Safety
/// The first is an element of `c`; with `WIDE`, all are.
#[inline(always)]
unsafe fn add_what_is_there<const WIDE: bool>(
    product: &Product,
    row: u32,
    column: u32,
    sums: &mut [f32; 4],
) {
    let at = product.c.wrapping_add((row * product.n + column) as usize);
    for (j, sum) in sums.iter_mut().enumerate() {
        if WIDE || column + (j as u32) < product.n {
            // SAFETY: inside of `c`.
            *sum += unsafe { at.wrapping_add(j).read_volatile() };
        }
    }
}

/// Writes four neighbouring elements of `c`, or those of them that it has.
///
/// # Safety
/// As [`add_what_is_there`].
#[inline(always)]
unsafe fn write<const WIDE: bool>(product: &Product, row: u32, column: u32, sums: [f32; 4]) {
    let at = product.c.wrapping_add((row * product.n + column) as usize);
    // SAFETY: inside of `c`; where `n` is a multiple of 4, so is the first element's place.
    unsafe {
        if WIDE {
            wide::store(at, sums);
        } else {
            for (j, sum) in sums.into_iter().enumerate() {
                if column + (j as u32) < product.n {
                    *at.wrapping_add(j) = sum;
                }
            }
        }
    }
}
