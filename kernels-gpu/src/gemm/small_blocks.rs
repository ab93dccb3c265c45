//! Smaller tiles: for products that have fewer large tiles than the device has SMs.
//!
//! The tiles of `gemm_cp_async`, 128 × 256 elements, suit the tensor cores, but a product of 1000 × 1100 has only 40 of
//! them, for 132 SMs. With a fourth of such a tile for each block, 64 × 128, it has 144, and two or three blocks fit on an SM
//! where there are more, so that one computes while another waits.
//!
//! What that costs: each warp's part is 32 × 32 elements, for which it reads 2 KB of fragments from shared memory for 8
//! `mma.sync`: 16 cycles of an SM's shared memory for 8 cycles of its tensor cores, and every element of a factor is
//! read from global memory twice as often. So this is the rung for small products, and for all whose rows no tensor map
//! describes.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use rung::{Geometry, Rung};

use super::cp_async::{pipeline, shared_bytes};
use super::{Product, warp_tile};
use crate::tensor_core::element::Output;
use crate::tensor_core::mma::MmaElement;

/// This file's rungs.
pub const RUNGS: &[Rung] = &[GEMM_SMALL_BLOCKS];

/// Fragments below each other and side by side in a warp's part of the tile, and the tile's sides.
const DOWN: usize = 2;
const ALONG: usize = 2;
const ROWS: u32 = warp_tile::rows(DOWN);
const COLUMNS: u32 = warp_tile::columns(ALONG);

products! {
    /// A tile of 64 × 128 elements for each block, from four stages that asynchronous copies fill.
    gemm_small_blocks for [256] threads;
    resident 2;
    shared shared_bytes(ROWS, COLUMNS);
    rung Rung::USUAL {
        geometry: Geometry::NumberedTiles { rows: ROWS, columns: COLUMNS, most_slices: 1 },
        lesson: "a fourth of the tile for each block: small products fill the device, and three blocks share an SM",
    };
    formats [bf16, f16];
    pointers => small_blocks
}

/// # Safety
/// The contract of the ladder's kernels; `shared` has the rung's bytes.
#[inline(always)]
unsafe fn small_blocks<A: MmaElement, C: Output, const COLUMN_MAJOR: bool>(shared: *mut u8, product: &Product<A, C>) {
    // SAFETY: as the caller promises.
    unsafe { pipeline::<A, C, COLUMN_MAJOR, ROWS, COLUMNS, DOWN, ALONG>(shared, product) };
}
