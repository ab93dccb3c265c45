//! An array in registers: indices that the compiler knows.
//!
//! Registers have no addresses: register number `k`, for a `k` that is known only when the kernel runs, does not exist. An
//! array with such an index goes to *local memory*, which is a thread's part of global memory, and as slow.
//!
//! Each thread counts how often 0, 1, 2 and 3 occur among its 16 elements. `counts[value] += 1` has such an index. Write it
//! with indices that the compiler knows once it has written out the loops: for every `k` from 0 to 3, add 1 to `counts[k]` if
//! the value is `k`.

use cuda_std::prelude::*;

/// # Safety
/// `input` points to 16 values below 4 for each thread, `output` to 4 words.
#[kernel]
pub unsafe fn array_in_registers(input: *const u32, output: *mut u32) {
    let (i, threads) = (thread::index_1d() as usize, (thread::grid_dim_x() * thread::block_dim_x()) as usize);
    let mut counts = [0u32; 4];
    // SAFETY: in bounds; each thread has words of its own.
    unsafe {
        for step in 0..16 {
            let value = *input.add(step * threads + i);
            // TODO: only indices that the compiler knows.
            counts[value as usize % 4] += 1;
        }
        for k in 0..4 {
            *output.add(k * threads + i) = counts[k];
        }
    }
}
