//! Asynchronous copies: the next tiles are on their way while the present ones are multiplied.
//!
//! In `matmul_large_register_tile` a block waits for global memory once for each pair of tiles, and with one block on an
//! SM nothing else is done in that time. Here three stages of shared memory hold a pair of tiles each. A copy from global
//! to shared memory passes by the registers ([`copy_async`](crate::copy_async)): a thread starts it and goes on. So
//! while a block multiplies one stage, the next two fill by themselves, and one barrier for each pair of tiles is
//! enough: behind it the pair has arrived for all threads, and no thread reads the stage any more that is filled next.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use rung::Rung;

use super::block_tile::{DEPTH, Part, Product, TileSizes};
use super::copy_pipeline::{CopyPipeline, STAGES, stage_after, stages_len, wait_for_next_pair};
use super::large_register_tile::{LARGE, LargeTile};
use crate::wide::Wide;

/// This file's rungs.
pub const RUNGS: &[Rung] = &[MATMUL_ASYNC_COPIES];

entries! {
    /// `matmul_large_register_tile` with three stages of asynchronous copies. Elements are copied one by one, so that
    /// every shape takes the same way.
    ///
    /// # Safety
    /// As [`matmul`](super) says; the grid's x counts tiles of 128 × 256; dynamic shared memory holds 3 pairs of tiles.
    matmul_async_copies(a: *const f32, b: *const f32, c: *mut f32, m: u32, n: u32, k: u32)
    for BLOCK in [256];
    dynamic stages: [Wide<f32, 4>; stages_len::<LargeTile>() / 4];
    rung LARGE {
        lesson: "three stages of asynchronous copies: tiles arrive while others are multiplied, and nobody waits for memory",
    };
    // SAFETY: the body has the kernel's contract.
    => unsafe {
        const { assert!(BLOCK == LargeTile::THREADS) };
        async_copies(stages.cast(), &Product { a, b, c, m, n, k });
    }
}

/// # Safety
/// The contract of [`matmul_async_copies_256`], whose dynamic shared memory `stages` points to.
#[inline(always)]
unsafe fn async_copies(stages: *mut f32, product: &Product) {
    let part = Part::of_this_block::<LargeTile>(product);
    let tile = LargeTile::of_this_thread();
    let mut copies = CopyPipeline::<LargeTile, false>::new(stages, product, &part);
    let mut sums = [[0.0; 16]; 8];
    let mut stage = 0;
    for _ in 0..STAGES - 1 {
        // SAFETY: nothing has been read yet.
        unsafe { copies.start_next() };
    }
    for _ in 0..product.k.div_ceil(DEPTH as u32) {
        wait_for_next_pair();
        // SAFETY: the stage that is filled next was read to its end before the barrier, and the one that is read here
        // has arrived.
        unsafe {
            copies.start_next();
            let pair = stages.add(stage as usize);
            for step in 0..DEPTH {
                tile.fragments(pair, step).multiply_add(&mut sums);
            }
        }
        stage = stage_after::<LargeTile>(stage, 1);
    }
    // SAFETY: each element of `c` is one thread's.
    unsafe { tile.write(product, &part, &sums) };
}
