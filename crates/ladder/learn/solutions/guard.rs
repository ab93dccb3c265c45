//! Hints:
//!
//! 1. The finding names a thread. Compare the index of that thread with `n`.
//! 2. Only threads with `i` below `n` may access the buffers. Put the accesses inside an `if`.
//! 3. `if i < n { … }`
//!
//! The last index is `n - 1`, so the check is `i < n`. With `i <= n` one thread accesses the element after the end. On
//! a GPU such an access may succeed without an error: it may change the data of another allocation.

use cuda_std::prelude::*;

/// # Safety
/// `a`, `b` and `sum` point to `n` elements each. The grid has at least one thread for each element.
#[kernel]
pub unsafe fn guard(a: *const f32, b: *const f32, sum: *mut f32, n: u32) {
    let i = thread::index_1d();
    if i < n {
        let i = i as usize;
        // SAFETY: the index is in bounds: checked above. Each thread writes a separate element.
        unsafe { *sum.add(i) = *a.add(i) + *b.add(i) };
    }
}
