//! Matrix multiplication on tensor cores: from one thread per element on CUDA cores to a persistent pipeline of tensor
//! copies and warp-group products (Hopper).
//!
//! Every kernel computes `c` (`m` × `n`) = `a` (`m` × `k`) · `b` (`k` × `n`). Elements of the inputs are 16-bit
//! (bfloat16 or half precision) or 32-bit (TF32). Sums are 32-bit floats and are rounded once, when they are stored.
//! `a` and `c` are row-major. `b` is row-major too, but column-major in entry points with `columns` in their names. The
//! weights of a linear layer are stored in column-major order.
//!
//! The fastest rungs of the FP32 ladder `matmul` reach the limit of the CUDA cores: 128 multiply-adds per cycle on each
//! multiprocessor. A tensor core of an H100 or H200 multiplies whole fragments. For 16-bit elements, it does 512
//! multiply-adds per cycle, and the four tensor cores of a multiprocessor do 2048. So the ladder is about moving
//! operands to the tensor cores fast enough.
//!
//! # Layouts
//! A tile of `a` or `b` is *K-major* if elements that are neighbors in memory are neighbors along `k`. Tiles of `a` are
//! K-major, and tiles of `b` are K-major if `b` is column-major.
//!
//! # Safety
//! For all kernels, `a`, `b` and `c` point to `m * k`, `k * n` and `m * n` elements, fewer than 2^31 each, in device
//! memory that nothing else uses during the launch. The number at the end of the kernel's name is the number of threads
//! in the block. The grid has the size that the rung describes. Each tensor map describes the matrix in its name, with
//! boxes of 64 rows × 128 bytes and a 128-byte swizzle.

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
// Only the host has this list: some modules are not compiled for older GPUs, because their instructions need a newer
// architecture.
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
