//! Hints:
//!
//! 1. The compiler first reports a missing method, and then an unsafe call. `new` requires a promise: which fact about
//!    `i` makes it true?
//! 2. `update` takes `self` and a closure from `u32` to `u32`. In its body, one `unsafe` block reads and writes the
//!    element.
//! 3. `fn update(self, change: impl FnOnce(u32) -> u32) { unsafe { *self.0 = change(*self.0) } }`
//!
//! `update` is safe, because the promise that `new` requires covers everything that `update` does. A reviewer of the
//! kernel checks only one place.

use cuda_std::prelude::*;

/// An element that no other thread uses.
struct ThreadElement(*mut u32);

impl ThreadElement {
    /// # Safety
    /// `element` points to an element that no other thread uses during the launch.
    unsafe fn new(element: *mut u32) -> Self {
        Self(element)
    }

    /// Replaces the element with the result of `change`.
    fn update(self, change: impl FnOnce(u32) -> u32) {
        // SAFETY: the caller of `new` has promised that no other thread uses the element.
        unsafe { *self.0 = change(*self.0) };
    }
}

/// # Safety
/// `data` points to `n` elements. The grid has at least one thread for each element.
#[kernel]
pub unsafe fn safe_wrapper(data: *mut u32, n: u32) {
    let i = thread::index_1d();
    if i < n {
        // SAFETY: i < n, and each thread has a different index.
        let element = unsafe { ThreadElement::new(data.add(i as usize)) };
        element.update(|x| x.rotate_left(8) ^ i);
    }
}
