//! The product of two matrices of 32-bit floats: from reads of each thread to tiles that a block shares, and to a
//! pipeline that keeps the multipliers busy.
//!
//! Every rung is one kernel in one file. It takes `a` (`m` × `k`) and `b` (`k` × `n`) and writes their product `c`
//! (`m` × `n`): element (row, column) is the sum of `k` products, added from the first to the last in one register by
//! fused multiply-adds. All matrices are row-major. Where a rung's parameter is `b_columns`, the second matrix is
//! column-major: the transpose of a matrix that was stored in row-major order.
//!
//! A thread computes one element of `c`; in the coarsened rungs one in each of 2, 4 or 8 neighboring tiles; and from
//! `matmul_register_tile` on a small tile in its registers. The blocks of a row of tiles lie along the grid's x, and
//! the rows of tiles are counted through y and then z, because y ends at 65535. From `matmul_large_register_tile` on, x
//! counts all tiles.
//!
//! A product needs every element of `a` once for each of the `n` columns of `b`. The rungs differ in where these reads
//! go: the `2 m n k` reads of the first rung go to global memory. The rungs up to `matmul_coarsened8` follow
//! *Programming Massively Parallel Processors* (Hwu, Kirk and El Hajj, 4th edition, 2022), chapter 6, "Performance
//! considerations". Their descriptions name its sections.
//!
//! # Safety
//! All kernels: `a`, `b` (or `b_columns`) and `c` point to `m * k`, `k * n` and `m * n` elements, fewer than 2^31 each,
//! in device memory that nothing else uses during the launch; where `n` is a multiple of 4, `b` and `c` begin at
//! multiples of 16 bytes; the block has the shape in the kernel's name, where there is one; the grid is the one that
//! the rung describes.

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

/// The least number of summands of a slice. With fewer, a further slice costs more for its addition than it gains.
const LEAST_DEPTH: u64 = 128;

/// The most slices of a product.
const MOST_SLICES: u64 = 8;

/// Returns the grid whose x counts the tiles of `rows` × `cols` elements and whose y counts slices of `k`: the fewest
/// slices with which nine in ten of the device's multiprocessors are busy on average.
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
        // 256 tiles are nearly two for each of 132 multiprocessors, and 288 are a little more than two.
        assert_eq!(grid(132, &[1024, 1024, 1024]), [256, 1, 1]);
        assert_eq!(grid(132, &[1000, 1100, 1300]), [288, 3, 1]);
        assert_eq!(grid(144, &[1000, 1100, 1300]), [288, 1, 1]);
        assert_eq!(grid(132, &[64, 64, 100]), [1, 1, 1]);
        assert_eq!(grid(132, &[64, 64, 4096]), [1, 8, 1]);
        assert_eq!(grid(132, &[4096, 4096, 4096]), [4096, 1, 1]);
    }
}
