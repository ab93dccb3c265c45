//! The product of two matrices of 32-bit floats: from a thread's own reads to tiles that a block shares, and to a
//! pipeline that keeps the multipliers busy.
//!
//! Every kernel takes `a` (`m` × `k`) and `b` (`k` × `n`) and writes their product `c` (`m` × `n`): element
//! (row, column) is the sum of `k` products, added from the first to the last in one register by fused
//! multiply-adds. `a` and `c` lie row after row. `b` does too, or column after column where the rung says
//! so, which is how the transpose of a matrix lies that was stored row after row.
//!
//! A thread takes an element of `c`, in the coarsened rungs one in each of 2, 4 or 8 neighbouring tiles, and from
//! `matmul_register_tile` on a small tile of its own. A row of blocks' tiles lies along the grid's x, and the rows
//! are counted through y and then z; from `matmul_large_register_tile` on, x counts all tiles.
//!
//! A product needs every element of `a` once for each of the `n` columns of `b`. The rungs differ in where these
//! reads go: the first rung's `2 m n k` reads go to global memory. The rungs up to the coarsened ones follow
//! *Programming Massively Parallel Processors* (Hwu, Kirk and El Hajj, 4th edition, 2022), chapter 6, "Performance
//! considerations". Their descriptions name its sections.
//!
//! # Safety
//! All kernels: `a`, `b` and `c` point to `m * k`, `k * n` and `m * n` elements, fewer than 2^31 each, in device
//! memory that nothing else uses during the launch; the block has the shape in the name, where there is one, and is
//! square otherwise; the grid covers `c`.

use cuda_std::thread;
use rung::{Geometry, Rung};

mod block_tile;
mod copy_pipeline;

rungs! {
    naive,
    tiled,
    coarsened,
    register_tile,
    large_register_tile,
    async_copies,
    double_buffered,
    pipelined,
    sliced,
}

/// A rung whose blocks take an element of `c` for each thread: what the others differ from.
const SQUARE: Rung =
    Rung { geometry: Geometry::Tiles { columns_per_thread: 1 }, default_block: [32, 32, 1], ..Rung::USUAL };

/// Shared memory that every device gives a block without being asked twice.
const SHARED_BYTES: usize = 48 << 10;

/// A thread's place in its block, and the tile of `c` that the block begins with.
struct Place {
    /// The thread's row and column in the tile.
    down: u32,
    along: u32,
    /// The tile's first row and column in `c`.
    top: u32,
    left: u32,
}

impl Place {
    /// The place in a grid of blocks of `rows` × `columns` elements.
    #[inline(always)]
    fn of_this_thread(rows: u32, columns: u32) -> Self {
        let tile_row = thread::block_idx_y() + thread::block_idx_z() * thread::grid_dim_y();
        Self {
            down: thread::thread_idx_y(),
            along: thread::thread_idx_x(),
            top: tile_row * rows,
            left: thread::block_idx_x() * columns,
        }
    }
}

/// A matrix in global memory, row after row.
#[derive(Clone, Copy)]
struct Matrix {
    data: *const f32,
    rows: u32,
    columns: u32,
}

impl Matrix {
    /// An element, and 0 for what lies outside: it adds nothing to a product.
    ///
    /// # Safety
    /// The pointer is valid for reads of the whole matrix, and no thread writes the matrix meanwhile.
    #[inline(always)]
    unsafe fn get(self, row: u32, column: u32) -> f32 {
        if row < self.rows && column < self.columns {
            // SAFETY: it is inside.
            unsafe { *self.data.add((row * self.columns + column) as usize) }
        } else {
            0.0
        }
    }
}
