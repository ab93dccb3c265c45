//! Bounds check: threads without an element do nothing.
//!
//! All blocks of a launch have the same size. A launch for 1000 elements with blocks of 128 threads has 8 blocks, or
//! 1024 threads. The last 24 threads have no element. Without a bounds check, these threads read and write outside the
//! buffers.
//!
//! Let each thread compute one element, `sum[i] = a[i] + b[i]`, for `i` below `n`.

use cuda_std::prelude::*;

/// # Safety
/// `a`, `b` and `sum` point to `n` elements each. The grid has at least one thread for each element.
#[kernel]
pub unsafe fn guard(a: *const f32, b: *const f32, sum: *mut f32, n: u32) {
    let i = thread::index_1d();
    // TODO: only threads with an element may access the buffers.
    let i = i as usize;
    // SAFETY: the index is in bounds: checked above. Each thread writes a separate element.
    unsafe { *sum.add(i) = *a.add(i) + *b.add(i) };
}
