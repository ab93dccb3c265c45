//! The tree without bank conflicts.

use core::mem::MaybeUninit;

use cuda_std::{address_space, thread};
use rung::rung;

/// `scan_work_efficient` with an unused word after every 32 words of shared memory.
///
/// Without padding, nodes that are 32 words apart lie in the same bank. With padding, each of these nodes lies one bank
/// after the previous node. (Harris, Sengupta and Owens, *Parallel Prefix Sum (Scan) with CUDA*, GPU Gems 3, section
/// 39.2.3.)
///
/// # Safety
/// See [`scan`](super).
#[rung(
    after = scan_work_efficient,
    lesson = "a word of padding after every 32 words spreads the tree's nodes over the banks",
    blocks = [64, 128, 256, 512, 1024],
    default_block = 256,
    items_per_thread = 2
)]
pub unsafe fn scan_padded<const BLOCK: u32>(input: *const i32, output: *mut i32, n: u32) {
    #[address_space(shared)]
    static mut SUMS: MaybeUninit<[i32; 2 * BLOCK as usize + 2 * BLOCK as usize / 32]> = MaybeUninit::uninit();
    let sums = (&raw mut SUMS).cast::<i32>();
    // The change from `scan_work_efficient`: the padded address of an element of the section.
    let word_of = |place: u32| sums.wrapping_add((place + place / 32) as usize);
    let (tid, start) = (thread::thread_idx_x(), thread::block_idx_x() * BLOCK * 2);

    for place in [tid, tid + BLOCK] {
        let i = start + place;
        // SAFETY: the input is read only if i < n, and each element of the section has one writer.
        unsafe { *word_of(place) = if i < n { *input.add(i as usize) } else { 0 } };
    }
    let mut stride = 1;
    while stride <= BLOCK {
        thread::sync_threads();
        let node = (tid + 1) * 2 * stride - 1;
        if node < 2 * BLOCK {
            // SAFETY: stride <= node < 2 * BLOCK. Each node has one writer, and no other thread reads the node in this
            // round.
            unsafe { *word_of(node) += *word_of(node - stride) };
        }
        stride *= 2;
    }
    stride = BLOCK / 2;
    while stride > 0 {
        thread::sync_threads();
        let node = (tid + 1) * 2 * stride - 1;
        if node + stride < 2 * BLOCK {
            // SAFETY: node + stride < 2 * BLOCK. Each node has one writer, and no other thread reads the node in this
            // round.
            unsafe { *word_of(node + stride) += *word_of(node) };
        }
        stride /= 2;
    }
    thread::sync_threads();
    for place in [tid, tid + BLOCK] {
        let i = start + place;
        if i < n {
            // SAFETY: i < n, and no other thread writes this element.
            unsafe { *output.add(i as usize) = *word_of(place) };
        }
    }
}
