//! The softmax of each row of a matrix, and the RMSNorm of each row.
//!
//! `input` and `output` are row-major matrices of `m` rows and `n` columns. Element `j` of a row of the softmax is
//! `exp(x[j] - max) / sum`. Here `max` is the row's maximum, and `sum` is the sum of all `exp(x[k] - max)`. Element `j`
//! of a row of the RMSNorm is `x[j] / sqrt(mean(x²) + 1e-6) * weight[j]`; `weight` has `n` elements of the same type.
//! The elements are bf16, f16 or f32, and all arithmetic is in f32. [`row`] contains the code that the rungs share, and
//! describes the results for rows with infinities or NaN.
//!
//! Every rung is one kernel in one file. The rungs before `softmax_online` compute only the softmax. The other rungs
//! are generic over the [operation](row::RowOperation). From `softmax_registers` on, the rungs keep a row in registers
//! or in shared memory, so the length of a row is limited.
//!
//! # Safety
//! For all kernels, `input` and `output` each point to `m * n` elements, fewer than 2^31, in device memory that nothing
//! else uses during the launch. Both are aligned to 16 bytes. If the operation has a weight, `weight` points to `n`
//! elements and is aligned to 16 bytes. If the kernel's name contains a block size, the block has that size. The grid
//! has the size that the rung describes, and no row is longer than the rung's limit.

use rung::LaunchRequest;
#[cfg(not(target_arch = "nvptx64"))]
use rung::Rung;

pub mod block;
pub mod bulk;
pub mod cluster;
pub mod online;
pub mod registers;
pub mod row;
pub mod shuffle;
pub mod thread_per_row;
pub mod vector;
pub mod warp_per_row;

/// The rungs, in the order of the ladder.
#[cfg(not(target_arch = "nvptx64"))]
pub const RUNGS: &[Rung] = &[
    thread_per_row::SOFTMAX_THREAD_PER_ROW,
    block::SOFTMAX_BLOCK,
    shuffle::SOFTMAX_SHUFFLE,
    online::SOFTMAX_ONLINE,
    registers::SOFTMAX_REGISTERS,
    vector::SOFTMAX_VECTOR,
    warp_per_row::SOFTMAX_WARP_PER_ROW,
    cluster::SOFTMAX_CLUSTER,
    bulk::SOFTMAX_BULK,
];

/// Returns the maximum length in bytes of a row that a rung accepts for elements of `size` bytes, or `None` if the rung
/// accepts rows of any length.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn longest_row(rung: &Rung, size: u64) -> Option<u64> {
    match rung.name {
        "softmax_registers" => Some(u64::from(registers::LONGEST) * size),
        "softmax_vector" => Some(vector::bytes(1024).into()),
        "softmax_warp_per_row" => Some(u64::from(warp_per_row::LONGEST) * size),
        "softmax_cluster" => Some((cluster::BLOCKS * vector::bytes(1024)).into()),
        "softmax_bulk" => Some(bulk::bytes(1024).into()),
        _ => None,
    }
}

/// Returns a grid with one block per row, and with one block for a matrix without rows. The number of rows is length 0
/// of the shape.
fn rows(launch: &LaunchRequest<'_>) -> [u32; 3] {
    [launch.length(0).max(1) as u32, 1, 1]
}

/// Returns the smallest block that can keep a row of the shape `[m, n, bytes per element]`. A block of `BLOCK` threads
/// can keep `bytes(BLOCK)` bytes. Returns the largest block if no block can keep the row.
fn smallest_block<const N: usize>(shape: &[u64], blocks: [u32; N], bytes: impl Fn(u32) -> u32) -> [u32; 3] {
    let row = shape.get(1).copied().unwrap_or(1) * shape.get(2).copied().unwrap_or(1);
    let mut block = blocks[N - 1];
    for smaller in blocks.into_iter().rev() {
        if row <= bytes(smaller).into() {
            block = smaller;
        }
    }
    [block, 1, 1]
}
