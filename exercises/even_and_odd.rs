//! Divergence: all threads of a warp take the same branch.
//!
//! The 32 threads of a warp execute one instruction at a time. If some threads of a warp take a branch and others do
//! not, the warp *diverges*. It then executes both paths one after another, with only some of its threads active in
//! each path.
//!
//! This kernel changes elements with even indices in one way, and elements with odd indices in another. Neighboring
//! threads have neighboring elements, so every warp diverges. A block has 128 threads and 128 elements. Assign the
//! elements of a block to its threads differently, so that no warp diverges.

use cuda_std::prelude::*;

/// # Safety
/// `data` points to `n` elements. The grid has blocks of 128 threads, and at least one thread for each element.
#[kernel]
pub unsafe fn even_and_odd(data: *mut u32, n: u32, steps: u32) {
    let t = thread::thread_idx_x();
    // TODO: compute the index of this thread's element in the block.
    let place = t;
    let i = thread::block_idx_x() * 128 + place;
    if i < n {
        // SAFETY: the index is in bounds: checked above. Each thread writes a separate element.
        unsafe {
            let mut x = *data.add(i as usize);
            if place % 2 == 0 {
                for _ in 0..steps {
                    x = x.rotate_left(5) ^ x;
                }
            } else {
                for k in 0..steps {
                    x = x.wrapping_mul(3).wrapping_add(k);
                }
            }
            *data.add(i as usize) = x;
        }
    }
}
