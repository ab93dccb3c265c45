//! Smaller tiles, for products that have fewer large tiles than the device has multiprocessors.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use rung::rung;

use super::unaligned::{columns, multiply_tile, rows, shared_bytes};
use crate::tensor_core::mma::MmaElement;
use crate::tensor_core::{Bf16, F16, Output};

/// A block computes 64 × 128 elements of `c`, a quarter of the tile of `gemm_unaligned`.
///
/// The tiles of `gemm_unaligned`, 128 × 256 elements, suit the tensor cores. But a product of 1000 × 1100 has only 40
/// such tiles, for 132 multiprocessors. With 64 × 128 elements per block, the product has 144 tiles. For larger
/// products, two or three blocks fit on a multiprocessor, so one block computes while another waits.
///
/// The cost is more memory traffic. For its 32 × 32 elements, each warp reads 2 KB of fragments from shared memory for
/// 8 `mma.sync`. These reads take 16 cycles of a multiprocessor's shared memory for 8 cycles of its tensor cores. Every
/// element of `a` and `b` is read from global memory twice as often. So this rung is for small products, and for all
/// products with rows that no tensor map can describe.
///
/// # Safety
/// See [`gemm`](super).
#[rung(
    after = gemm_unaligned,
    lesson = "a quarter of the tile per block: small products fill the device, and three blocks share a multiprocessor",
    blocks = [256],
    resident = 2,
    dynamic_shared = shared_bytes(2, 2),
    grid = |launch| [launch.count_tiles(rows(2), columns(2)), 1, 1],
    (A, C) = { _: (Bf16, Bf16), f32: (Bf16, f32), f16: (F16, F16), f16_f32: (F16, f32) },
    COLUMN_MAJOR = { _: false, columns: true }
)]
pub unsafe fn gemm_small_blocks<A: MmaElement, C: Output, const COLUMN_MAJOR: bool>(
    a: *const A,
    b: *const A,
    c: *mut C,
    m: u32,
    n: u32,
    k: u32,
) {
    // SAFETY: the matrices have these sizes, and the launch provides `shared_bytes(2, 2)` bytes of dynamic shared
    // memory.
    unsafe { multiply_tile::<A, C, COLUMN_MAJOR, 2, 2>(a, b, c, [m, n, k]) };
}
