//! The kernels of the book's foundations. Each shows one idea in about ten lines. They are not rungs of a ladder.
//!
//! `ladder why NAME --grid … --block … --arg …` shows one of these kernels on the simulator. `lab basics` times the
//! kernels on a GPU.
//!
//! # Safety
//! Every buffer has an element for each index that the kernel computes, and the output overlaps no input. All launches
//! are one-dimensional, except for `swizzled_tile`.
#![allow(clippy::missing_safety_doc, reason = "the section above holds for all kernels")]

use core::mem::MaybeUninit;

use cuda_std::{address_space, kernel, thread};

/// Adds two vectors with one thread for each element.
#[kernel]
pub unsafe fn vector_add(a: *const f32, b: *const f32, sum: *mut f32, n: u32) {
    let i = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    if i < n {
        let i = i as usize;
        // SAFETY: i < n, and the vectors have n elements. Only this thread writes element i.
        unsafe { *sum.add(i) = *a.add(i) + *b.add(i) };
    }
}

/// Adds two vectors with thread coarsening. A thread's four elements are the grid's number of threads apart.
#[kernel]
pub unsafe fn vector_add_coarsened(a: *const f32, b: *const f32, sum: *mut f32, n: u32) {
    let threads = thread::grid_dim_x() * thread::block_dim_x();
    let first = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    for k in 0..4 {
        let i = first + k * threads;
        if i < n {
            let i = i as usize;
            // SAFETY: i < n, and the vectors have n elements. Only this thread writes element i.
            unsafe { *sum.add(i) = *a.add(i) + *b.add(i) };
        }
    }
}

/// Copies every `stride`-th word of the input, starting at word `offset`.
#[kernel]
pub unsafe fn strided_copy(input: *const f32, output: *mut f32, offset: u32, stride: u32) {
    let i = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    // SAFETY: the input contains the word that this thread reads, and the output has a word for each thread.
    unsafe {
        let word = *input.add((offset + i * stride) as usize);
        *output.add(i as usize) = word;
    }
}

/// Four floats that one instruction loads or stores. The alignment is part of the type.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub struct Float4([f32; 4]);

/// Copies 16 bytes per thread.
#[kernel]
pub unsafe fn wide_copy(input: *const Float4, output: *mut Float4) {
    let i = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    // SAFETY: both buffers have an element for each thread.
    unsafe { *output.add(i as usize) = *input.add(i as usize) };
}

/// Reads shared memory with a stride. Blocks have 1024 threads.
#[kernel]
pub unsafe fn bank_stride(output: *mut u32, stride: u32) {
    #[address_space(shared)]
    static mut WORDS: MaybeUninit<[u32; 1024]> = MaybeUninit::uninit();
    let words = (&raw mut WORDS).cast::<u32>();
    let t = thread::thread_idx_x();
    let i = thread::block_idx_x() * 1024 + t;
    // SAFETY: t < 1024. The barrier separates the writes of the words from the reads.
    unsafe {
        *words.add(t as usize) = t;
        thread::sync_threads();
        let word = *words.add((t * stride % 1024) as usize);
        *output.add(i as usize) = word;
    }
}

/// Transposes a matrix of 32 × 32 words through a swizzled tile. The block has 32 × 32 threads.
#[kernel]
pub unsafe fn swizzled_tile(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 1024]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    let (x, y) = (thread::thread_idx_x(), thread::thread_idx_y());
    let word = |row: u32, col: u32| (row * 32 + (col ^ row)) as usize;
    // SAFETY: x and y are below 32, and so is their exclusive or. The barrier separates the
    // writes from the reads.
    unsafe {
        *tile.add(word(y, x)) = *input.add((y * 32 + x) as usize);
        thread::sync_threads();
        *output.add((y * 32 + x) as usize) = *tile.add(word(x, y));
    }
}

/// Executes one of two loops. All threads in a group of `group` neighboring threads execute the same loop.
#[kernel]
pub unsafe fn two_ways(output: *mut u32, group: u32, rounds: u32) {
    let i = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    let mut x = i;
    if i / group % 2 == 1 {
        for _ in 0..rounds {
            x ^= x * 3;
        }
    } else {
        for _ in 0..rounds {
            x ^= x * 5;
        }
    }
    // SAFETY: the output has a word for each thread.
    unsafe { *output.add(i as usize) = x };
}
