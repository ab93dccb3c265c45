//! Hints:
//!
//! 1. Consider a launch with one step: the only group is also the newest group, so `wait::<1>()` does not wait for it.
//! 2. A group may be empty. An empty group arrives at once, and it counts like any other group.
//! 3. Let every call to `start` end a group, whether it starts copies or not.
//!
//! `wait` counts groups, not copies. If each step ends exactly one group, the group of a step always has exactly one
//! newer group, and `wait::<1>()` means the same in every step. The rungs of `gemm` end empty groups for this reason.

use crate::copy_async::{Shared, commit, copy_four, wait};
use crate::wide::Wide;
use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// The number of 16-byte chunks in a stage: two for each row of `a`, then two for each column of `b`.
const CHUNKS: usize = 2 * 16 + 2 * 8;

/// # Safety
/// `a` points to 16 rows and `b` to 8 columns of `2 * steps` chunks, and `c` to 128 floats. There is one block of 32
/// threads.
#[kernel]
pub unsafe fn empty_groups(a: *const Wide<f32, 4>, b: *const Wide<f32, 4>, c: *mut f32, steps: u32) {
    #[address_space(shared)]
    static mut STAGES: MaybeUninit<[Wide<f32, 4>; 3 * CHUNKS]> = MaybeUninit::uninit();
    let stages = (&raw mut STAGES).cast::<Wide<f32, 4>>();
    let (lane, steps) = (thread::thread_idx_x() as usize, steps as usize);
    let stage = |step: usize| stages.wrapping_add(step % 3 * CHUNKS);
    // Starts this lane's copies for a step: a chunk of `a`, and a chunk of `b` in the first 16 lanes.
    let start = |step: usize| {
        if step < steps {
            let from = lane / 2 * 2 * steps + 2 * step + lane % 2;
            // SAFETY: the chunks exist, and no lane accesses the stage before it has waited for the copies.
            unsafe {
                copy_four(Shared::of(stage(step).add(lane)), a.add(from), true);
                if lane < 16 {
                    copy_four(Shared::of(stage(step).add(32 + lane)), b.add(from), true);
                }
            }
        }
        // After the last step, this group is empty. It is still committed, so one newer group is in flight whenever a
        // step waits.
        commit();
    };
    start(0);
    start(1);
    let mut sums = [0.0_f32; 4];
    for step in 0..steps {
        wait::<1>();
        // The copies of the other lanes have arrived too, and all lanes have read the previous stage.
        cuda_std::warp::sync_warp(u32::MAX);
        start(step + 2);
        // A row of `a` and a column of `b` are 8 words in a stage.
        let words = stage(step).cast::<u32>();
        // SAFETY: the words are in the stage. All lanes execute the product.
        unsafe {
            let a = [0, 1, 2, 3].map(|i| *words.add((lane / 4 + i % 2 * 8) * 8 + lane % 4 + i / 2 * 4));
            let b = [0, 1].map(|i| *words.add((16 + lane / 4) * 8 + lane % 4 + i * 4));
            multiply_add(&mut sums, a, b);
        }
    }
    for (register, sum) in sums.into_iter().enumerate() {
        let (row, column) = (lane / 4 + register / 2 * 8, lane % 4 * 2 + register % 2);
        // SAFETY: the index is below 128, and each lane writes different elements.
        unsafe { *c.add(row * 8 + column) = sum };
    }
}

/// Adds the product of two fragments to the sums: `mma.m16n8k16`.
///
/// # Safety
/// The caller must ensure that all lanes of the warp execute the call together.
#[inline(always)]
#[allow(unused, reason = "the host has no tensor cores")]
unsafe fn multiply_add([s0, s1, s2, s3]: &mut [f32; 4], a: [u32; 4], b: [u32; 2]) {
    ptx!(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 \
         {{{0}, {1}, {2}, {3}}}, {{{4}, {5}, {6}, {7}}}, {{{8}, {9}}}, {{{0}, {1}, {2}, {3}}};",
        inout(reg32) *s0, inout(reg32) *s1, inout(reg32) *s2, inout(reg32) *s3,
        in(reg32) a[0], in(reg32) a[1], in(reg32) a[2], in(reg32) a[3], in(reg32) b[0], in(reg32) b[1],
    );
}
