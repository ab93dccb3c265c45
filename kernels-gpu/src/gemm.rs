//! The product of two matrices on tensor cores: from one thread for each element to a persistent pipeline of tensor
//! copies and warp-group products (Hopper).
//!
//! Every kernel computes `c` (`m` × `n`) = `a` (`m` × `k`) · `b` (`k` × `n`). The inputs have 16 bits an element,
//! bfloat16 or half precision (or 32, TF32), the sums are kept in 32-bit floats, and a sum is rounded once when it is
//! written. `a` and `c` lie row after row, and so does `b`, or column after column in the entries with `columns` in
//! their names, which is how the weights of a linear layer lie.
//!
//! The FP32 ladder `matmul` ends where the CUDA cores end: 128 multiply-adds a cycle on each SM. A tensor core of an
//! H100 or H200 takes whole fragments, 512 multiply-adds a cycle for 16-bit elements, 2048 on each SM. So the whole
//! ladder is about one question: how do operands reach the tensor cores fast enough?
//!
//! # Safety
//! All kernels: `a`, `b` and `c` point to `m * k`, `k * n` and `m * n` elements, fewer than 2^31 each, in device memory
//! that nothing else uses during the launch; the block has as many threads as the name ends with; the grid is the one
//! that the rung's [`Geometry`](rung::Geometry) gives. Tensor maps describe the matrix that their name says, with tiles
//! of 64 rows × 128 bytes, swizzled by 128 bytes.

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
use core::marker::PhantomData;

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
use crate::tensor_core::tensor_map::TensorMap;

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod buffers;
#[macro_use]
mod formats;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod fitted_tiles;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod large_tile;
mod operand;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod small_tile;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod stage;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod staged_output;
mod tiles;
mod warp_tile;

rungs! {
    naive,
    tiled,
    mma,
    ldmatrix,
    cp_async,
    small_blocks,
    wgmma,
    tma,
    warp_specialized,
    persistent,
    cluster,
    stream_k,
    ping_pong,
    fitted,
    repacked,
}

/// A matrix in global memory, row after row.
#[derive(Clone, Copy)]
struct Matrix<C> {
    data: *mut C,
    rows: u32,
    columns: u32,
}

/// The operands of a product in global memory.
///
/// `A` and `C` are the types of the elements of `a` and `b`, and of `c`.
#[derive(Clone, Copy)]
struct Product<A, C> {
    a: *const A,
    b: *const A,
    c: *mut C,
    m: u32,
    n: u32,
    k: u32,
}

/// The operands of a product as tensor maps describe them.
///
/// `A` and `C` are the types of the elements of `a` and `b`, and of `c`.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
#[derive(Clone, Copy)]
struct TensorProduct<'a, A, C> {
    a: &'a TensorMap,
    b: &'a TensorMap,
    /// The product's map, where its rows are a multiple of 16 bytes.
    c_map: &'a TensorMap,
    c: *mut C,
    m: u32,
    n: u32,
    k: u32,
    /// What `a` and `b` have.
    elements: PhantomData<A>,
}

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
impl<A, C> TensorProduct<'_, A, C> {
    /// Fetches the maps ahead of the first copies.
    #[inline(always)]
    fn prefetch(&self) {
        self.a.prefetch();
        self.b.prefetch();
        self.c_map.prefetch();
    }

    /// The product, row after row.
    #[inline(always)]
    fn c(&self) -> Matrix<C> {
        Matrix { data: self.c, rows: self.m, columns: self.n }
    }
}

/// The same number, which the compiler does not know any more: a loop that counts to it is not unrolled, and what is
/// computed from it is computed where it stands, and not kept in registers for later.
#[inline(always)]
fn unknown(number: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let mut number = number;
        // SAFETY: it does nothing.
        unsafe { core::arch::asm!("// {}", inout(reg32) number, options(nomem, nostack, preserves_flags)) };
        number
    }
    #[cfg(not(target_arch = "nvptx64"))]
    number
}
