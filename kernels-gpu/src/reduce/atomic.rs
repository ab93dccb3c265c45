//! The whole sum in one launch: every block adds its own to one element.

use cuda_std::thread;
use rung::{Form, Rung};

use super::every_operation::every_operation;
use super::operation::{AtomicOperation, Element, Sum};
use super::shfl::combine_block;
use super::vector::{WIDE, load_and_combine_wide};
use crate::warp::WARP_SIZE;

/// This file's rungs.
pub const RUNGS: &[Rung] = &[Rung { entries: EVERY_OPERATION, ..REDUCE_ATOMIC }];

entries! {
    /// `reduce_vector`, where each block adds its sum to `output[0]`, which was zero before.
    ///
    /// The thread does not wait for an atomic whose result nobody reads: a block ends as soon as it does in
    /// `reduce_vector`, and the additions happen in L2 while other blocks still load. For sums only; those of floats
    /// come in an order of their own each time, and so may their rounding.
    ///
    /// Prediction: the time of `reduce_vector`, as long as L2 adds faster than blocks end, which is 32768 additions
    /// to one address in 335 µs, one in 10 ns. Measured on an H100 80GB HBM3 for `i32`: 335.6 µs, 3200 GB/s, at
    /// 2^28 (CUB's DeviceReduce 349 µs), 24.5 µs at 2^24 (28.3), 5.2 µs at 2^20 (7.5), of which 3.2 are what an
    /// empty kernel takes there. All three are the times without the additions.
    ///
    /// # Safety
    /// As [`reduce`](super) says, but `output` is one element, 0 at first; `input` is a multiple of 16.
    reduce_atomic(input: *const i32, output: *mut i32, n: u32) for BLOCK in [64, 128, 256, 512, 1024];
    shared tile: [i32; BLOCK / WARP_SIZE as usize];
    rung WIDE {
        lesson: "the whole sum: one atomic addition a block, which nobody waits for",
        single_pass: true,
        form: Form::ZeroedOutput,
    };
    // SAFETY: the body has the kernel's contract.
    => unsafe { atomic::<i32, Sum, BLOCK>(tile, input, output, n) }
}

every_operation! {
    reduce_atomic for [512, 1024]; shared [BLOCK / WARP_SIZE as usize]; atomic;
    Sum sum [u32 i64 f32 f64]
}

/// # Safety
/// The contract of `reduce_atomic`, for blocks of `BLOCK` threads; `warp_results` is shared memory of an element for
/// each warp.
#[inline(always)]
unsafe fn atomic<T: Element, O: AtomicOperation<T>, const BLOCK: usize>(
    warp_results: *mut T,
    input: *const T,
    output: *mut T,
    n: u32,
) {
    // SAFETY: as the kernel's contract says.
    unsafe {
        let own = load_and_combine_wide::<T, O, BLOCK>(input, n);
        let result = combine_block::<T, O, BLOCK>(warp_results, own);
        if thread::thread_idx_x() == 0 {
            O::combine_into(output, result);
        }
    }
}
