//! The transpose of a matrix of 32-bit floats: from strided writes to padded tiles in shared memory.
//!
//! Every kernel takes `input`, `rows` × `cols` elements, row after row, and writes `output`, `cols` ×
//! `rows`: element (r, c) of the one is element (c, r) of the other. Nothing is computed; how fast a
//! rung is depends on how it touches memory, and on that alone.
//!
//! A block of X × Y threads takes a tile of Y rows and X columns (the unrolled rungs 2 X). A row of tiles
//! lies along the grid's x. The rows of tiles are counted through the grid's y and then its z, because
//! y ends at 65535 and a matrix of one column has more rows than that. The last two rungs' tiles are larger
//! than their blocks, and their grids have one dimension, which counts the tiles down the columns.
//!
//! # Where the rungs come from
//!
//! The first rungs follow *Shared Memory (4): Matrix Transpose*, an article after *Professional CUDA C Programming*
//! (Cheng, Grossman and McKercher, 2014). Their descriptions name its sections and kernels. The article's unrolled
//! kernels test once whether both of a thread's elements exist, and lose the matrix's right edge where only the first
//! does. These test each element, so every shape is right. The article's second barrier, after the index arithmetic,
//! orders nothing and is left out.
//!
//! # Safety
//! All kernels: `input` and `output` each point to `rows * cols` elements, fewer than 2^31, in device
//! memory that nothing else uses during the launch; the block has the shape in the kernel's name, where
//! there is one; the grid covers the matrix with tiles as described.

use cuda_std::thread;
use rung::{Geometry, Rung};

rungs! { gmem, smem, unroll, aligned, vector }

/// A rung whose tile has as many rows and columns as its block: what the others differ from.
const TILED: Rung =
    Rung { geometry: Geometry::Tiles { columns_per_thread: 1 }, default_block: [32, 16, 1], ..Rung::USUAL };

/// Where a thread stands in its block, and where the block's tile lies in the matrix, for blocks of `X` × `Y` threads
/// that take `ACROSS` × `X` columns.
struct Place<const X: usize, const Y: usize, const ACROSS: usize> {
    /// The row and the column of the tile's first element.
    origin: (u32, u32),
    /// The thread's row and column in the tile.
    thread: (u32, u32),
}

impl<const X: usize, const Y: usize, const ACROSS: usize> Place<X, Y, ACROSS> {
    #[inline(always)]
    fn of_this_thread() -> Self {
        let tile_row = thread::block_idx_y() + thread::block_idx_z() * thread::grid_dim_y();
        Self {
            origin: (tile_row * Y as u32, thread::block_idx_x() * (ACROSS * X) as u32),
            thread: (thread::thread_idx_y(), thread::thread_idx_x()),
        }
    }

    /// The thread's row and column in the tile's transpose, when the block's threads are laid out over it
    /// row by row: neighbouring threads take neighbouring elements of the output.
    #[inline(always)]
    fn transposed(&self) -> (u32, u32) {
        let (row, column) = self.thread;
        let index = row * X as u32 + column;
        (index / Y as u32, index % Y as u32)
    }
}
