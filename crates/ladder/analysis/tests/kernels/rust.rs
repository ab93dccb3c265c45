//! Ordinary kernels in Rust, each with one launch. `cuda.cu` explains the comments above the kernels.
#![no_std]

use core::mem::MaybeUninit;
use core::sync::atomic::Ordering::Relaxed;
use cuda_std::atomic::mid::{atomic_fetch_add_f32_device, atomic_fetch_add_u32_device};
use cuda_std::prelude::*;
use cuda_std::{GpuFloat as _, warp};

fn id() -> usize {
    thread::index_1d() as usize
}

// launch: --grid 2048 --block 256 --arg f32:2 f32[524288]=rand:1 u64:524288 f32[524288]=rand:2
#[kernel]
#[allow(improper_ctypes_definitions)]
pub unsafe fn axpy_slice(a: f32, x: &[f32], y: *mut f32) {
    if let Some(x) = x.get(id()) {
        unsafe { *y.add(id()) += a * x };
    }
}

// launch: --grid 264 --block 256 --arg f32[1048576]=rand:1 u64:1048576 f32[1]
#[kernel]
#[allow(improper_ctypes_definitions)]
pub unsafe fn sum_squares(x: &[f32], sum: *mut f32) {
    let step = (thread::grid_dim_x() * thread::block_dim_x()) as usize;
    let partial: f32 = x.iter().skip(id()).step_by(step).map(|x| x * x).sum();
    let all = unsafe { warp::warp_reduce(!0, (partial * 256.0) as u32, warp::WarpReductionOp::Add) };
    if thread::thread_idx_x() % 32 == 0 {
        unsafe { atomic_fetch_add_f32_device(sum, Relaxed, all as f32) };
    }
}

// problem: coalescing
// launch: --grid 4096 --block 256 --arg f32[1048576]=rand:1 f32[1048576]
#[kernel]
pub unsafe fn transpose_columns(from: *const f32, to: *mut f32) {
    let (x, y) = (id() % 1024, id() / 1024);
    unsafe { *to.add(y * 1024 + x) = *from.add(x * 1024 + y) };
}

// problem: coalescing
// launch: --grid 1024 --block 128 --arg f32[2097152]=rand:1 u64:2097152 f32[131072]
#[kernel]
#[allow(improper_ctypes_definitions)]
pub unsafe fn chunk_maximum(x: &[f32], most: *mut f32) {
    let row = &x[16 * id()..16 * id() + 16];
    unsafe { *most.add(id()) = row.iter().fold(0.0, |a, b| f32::max(a, *b)) };
}

// problem: privatization
// launch: --grid 1056 --block 256 --arg u8[270336]=rand:1 u32[32]
#[kernel]
pub unsafe fn count_letters(text: *const u8, counts: *mut u32) {
    unsafe {
        let letter = *text.add(id()) % 26;
        atomic_fetch_add_u32_device(counts.add(letter as usize), Relaxed, 1);
    }
}

// problem: divergence
// launch: --grid 528 --block 256 --arg u32[135168]
#[kernel]
pub unsafe fn collatz(steps: *mut u32) {
    let mut value = (id() as u32).wrapping_mul(2_654_435_761) >> 16 | 1;
    let mut count = 0;
    while value != 1 && count < 128 {
        value = if value % 2 == 0 { value / 2 } else { value.wrapping_mul(3).wrapping_add(1) };
        count += 1;
    }
    unsafe { *steps.add(id()) = count };
}

// launch: --grid 2048 --block 256 --arg f32[524288]=rand:1 f32[524288]
#[kernel]
pub unsafe fn sigmoid(from: *const f32, to: *mut f32) {
    unsafe { *to.add(id()) = 1.0 / (1.0 + (-*from.add(id())).exp()) };
}

// launch: --grid 2048 --block 128 --arg f32[262144]=rand:1 u64:262144 f32[262144]
#[kernel]
#[allow(improper_ctypes_definitions)]
pub unsafe fn smooth(input: &[f32], output: *mut f32) {
    const BLOCK: usize = 128;
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[f32; BLOCK + 2]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<f32>();
    let (thread, i) = (thread::thread_idx_x() as usize, id());
    let element = |i: usize| if i < input.len() { input[i] } else { 0.0 };
    unsafe {
        *tile.add(1 + thread) = element(i);
        if thread == 0 {
            *tile = element(i.wrapping_sub(1));
        }
        if thread == BLOCK - 1 {
            *tile.add(BLOCK + 1) = element(i + 1);
        }
        thread::sync_threads();
        *output.add(i) = (*tile.add(thread) + *tile.add(thread + 1) + *tile.add(thread + 2)) / 3.0;
    }
}

// The lanes of a warp read one bank.
// problem: bank conflicts
// launch: --grid 528 --block 256 --arg u32[135168]=rand:1 u32[135168]
#[kernel]
pub unsafe fn tile_rows(from: *const u32, to: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 32 * 32]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    let (lane, warp) = (thread::thread_idx_x() as usize % 32, thread::thread_idx_x() as usize / 32);
    unsafe {
        let value = *from.add(id());
        for k in 0..4 {
            *tile.add((4 * warp + k) * 32 + lane) = value;
        }
        thread::sync_threads();
        let mut sum = 0_u32;
        for k in 0..32 {
            sum = sum.wrapping_mul(3).wrapping_add(*tile.add(lane * 32 + k));
        }
        *to.add(id()) = sum;
    }
}

// problem: too few blocks
// launch: --grid 4 --block 128 --arg u64[65536]=rand:1 u64:65536 u64[512]
#[kernel]
#[allow(improper_ctypes_definitions)]
pub unsafe fn checksums(words: &[u64], sums: *mut u64) {
    let mut hash = 14_695_981_039_346_656_037_u64;
    let mut i = id();
    while i < words.len() {
        hash = (hash ^ words[i]).wrapping_mul(1_099_511_628_211);
        i += 512;
    }
    unsafe { *sums.add(id()) = hash };
}

// launch: --grid 512 --block 256 --arg f64[131072]=rand:1 f64[131072]
#[kernel]
pub unsafe fn horner(from: *const f64, to: *mut f64) {
    let x = unsafe { *from.add(id()) };
    let value = (1..=12).rev().fold(0.0, |sum, k| sum * x + 1.0 / k as f64);
    unsafe { *to.add(id()) = value };
}
