//! The part of a tile behind the last element, which nobody fills and everybody adds.
//!
//! The tile has a place for each thread of a full block. The last block has fewer elements, its threads beyond them
//! write nothing, and the sum goes over the whole tile all the same.
//!
//! The cure fills the tail with the neutral element, here 0.

use cuda_std::shared::dynamic_shared_mem;
use cuda_std::{kernel, thread};

pitfall! { uninitialized_tail: Init, 1 x 32 {
    lesson: "where a tile is used whole, the places behind the last element hold the neutral element",
    on_gpu: "the sums of the last block are wrong by what another block left in shared memory",
    arguments: [Input(50), Output(32)],
    shared: (256, 256),
    right: |input, at| input[at].wrapping_add(if at < 18 { input[at + 32] } else { 0 }),
} }

/// The elements of the input: fewer than the tile has places.
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

/// The cure.
#[kernel]
pub unsafe fn uninitialized_tail_cured(input: *const u32, output: *mut u32) {
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
