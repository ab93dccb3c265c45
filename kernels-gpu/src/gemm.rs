//! The product of two matrices on tensor cores: from one thread for each element to a persistent pipeline of tensor
//! copies and warp-group products (Hopper).
//!
//! Every kernel computes `c` (`m` × `n`) = `a` (`m` × `k`) · `b` (`k` × `n`). Elements of the inputs have 16 bits,
//! bfloat16 or half precision, or 32 bits, TF32. Sums are 32-bit floats and are rounded once, when they are stored. `a`
//! and `c` are row-major. `b` is row-major too, or column-major in the entries with `columns` in their names; the
//! weights of a linear layer are stored in column-major order.
//!
//! The FP32 ladder `matmul` ends at the limit of the CUDA cores: 128 multiply-adds per cycle on each multiprocessor. A
//! tensor core of an H100 or H200 multiplies whole fragments, 512 multiply-adds per cycle for 16-bit elements, 2048 on
//! each multiprocessor. So the whole ladder answers one question: how do operands reach the tensor cores fast enough?
//!
//! # Layouts
//! A tile of `a` or `b` is *K-major* if neighbors in a row of memory are neighbors along `k`. Tiles of `a` are K-major,
//! and tiles of `b` are K-major where `b` is column-major.
//!
//! # Safety
//! All kernels: `a`, `b` and `c` point to `m * k`, `k * n` and `m * n` elements, fewer than 2^31 each, in device memory
//! that nothing else uses during the launch; the block has as many threads as the name ends with; the grid is the one
//! that the rung describes. Tensor maps describe the matrix that their name says, with tiles of 64 rows × 128 bytes,
//! swizzled by 128 bytes.

#[cfg(not(target_arch = "nvptx64"))]
use rung::Rung;

pub mod cluster;
pub mod cp_async;
pub mod deferred_store;
pub mod fitted;
pub(crate) mod hopper;
pub mod ldmatrix;
pub mod mma;
pub mod naive;
pub mod persistent;
pub mod ping_pong;
pub mod repacked;
pub mod small_blocks;
pub mod stream_k;
pub mod tiled;
pub mod tma;
pub mod unaligned;
pub mod warp_specialized;
pub mod wgmma;

/// The rungs, in the order of the ladder.
// On a GPU some of the files are missing, because their instructions need a newer architecture.
#[cfg(not(target_arch = "nvptx64"))]
pub const RUNGS: &[Rung] = &[
    naive::GEMM_NAIVE,
    tiled::GEMM_TILED,
    mma::GEMM_MMA,
    ldmatrix::GEMM_LDMATRIX,
    cp_async::GEMM_CP_ASYNC,
    unaligned::GEMM_UNALIGNED,
    small_blocks::GEMM_SMALL_BLOCKS,
    wgmma::GEMM_WGMMA,
    tma::GEMM_TMA,
    warp_specialized::GEMM_WARP_SPECIALIZED,
    persistent::GEMM_PERSISTENT,
    cluster::GEMM_CLUSTER,
    stream_k::GEMM_STREAM_K,
    ping_pong::GEMM_PING_PONG,
    fitted::GEMM_FITTED,
    deferred_store::GEMM_DEFERRED_STORE,
    repacked::GEMM_REPACKED,
];
