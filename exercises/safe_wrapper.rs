//! A safe wrapper: one promise in one place.
//!
//! A kernel with `unsafe` in every line does not show what the caller must ensure. A type can do that: creating a value
//! is unsafe, because the caller makes a promise, and using the value is safe. `Own` is the element of one thread. The
//! code that creates an `Own` promises that no other thread has the same element.
//!
//! This kernel does not compile: `Own::new` is unsafe, and the call makes no promise. Write the `unsafe` block with a
//! SAFETY comment where `new` is called, and write `Own::update`, a safe function that applies a function to the
//! element.

use cuda_std::prelude::*;

/// An element that no other thread uses.
struct Own(*mut u32);

impl Own {
    /// # Safety
    /// `element` points to an element that no other thread uses during the launch.
    unsafe fn new(element: *mut u32) -> Self {
        Self(element)
    }

    // TODO: `update`.
}

/// # Safety
/// `data` points to `n` elements. The grid has at least one thread for each of them.
#[kernel]
pub unsafe fn safe_wrapper(data: *mut u32, n: u32) {
    let i = thread::index_1d();
    if i < n {
        // TODO: an unsafe block with a SAFETY comment.
        let own = Own::new(data.add(i as usize));
        own.update(|x| x.rotate_left(8) ^ i);
    }
}
