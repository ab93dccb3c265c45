//! The product of two matrices of 32-bit floats. The rungs lead from reads by each thread to tiles that a block shares,
//! and to a pipeline that keeps the multipliers busy.
//!
//! Every rung is one kernel in one file. The kernel reads `a` (`m` × `k`) and `b` (`k` × `n`) and writes their product
//! `c` (`m` × `n`). Element (row, column) is the sum of `k` products. Fused multiply-adds add the products in order in
//! one register. All matrices are row-major, except that a parameter named `b_columns` is the second matrix in
//! column-major order.
//!
//! A thread computes one element of `c`. In the coarsened rungs, a thread computes one element in each of 2, 4 or 8
//! neighboring tiles. From `matmul_register_tile` on, a thread computes a small tile in its registers. The grid's x
//! selects the column of tiles. The grid's y and z together select the row of tiles, because y is limited to 65535.
//! From `matmul_large_register_tile` on, x numbers all tiles.
//!
//! A product needs every element of `a` once for each of the `n` columns of `b`. The rungs differ in the memory that
//! serves these reads: in the first rung, all `2 m n k` reads go to global memory. The rungs up to `matmul_coarsened8`
//! follow *Programming Massively Parallel Processors* (Hwu, Kirk and El Hajj, 4th edition, 2022), chapter 6,
//! "Performance considerations". The descriptions of these rungs name the chapter's sections.
//!
//! # Safety
//! For all kernels, `a`, `b` (or `b_columns`) and `c` point to `m * k`, `k * n` and `m * n` elements, fewer than 2^31
//! each, in device memory that nothing else uses during the launch. If `n` is a multiple of 4, `b` and `c` are aligned
//! to 16 bytes. If the kernel's name contains a block shape, the block has that shape. The grid has the shape that the
//! rung describes.

use rung::LaunchRequest;
#[cfg(not(target_arch = "nvptx64"))]
use rung::Rung;

pub mod async_copies;
pub mod coarsened1;
pub mod coarsened2;
pub mod coarsened4;
pub mod coarsened8;
pub mod corner_turning;
pub mod double_buffered;
pub mod large_register_tile;
pub mod naive;
pub mod pipelined;
pub mod register_tile;
pub mod register_tiles;
pub mod sliced;
pub mod tiled;
pub mod uncoalesced;
pub mod vector_copies;

/// The rungs, in the order of the ladder.
#[cfg(not(target_arch = "nvptx64"))]
pub const RUNGS: &[Rung] = &[
    naive::MATMUL_NAIVE,
    uncoalesced::MATMUL_UNCOALESCED,
    tiled::MATMUL_TILED,
    corner_turning::MATMUL_CORNER_TURNING,
    coarsened1::MATMUL_COARSENED1,
    coarsened2::MATMUL_COARSENED2,
    coarsened4::MATMUL_COARSENED4,
    coarsened8::MATMUL_COARSENED8,
    register_tile::MATMUL_REGISTER_TILE,
    large_register_tile::MATMUL_LARGE_REGISTER_TILE,
    async_copies::MATMUL_ASYNC_COPIES,
    double_buffered::MATMUL_DOUBLE_BUFFERED,
    vector_copies::MATMUL_VECTOR_COPIES,
    pipelined::MATMUL_PIPELINED,
    sliced::MATMUL_SLICED,
];

/// The minimum number of summands per slice. With fewer summands, another slice costs more than it saves.
const LEAST_DEPTH: u64 = 128;

/// The maximum number of slices per product.
const MOST_SLICES: u64 = 8;

/// Returns the grid. Its x is the number of tiles of `rows` × `cols` elements. Its y is the smallest number of slices
/// of `k` that keeps nine in ten of the device's multiprocessors busy on average.
#[must_use]
pub fn sliced_tiles(launch: &LaunchRequest<'_>, rows: u32, cols: u32) -> [u32; 3] {
    let (tiles, multiprocessors) = (launch.count_tiles(rows, cols), u64::from(launch.device.multiprocessors));
    let is_busy = |slices: &u32| {
        let blocks = u64::from(tiles) * u64::from(*slices);
        let rounds = blocks.div_ceil(multiprocessors);
        blocks * 10 >= rounds * multiprocessors * 9
    };
    let most = (launch.length(2) / LEAST_DEPTH).clamp(1, MOST_SLICES) as u32;
    [tiles, (1..=most).find(is_busy).unwrap_or(most), 1]
}

#[cfg(test)]
mod tests {
    use rung::{DeviceProperties, LaunchRequest};

    use super::sliced_tiles;

    #[test]
    fn a_product_with_few_tiles_is_divided_into_slices() {
        let grid = |multiprocessors, shape: &[u64]| {
            let device = DeviceProperties { multiprocessors };
            sliced_tiles(&LaunchRequest { shape, block: [128, 1, 1], items_per_thread: 1, device }, 64, 64)
        };
        // With 132 multiprocessors, 256 tiles are nearly two per multiprocessor, and 288 tiles are slightly more than
        // two.
        assert_eq!(grid(132, &[1024, 1024, 1024]), [256, 1, 1]);
        assert_eq!(grid(132, &[1000, 1100, 1300]), [288, 3, 1]);
        assert_eq!(grid(144, &[1000, 1100, 1300]), [288, 1, 1]);
        assert_eq!(grid(132, &[64, 64, 100]), [1, 1, 1]);
        assert_eq!(grid(132, &[64, 64, 4096]), [1, 8, 1]);
        assert_eq!(grid(132, &[4096, 4096, 4096]), [4096, 1, 1]);
    }
}
