//! Divergence: let whole warps take the same way.
//!
//! The 32 threads of a warp run one instruction at a time. At a branch where some threads go one way and some the other,
//! the warp *splits*: it runs both ways one after the other, each time with a part of its threads, and the rest wait.
//!
//! Elements at even places are treated one way here, and those at odd places another. Every warp has both, so every warp
//! splits. Each block has 128 threads and 128 elements. Give the even elements to the first 64 threads, which are two
//! warps, and the odd ones to the other 64. No branch splits a warp then.

use cuda_std::prelude::*;

/// # Safety
/// `data` points to `n` elements. The grid has blocks of 128 threads, and a thread for each element, or more.
#[kernel]
pub unsafe fn even_and_odd(data: *mut u32, n: u32, steps: u32) {
    let t = thread::thread_idx_x();
    // TODO: the place in the block of the element that this thread takes.
    let place = t;
    let i = thread::block_idx_x() * 128 + place;
    if i < n {
        // SAFETY: in bounds; each thread has an element of its own.
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
