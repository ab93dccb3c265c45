//! The sum of `n` 32-bit integers, wrapping: from one addition in two threads to warp shuffles. The later rungs also
//! compute the product, the minimum and the maximum, of five types ([`operation`]).
//!
//! The kernels have the same parameters and the same result: block `b` writes the sum of its part of `input` to
//! `output[b]`, and the host adds those. Only [`one_launch`] and [`atomic`] give the sum of all. A block's part is as
//! many elements as it has threads, or 2, 4 or 8 times that where the rung says so. The grid has just enough blocks for
//! `n` elements, and one for `n` = 0.
//!
//! The rungs in shared memory, by shuffles, with a grid's stride and with wide loads are there for every operation and
//! type, from one body: `reduce_shfl_max_f32_128`.
//!
//! # Where the rungs come from
//!
//! The rungs up to `reduce_complete_unroll` follow *Divergent Warps (Example: Sum Reduction)*, an article after
//! *Professional CUDA C Programming* (Cheng, Grossman and McKercher, 2014). Their descriptions name its sections and
//! kernels, and "the article measures" means that one. `reduce_shfl` follows another, which it names.
//!
//! The article's kernels are right when `n` is a multiple of everything. These are right for every `n` up to 2^31 - 1.
//! That takes three things, none of which does anything in a full block:
//! - no thread returns before a barrier that others wait at; instead a step checks that its partner
//!   exists (`tid + stride < len`);
//! - where a thread takes several elements at once, the last block takes those that exist;
//! - threads of a warp have not run in lockstep since Volta: the last warp synchronizes between reading a
//!   neighbour's value and writing its own ([`unroll_warps`]).
//!
//! # Safety
//! All kernels: `input` points to `n` elements and `output` to one for each block, in device memory
//! that nothing else uses during the launch; the block is one-dimensional, its size a power of two from
//! 64 to 1024 (the one in the name, where there is one); the grid has `max(1, ceil(n / part))` blocks.

use cuda_std::thread;
use rung::{Geometry, PublishedSpeedup, Rung};

use operation::{Element, Operation, Sum};

mod every_operation;
pub mod operation;

rungs! {
    neighbored,
    interleaved,
    unrolling,
    unroll_warps,
    complete_unroll,
    gmem,
    smem,
    shfl,
    grid_stride,
    vector,
    one_launch,
    atomic,
}

/// A rung in global memory, of one data block: what the others differ from.
const GLOBAL: Rung = Rung { default_block: [512, 1, 1], in_place: true, ..Rung::USUAL };

/// A rung that combines in shared memory or in registers and leaves its input as it is.
const ON_CHIP: Rung = Rung { default_block: [128, 1, 1], ..Rung::USUAL };

/// The geometry of blocks that take so many elements for each of their threads.
const fn data_blocks(items_per_thread: u32) -> Geometry {
    Geometry::Line { items_per_thread }
}

/// A speedup over the first rung, as the article gives it.
const fn published(factor: f64) -> Option<PublishedSpeedup> {
    Some(PublishedSpeedup { factor, over: "reduce_neighbored" })
}

/// This thread's block and its part of the input: `data_blocks` elements for each of its threads.
struct Part {
    /// The thread's index in the block.
    tid: u32,
    /// Threads in the block.
    block: u32,
    /// The block's index in the grid.
    index: u32,
    /// The index of the part's first element.
    start: u32,
}

impl Part {
    /// The part of a block whose size is known when the kernel runs.
    #[inline(always)]
    fn of_this_block(data_blocks: u32) -> Self {
        Self::of_block_size(thread::block_dim_x(), data_blocks)
    }

    /// The part of a block of `block` threads.
    #[inline(always)]
    fn of_block_size(block: u32, data_blocks: u32) -> Self {
        let index = thread::block_idx_x();
        Part { tid: thread::thread_idx_x(), block, index, start: index * (block * data_blocks) }
    }

    /// The index of this thread's first element.
    #[inline(always)]
    fn first(&self) -> u32 {
        self.start + self.tid
    }

    /// How many sums the block has once each thread has added up its own elements: one a thread, or
    /// fewer at the end of the input.
    #[inline(always)]
    fn len(&self, n: u32) -> u32 {
        (n - self.start).min(self.block)
    }

    /// Has the block's first thread write the block's sum, `data[0]`, or 0 where the block has no elements.
    ///
    /// # Safety
    /// `output` has an element for each block. Unless `len` is 0, `data[0]` exists, and was written before a barrier or
    /// by the first thread.
    #[inline(always)]
    unsafe fn write_sum(&self, output: *mut i32, data: *const i32, len: u32) {
        if self.tid == 0 {
            // SAFETY: as the caller promises; no other thread writes this element.
            unsafe { *output.add(self.index as usize) = if len > 0 { *data } else { 0 } };
        }
    }
}

/// Adds `data[i + stride]` to `data[i]`.
///
/// # Safety
/// `data[i]` and `data[i + stride]` exist, and no other thread accesses `data[i]` or writes `data[i + stride]`.
#[inline(always)]
unsafe fn add_at(data: *mut i32, i: u32, stride: u32) {
    // SAFETY: as the caller promises.
    unsafe { combine_at::<i32, Sum>(data, i, stride) }
}

/// Combines `data[i + stride]` into `data[i]`.
///
/// # Safety
/// `data[i]` and `data[i + stride]` exist, and no other thread accesses `data[i]` or writes `data[i + stride]`.
#[inline(always)]
unsafe fn combine_at<T: Element, O: Operation<T>>(data: *mut T, i: u32, stride: u32) {
    // SAFETY: as the caller promises.
    unsafe {
        let result = O::combine(*data.add(i as usize), *data.add((i + stride) as usize));
        *data.add(i as usize) = result;
    }
}

/// Loads this thread's `N` elements, which lie `block` apart from `first` on, and combines them. `CHECKED` is for the
/// last block, where some of them do not exist.
///
/// All loads come before the operations, so that they are in flight together.
///
/// # Safety
/// `input` points to `n` elements that no other thread writes; unless `CHECKED`, the last of this
/// thread's elements is one of them.
#[inline(always)]
unsafe fn load_and_combine<T: Element, O: Operation<T>, const N: usize, const CHECKED: bool>(
    input: *const T,
    first: u32,
    block: u32,
    n: u32,
) -> T {
    let elements: [T; N] = core::array::from_fn(|k| {
        let distance = k * block as usize;
        if CHECKED && first + distance as u32 >= n {
            return O::IDENTITY;
        }
        // SAFETY: in bounds, by the check or by the caller. One base and a distance, so that a block
        // size known to the compiler becomes the immediate offset of the load.
        unsafe { *input.add(first as usize).add(distance) }
    });
    elements.into_iter().fold(O::IDENTITY, O::combine)
}

/// Whether all of a thread's `N` elements exist.
#[inline(always)]
fn all_exist<const N: usize>(first: u32, block: u32, n: u32) -> bool {
    first + (N as u32 - 1) * block < n
}

/// Adds a thread's `N` elements up into the first of them.
///
/// # Safety
/// `input` points to `n` elements, and no other thread accesses those of this thread.
#[inline(always)]
unsafe fn sum_into_first<const N: usize>(input: *mut i32, first: u32, block: u32, n: u32) {
    // SAFETY: every access is below `n`.
    unsafe {
        if all_exist::<N>(first, block, n) {
            *input.add(first as usize) = load_and_combine::<i32, Sum, N, false>(input, first, block, n);
        } else if first < n {
            *input.add(first as usize) = load_and_combine::<i32, Sum, N, true>(input, first, block, n);
        }
    }
}
