//! Hints:
//!
//! 1. Around the call: `// SAFETY: …` and `unsafe { Own::new(data.add(i as usize)) }`.
//! 2. `fn update(self, change: impl FnOnce(u32) -> u32)` replaces the element by `change` of it.
//! 3. Inside of `update`, `// SAFETY: …` and `unsafe { *self.0 = change(*self.0) }`.
//!
//! Why is `update` safe? `new` was promised all that it needs. Whoever reads the kernel checks one place.

use cuda_std::prelude::*;

/// An element that no other thread uses.
struct Own(*mut u32);

impl Own {
    /// # Safety
    /// `element` points to an element that no other thread uses during the launch.
    unsafe fn new(element: *mut u32) -> Self {
        Self(element)
    }

    /// Replaces the element by `change` of it.
    fn update(self, change: impl FnOnce(u32) -> u32) {
        // SAFETY: as was promised when it was made.
        unsafe { *self.0 = change(*self.0) };
    }
}

/// # Safety
/// `data` points to `n` elements. The grid has a thread for each of them, or more.
#[kernel]
pub unsafe fn safe_wrapper(data: *mut u32, n: u32) {
    let i = thread::index_1d();
    if i < n {
        // SAFETY: in bounds; each thread has an index of its own.
        let own = unsafe { Own::new(data.add(i as usize)) };
        own.update(|x| x.rotate_left(8) ^ i);
    }
}
