//! Traits: one function body for several operations.
//!
//! A sum and a maximum differ in two things: how they combine two values, and their *neutral element*, which changes no
//! value. A trait can describe both, and a generic function can use the trait. Each kernel names its operation, and the
//! compiler generates separate code for each operation.
//!
//! `Sum` is implemented. Implement `Max` for all `i32` values, and use it in the second kernel.

use cuda_std::{prelude::*, warp};

/// An associative operation.
trait Operation {
    /// The element that changes no value.
    const NEUTRAL: i32;
    /// Combines two values.
    fn combine(a: i32, b: i32) -> i32;
}

struct Sum;

impl Operation for Sum {
    const NEUTRAL: i32 = 0;
    fn combine(a: i32, b: i32) -> i32 {
        a + b
    }
}

// TODO: implement `Max`.

/// # Safety
/// `input` points to `n` elements, and `output` to one for each block. The grid has blocks of one warp, and at least
/// one thread for each element.
#[kernel]
pub unsafe fn generic_operation_sum(input: *const i32, output: *mut i32, n: u32) {
    // SAFETY: `body` has the same requirements as the kernel, and the kernel passes its arguments unchanged.
    unsafe { body::<Sum>(input, output, n) };
}

/// # Safety
/// The requirements of `generic_operation_sum` apply.
#[kernel]
pub unsafe fn generic_operation_max(input: *const i32, output: *mut i32, n: u32) {
    // SAFETY: `body` has the same requirements as the kernel, and the kernel passes its arguments unchanged.
    // TODO: compute the maximum instead of the sum.
    unsafe { body::<Sum>(input, output, n) };
}

/// # Safety
/// The requirements of the kernels apply.
#[inline(always)]
unsafe fn body<O: Operation>(input: *const i32, output: *mut i32, n: u32) {
    let i = thread::index_1d();
    // SAFETY: the code below checks that i < n. All lanes shuffle together.
    unsafe {
        let mut result = if i < n { *input.add(i as usize) } else { O::NEUTRAL };
        let mut bits = 16;
        while bits > 0 {
            let (other, _) = warp::warp_shuffle_xor(u32::MAX, result, bits, 32);
            result = O::combine(result, other);
            bits /= 2;
        }
        if thread::thread_idx_x() == 0 {
            *output.add(thread::block_idx_x() as usize) = result;
        }
    }
}
