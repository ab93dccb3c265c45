//! A guard: threads without an element do nothing.
//!
//! All blocks of a launch have the same size. For 1000 elements and blocks of 128 threads, 8 blocks are launched, 1024
//! threads: the last 24 have no element. A kernel has to ask, or these threads read and write what is not theirs.
//!
//! Let each thread with an element add it up: `sum[i] = a[i] + b[i]`, for `i` below `n`. The check runs it for `n` = 0, too.

use cuda_std::prelude::*;

/// # Safety
/// `a`, `b` and `sum` point to `n` elements each. The grid has a thread for each of them, or more.
#[kernel]
pub unsafe fn guard(a: *const f32, b: *const f32, sum: *mut f32, n: u32) {
    let i = thread::index_1d();
    // TODO: only threads with an element.
    let i = i as usize;
    // SAFETY: in bounds, by the guard; each thread has an element of its own.
    unsafe { *sum.add(i) = *a.add(i) + *b.add(i) };
}
