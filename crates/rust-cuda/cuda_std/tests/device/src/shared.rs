//! Shared memory: the static, the macro, the dynamic array.

use core::mem::MaybeUninit;
use cuda_std::mem::{dynamic_smem_size, total_smem_size};
use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::{address_space, shared_array};

#[address_space(shared)]
static mut TILE: [MaybeUninit<f32>; 256] = [const { MaybeUninit::uninit() }; 256];

#[address_space(shared)]
static mut LAST: MaybeUninit<u32> = MaybeUninit::uninit();

#[address_space(global)]
static mut CALLS: u32 = 0;

#[address_space(constant)]
static WEIGHTS: [f32; 4] = [1.0, 2.0, 4.0, 8.0];

#[kernel]
pub unsafe fn shared_static(data: *mut f32) {
    let i = thread::thread_idx_x() as usize;
    let tile = (&raw mut TILE).cast::<f32>();
    let last = (&raw mut LAST).cast::<u32>();
    unsafe {
        *tile.add(i) = *data.add(i);
        if i == 0 {
            *last = thread::block_dim_x() - 1;
        }
        thread::sync_threads();
        *data.add(i) = *tile.add(*last as usize - i) * WEIGHTS[i % 4];
        CALLS += 1;
    }
}

#[kernel]
pub unsafe fn shared_macro(data: *mut u64) {
    let i = thread::thread_idx_x() as usize;
    let (a, b) = (shared_array![u64; 64], shared_array![u64; 64]);
    unsafe {
        *a.add(i) = *data.add(i);
        *b.add(i) = *data.add(i + 64);
        thread::sync_threads();
        *data.add(i) = *a.add(63 - i) ^ *b.add(63 - i);
    }
}

#[kernel]
pub unsafe fn shared_dynamic(data: *mut u32) {
    let i = thread::thread_idx_x() as usize;
    let tile = dynamic_shared_mem::<u32>();
    unsafe {
        *tile.add(i) = *data.add(i);
        thread::sync_threads();
        *data.add(i) = *dynamic_shared_mem::<u32>().add(i ^ 1) + dynamic_smem_size() + total_smem_size();
    }
}
