//! Two sets of fragments: the next step's are read while the present step's are multiplied.
//!
//! In `matmul_async_copies` each step begins with six wide reads of shared memory, and the first multiplication waits
//! for them: about 30 cycles for each 128 multiplications of a warp, in which a scheduler has only one other warp to
//! issue from. Here a thread has the fragments of two steps in registers. It reads those of step i + 1 before it
//! multiplies those of step i, and does so across the barrier between two pairs of tiles as well: the last step of a
//! pair reads the first fragments of the next one.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use rung::Rung;

use super::block_tile::{DEPTH, Part, Product, TileSizes};
use super::copy_pipeline::{CopyPipeline, STAGES, stage_after, stages_len, wait_for_next_pair};
use super::large_register_tile::{LARGE, LargeTile};
use crate::wide::Wide;

/// This file's rungs.
pub const RUNGS: &[Rung] = &[MATMUL_DOUBLE_BUFFERED];

entries! {
    /// `matmul_async_copies` with two sets of fragments.
    ///
    /// # Safety
    /// As [`matmul`](super) says; the grid's x counts tiles of 128 × 256; dynamic shared memory holds 3 pairs of tiles.
    matmul_double_buffered(a: *const f32, b: *const f32, c: *mut f32, m: u32, n: u32, k: u32)
    for BLOCK in [256];
    dynamic stages: [Wide<f32, 4>; stages_len::<LargeTile>() / 4];
    rung LARGE {
        lesson: "two sets of fragments in registers: shared memory is read a step ahead of the multiplications",
    };
    // SAFETY: the body has the kernel's contract.
    => unsafe {
        const { assert!(BLOCK == LargeTile::THREADS) };
        double_buffered(stages.cast(), &Product { a, b, c, m, n, k });
    }
}

/// # Safety
/// The contract of [`matmul_double_buffered_256`], whose dynamic shared memory `stages` points to.
#[inline(always)]
unsafe fn double_buffered(stages: *mut f32, product: &Product) {
    let part = Part::of_this_block::<LargeTile>(product);
    let tile = LargeTile::of_this_thread();
    let mut copies = CopyPipeline::<LargeTile, false>::new(stages, product, &part);
    let mut sums = [[0.0; 16]; 8];
    let mut pair = stages;
    let mut stage = 0;
    for _ in 0..STAGES - 1 {
        // SAFETY: nothing has been read yet.
        unsafe { copies.start_next() };
    }
    wait_for_next_pair();
    // SAFETY: the first pair has arrived.
    let mut fragments = unsafe { tile.fragments(pair, 0) };
    for _ in 0..product.k.div_ceil(DEPTH as u32) {
        // SAFETY: the stage that is filled next was read to its end before the last barrier; each stage that is read
        // has arrived. The fragments read behind the last pair are never multiplied.
        unsafe {
            copies.start_next();
            for step in 1..DEPTH {
                let next = tile.fragments(pair, step);
                fragments.multiply_add(&mut sums);
                fragments = next;
            }
            wait_for_next_pair();
            stage = stage_after::<LargeTile>(stage, 1);
            pair = stages.add(stage as usize);
            let next = tile.fragments(pair, 0);
            fragments.multiply_add(&mut sums);
            fragments = next;
        }
    }
    // SAFETY: each element of `c` is one thread's.
    unsafe { tile.write(product, &part, &sums) };
}
