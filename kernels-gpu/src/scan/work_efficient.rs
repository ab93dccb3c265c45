//! Two sweeps over a tree: n additions instead of n log2 n.

use core::mem::MaybeUninit;

use cuda_std::{address_space, thread};
use rung::rung;

/// Each block scans two elements per thread. An up-sweep over a binary tree computes the sums of 2, 4, 8, … elements,
/// and a down-sweep adds these sums to the elements between the tree's nodes.
///
/// In `scan_shared`, every thread adds in every round: `n log2 n` additions. Here threads add only at the nodes of the
/// tree: about `2 n` additions. The cost is bank conflicts. The nodes of a level are a power of two apart, so at stride
/// 16 all lanes of a warp need the same two banks. (Blelloch, *Prefix Sums and Their Applications*, 1990; this is Brent
/// and Kung's inclusive form, *Programming Massively Parallel Processors*, section 11.4.)
///
/// # Safety
/// See [`scan`](super).
#[rung(
    after = scan_shared,
    lesson = "an up-sweep and a down-sweep: 2n additions, but strides that are powers of two hit few banks",
    blocks = [64, 128, 256, 512, 1024],
    default_block = 256,
    items_per_thread = 2
)]
pub unsafe fn scan_work_efficient<const BLOCK: u32>(input: *const i32, output: *mut i32, n: u32) {
    #[address_space(shared)]
    static mut SUMS: MaybeUninit<[i32; 2 * BLOCK as usize]> = MaybeUninit::uninit();
    let sums = (&raw mut SUMS).cast::<i32>();
    let (tid, start) = (thread::thread_idx_x(), thread::block_idx_x() * BLOCK * 2);

    for place in [tid, tid + BLOCK] {
        let i = start + place;
        // SAFETY: the input is read only if i < n, and each element of the section has one writer.
        unsafe { *sums.add(place as usize) = if i < n { *input.add(i as usize) } else { 0 } };
    }
    let mut stride = 1;
    while stride <= BLOCK {
        thread::sync_threads();
        let node = (tid + 1) * 2 * stride - 1;
        if node < 2 * BLOCK {
            // SAFETY: stride <= node < 2 * BLOCK. Each node has one writer, and no other thread reads the node in this
            // round.
            unsafe { *sums.add(node as usize) += *sums.add((node - stride) as usize) };
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
            unsafe { *sums.add((node + stride) as usize) += *sums.add(node as usize) };
        }
        stride /= 2;
    }
    thread::sync_threads();
    for place in [tid, tid + BLOCK] {
        let i = start + place;
        if i < n {
            // SAFETY: i < n, and no other thread writes this element.
            unsafe { *output.add(i as usize) = *sums.add(place as usize) };
        }
    }
}
