//! Hillis and Steele's scan in global memory.

use cuda_std::thread;
use rung::rung;

/// Each block scans its section of the input in log2 rounds. In round `k`, each element adds the sum that ends `2^k`
/// elements earlier, so its sum covers twice the number of elements.
///
/// The sections are scanned in place in `output`. Two barriers per round keep a thread from reading a sum that another
/// thread has already changed in this round. (Hillis and Steele, *Data Parallel Algorithms*, 1986; *Programming
/// Massively Parallel Processors*, section 11.2, calls it Kogge–Stone.)
///
/// # Safety
/// See [`scan`](super).
#[rung(
    lesson = "log2 rounds in global memory: each round adds the sum that ends twice as far back",
    default_block = 256
)]
pub unsafe fn scan_global(input: *const i32, output: *mut i32, n: u32) {
    let (tid, block_dim) = (thread::thread_idx_x(), thread::block_dim_x());
    let i = thread::block_idx_x() * block_dim + tid;
    let mut sum = 0;
    if i < n {
        // SAFETY: i < n, and no other thread writes this element.
        unsafe {
            sum = *input.add(i as usize);
            *output.add(i as usize) = sum;
        }
    }
    let mut stride = 1;
    while stride < block_dim {
        thread::sync_threads();
        // SAFETY: i < n, and the element `stride` positions earlier lies in the same section.
        let before = if tid >= stride && i < n { unsafe { *output.add((i - stride) as usize) } } else { 0 };
        thread::sync_threads();
        sum = sum.wrapping_add(before);
        if i < n {
            // SAFETY: i < n, and all threads have read their elements of this round.
            unsafe { *output.add(i as usize) = sum };
        }
        stride *= 2;
    }
}
