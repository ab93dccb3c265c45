//! Hints:
//!
//! 1. Run it as it is: what is found for n = 0 is the access of a thread whose number is not below `n`.
//! 2. Put `if i < n { … }` around the accesses.
//!
//! Indices end at `n - 1`, so the guard is `i < n`; with `i <= n` one thread goes one element too far. The access of such a
//! thread need not fail on a GPU: it may hit another allocation, and spoil it.

use cuda_std::prelude::*;

/// # Safety
/// `a`, `b` and `sum` point to `n` elements each. The grid has a thread for each of them, or more.
#[kernel]
pub unsafe fn guard(a: *const f32, b: *const f32, sum: *mut f32, n: u32) {
    let i = thread::index_1d();
    if i < n {
        let i = i as usize;
        // SAFETY: in bounds, by the guard; each thread has an element of its own.
        unsafe { *sum.add(i) = *a.add(i) + *b.add(i) };
    }
}
