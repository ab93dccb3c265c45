//! Where `unsafe` ends: a promise made once.
//!
//! `unsafe` in every line says nothing. Better: a type whose making is unsafe, because the caller has to promise something, and
//! whose use is then safe. `Own` is a thread's own element: the code that makes one promises that no other thread has the same.
//!
//! This kernel does not compile: `Own::new` is unsafe, and nobody has promised anything. Say so where it is called, and write
//! `Own::update`, a safe function that applies a function to the element.

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
/// `data` points to `n` elements. The grid has a thread for each of them, or more.
#[kernel]
pub unsafe fn safe_wrapper(data: *mut u32, n: u32) {
    let i = thread::index_1d();
    if i < n {
        // TODO: a promise.
        let own = Own::new(data.add(i as usize));
        own.update(|x| x.rotate_left(8) ^ i);
    }
}
