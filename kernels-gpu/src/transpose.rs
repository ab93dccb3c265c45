//! The transpose of a matrix of 32-bit floats, from strided writes to padded tiles in shared memory.
//!
//! Every rung is one kernel in one file. `input` has `rows` × `cols` elements in row-major order, and `output` has
//! `cols` × `rows`: element (r, c) of `input` becomes element (c, r) of `output`. The kernels compute nothing, so their
//! speed depends only on how they access memory.
//!
//! A block of `BLOCK_X` × `BLOCK_Y` threads transposes a tile of `BLOCK_Y` rows and `BLOCK_X` columns. The tiles of the
//! unrolled rungs have `2 * BLOCK_X` columns. The grid's x selects the column of tiles. The grid's y and z together
//! select the row of tiles, because y is limited to 65535 and a matrix of one column can have more rows of tiles. In
//! the last two rungs, a tile has more elements than a block has threads. The grids of these rungs are one-dimensional
//! and number the tiles in column-major order.
//!
//! # Where the rungs come from
//!
//! The first rungs follow *Shared Memory (4): Matrix Transpose*, an article of January 2022 based on *Professional CUDA
//! C Programming* (Cheng, Grossman and McKercher, 2014). The descriptions of these rungs name the article's sections
//! and kernels, and "the article measures" refers to the measurements of its author. The article's unrolled kernels use
//! one check for both of a thread's elements. At the matrix's right edge, these kernels skip an existing first element
//! if the second element does not exist. The kernels here check each element, so they are correct for every shape. The
//! article's kernels have a second barrier after the index arithmetic. That barrier orders nothing, so the kernels here
//! omit it.
//!
//! # Safety
//! For all kernels, `input` and `output` each point to `rows * cols` elements, fewer than 2^31, in device memory that
//! nothing else uses during the launch. If the kernel's name contains a block shape, the block has that shape. The grid
//! has the shape that the rung describes.

use rung::Rung;

pub mod aligned;
pub mod copy_gmem;
pub mod naive;
pub mod naive_strided_reads;
pub mod smem;
pub mod smem_pad;
pub mod smem_unroll_pad;
pub mod smem_unroll_pad_dyn;
pub mod vector;

/// The rungs, in the order of the ladder.
pub const RUNGS: &[Rung] = &[
    copy_gmem::COPY_GMEM,
    naive::TRANSPOSE_NAIVE,
    naive_strided_reads::TRANSPOSE_NAIVE_STRIDED_READS,
    smem::TRANSPOSE_SMEM,
    smem_pad::TRANSPOSE_SMEM_PAD,
    smem_unroll_pad::TRANSPOSE_SMEM_UNROLL_PAD,
    smem_unroll_pad_dyn::TRANSPOSE_SMEM_UNROLL_PAD_DYN,
    aligned::TRANSPOSE_ALIGNED,
    vector::TRANSPOSE_VECTOR,
];
