//! A safe wrapper: one promise in one place.
//!
//! A kernel with `unsafe` in every line does not show what the caller must ensure. A type can do that: creating a value
//! is unsafe, because the caller makes a promise, and using the value is safe. `ThreadElement` is the element of one
//! thread. The code that creates a `ThreadElement` promises that no other thread has the same element.
//!
//! This kernel does not compile: `ThreadElement::new` is unsafe, and the call is not in an `unsafe` block. Write the
//! `unsafe` block with a SAFETY comment where `new` is called. Also write `ThreadElement::update`, a safe function that
//! applies a function to the element.

use cuda_std::prelude::*;

/// An element that no other thread uses.
struct ThreadElement(*mut u32);

impl ThreadElement {
    /// # Safety
    /// `element` points to an element that no other thread uses during the launch.
    unsafe fn new(element: *mut u32) -> Self {
        Self(element)
    }

    // TODO: write `update`.
}

/// # Safety
/// `data` points to `n` elements. The grid has at least one thread for each element.
#[kernel]
pub unsafe fn safe_wrapper(data: *mut u32, n: u32) {
    let i = thread::index_1d();
    if i < n {
        // TODO: add an unsafe block with a SAFETY comment.
        let element = ThreadElement::new(data.add(i as usize));
        element.update(|x| x.rotate_left(8) ^ i);
    }
}
