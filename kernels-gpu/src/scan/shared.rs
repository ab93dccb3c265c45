//! The rounds of `scan_global` in shared memory, with one barrier per round.

use core::mem::MaybeUninit;

use cuda_std::{address_space, thread};
use rung::rung;

/// `scan_global`, except that the sums of a section are in shared memory.
///
/// There are two arrays. A round reads one array and writes the other, so no thread changes an element that other
/// threads still read. Therefore a round needs one barrier instead of two. (*Programming Massively Parallel
/// Processors*, section 11.2, "double buffering".)
///
/// # Safety
/// See [`scan`](super).
#[rung(
    after = scan_global,
    lesson = "the rounds run in shared memory, and two buffers halve the barriers",
    blocks = [64, 128, 256, 512, 1024],
    default_block = 256
)]
pub unsafe fn scan_shared<const BLOCK: u32>(input: *const i32, output: *mut i32, n: u32) {
    #[address_space(shared)]
    static mut SUMS: MaybeUninit<[i32; 2 * BLOCK as usize]> = MaybeUninit::uninit();
    let sums = (&raw mut SUMS).cast::<i32>();
    let tid = thread::thread_idx_x();
    let i = thread::block_idx_x() * BLOCK + tid;

    // SAFETY: the input is read only if i < n.
    let mut sum = if i < n { unsafe { *input.add(i as usize) } } else { 0 };
    let (mut stride, mut from) = (1, 0);
    while stride < BLOCK {
        // SAFETY: both elements are in the buffer that starts at `from`. No thread reads the other buffer before the
        // next round, or writes this buffer before the round after that.
        unsafe {
            *sums.add((from + tid) as usize) = sum;
            thread::sync_threads();
            if tid >= stride {
                sum = sum.wrapping_add(*sums.add((from + tid - stride) as usize));
            }
        }
        stride *= 2;
        from = BLOCK - from;
    }
    if i < n {
        // SAFETY: i < n, and no other thread writes this element.
        unsafe { *output.add(i as usize) = sum };
    }
}
