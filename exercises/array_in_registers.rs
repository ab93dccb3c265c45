//! An array in registers: indices that the compiler knows.
//!
//! Registers have no addresses, so an index that is known only at run time cannot select a register. The compiler puts
//! an array with such an index into *local memory*. Local memory is private to a thread, but it resides in global
//! memory and is as slow.
//!
//! Each thread counts how often 0, 1, 2 and 3 occur in its 16 elements. The index in `counts[value] += 1` is known only
//! at run time. Rewrite the line so that the compiler knows every index after it has unrolled the loops.

use cuda_std::prelude::*;

/// # Safety
/// `input` points to 16 values below 4 for each thread, and `output` to 4 words for each thread.
#[kernel]
pub unsafe fn array_in_registers(input: *const u32, output: *mut u32) {
    let (i, threads) = (thread::index_1d() as usize, (thread::grid_dim_x() * thread::block_dim_x()) as usize);
    let mut counts = [0u32; 4];
    // SAFETY: the arrays have words for each thread, and each thread writes separate words.
    unsafe {
        for step in 0..16 {
            let value = *input.add(step * threads + i);
            // TODO: use only indices that the compiler knows.
            counts[value as usize % 4] += 1;
        }
        for k in 0..4 {
            *output.add(k * threads + i) = counts[k];
        }
    }
}
