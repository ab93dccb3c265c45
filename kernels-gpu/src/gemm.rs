//! The product of two matrices on tensor cores: from one thread for each element to a persistent pipeline of tensor
//! copies and warp-group products (Hopper).
//!
//! Every kernel computes `c` (`m` × `n`) = `a` (`m` × `k`) · `b` (`k` × `n`). The inputs have 16 bits an element,
//! bfloat16 or half precision (or 32, TF32), the sums are kept in 32-bit floats, and a sum is rounded once when it is
//! written. `a` and `c` lie row after row, and so does `b`, or column after column in the entries with `columns` in their
//! names, which is how the weights of a linear layer lie.
//!
//! The FP32 ladder `matmul` ends where the CUDA cores end: 128 multiply-adds a cycle on each SM. A tensor core of an
//! H100 or H200 takes whole fragments, 1024 multiply-adds a cycle for 16-bit elements, 4096 on each SM. So the whole ladder is about
//! one question: how do operands reach the tensor cores fast enough?
//!
//! # Safety
//! All kernels: `a`, `b` and `c` point to `m * k`, `k * n` and `m * n` elements, fewer than 2^31 each, in device
//! memory that nothing else uses during the launch; the block has as many threads as the name ends with; the grid is the
//! one that the rung's [`Geometry`](rung::Geometry) gives. Tensor maps describe the matrix that their name says, with tiles of
//! 64 rows × 128 bytes, swizzled by 128 bytes.

#[macro_use]
mod formats;
pub mod element;
mod operand;
mod tiles;
mod warp_tile;

rungs! {
    naive,
    tiled,
    mma,
    ldmatrix,
    cp_async,
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
