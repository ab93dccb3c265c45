//! A tile whose words past the last element are read but never written.
//!
//! The tile has a word for each thread of a full block. The last block has fewer elements, so some words stay
//! unwritten. But the sum reads the whole tile.
//!
//! The fixed version fills the rest of the tile with the identity, here 0.

use cuda_std::shared::dynamic_shared_mem;
use cuda_std::{kernel, thread};

pitfall! { uninitialized_tail: Init, 1 x 32 {
    lesson: "if a whole tile is read, its words past the last element must hold the identity",
    on_gpu: "the last block's sums contain values that another block left in shared memory",
    arguments: [Input(50), Output(32)],
    shared: (256, 256),
    right: |input, at| input[at].wrapping_add(if at < 18 { input[at + 32] } else { 0 }),
} }

/// The length of the input, which is less than the length of the tile.
const ELEMENTS: usize = 50;

/// The faulty kernel.
#[kernel]
pub unsafe fn uninitialized_tail(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let tile = dynamic_shared_mem::<u32>();
        for k in [i, i + 32] {
            if k < ELEMENTS {
                *tile.add(k) = *input.add(k);
            }
        }
        thread::sync_threads();
        *output.add(i) = (*tile.add(i)).wrapping_add(*tile.add(i + 32)); // fault
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn uninitialized_tail_fixed(input: *const u32, output: *mut u32) {
    // SAFETY: i < 32, because the block has 32 threads, and the tile has 64 words. `input` is read only below ELEMENTS.
    // The barrier separates the tile's writes from its reads.
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let tile = dynamic_shared_mem::<u32>();
        for k in [i, i + 32] {
            *tile.add(k) = if k < ELEMENTS { *input.add(k) } else { 0 };
        }
        thread::sync_threads();
        *output.add(i) = (*tile.add(i)).wrapping_add(*tile.add(i + 32));
    }
}
