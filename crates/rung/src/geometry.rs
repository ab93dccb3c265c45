//! The division of a problem over the blocks of a grid.

use core::ptr;

/// Blocks of a grid in y and in z, at most (CUDA C++ Programming Guide, "Compute Capabilities").
const MAX_GRID_Y: u32 = 65_535;

/// The division of a problem's shape over blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Geometry {
    /// One dimension: a block of `b` threads processes `b` × `items_per_thread` neighbouring elements, and the next
    /// block the elements behind them.
    Line {
        /// Elements for each thread of a block.
        items_per_thread: u32,
    },
    /// One dimension with a limit on the number of blocks: each block processes several parts, in a grid-stride loop.
    Stride {
        /// Elements for each thread of a block per iteration.
        items_per_thread: u32,
        /// The most blocks.
        most_blocks: u32,
    },
    /// Two dimensions, rows and the elements of a row: the grid's y counts the rows, and each has blocks along x like those
    /// of `Stride`.
    Rows {
        /// Elements for each thread of a block per iteration.
        items_per_thread: u32,
        /// The most blocks of all rows, which a device runs at a time: they may wait for each other.
        most_blocks: u32,
    },
    /// One block, with one thread for this many elements.
    OneBlock {
        /// Elements of a thread.
        items_per_thread: u32,
    },
    /// Two dimensions, rows and columns: a block of x × y threads takes a tile of y rows and
    /// x × `columns_per_thread` columns. A row of tiles lies along the grid's x; the rows of tiles are counted
    /// through y and then z, because y ends at 65535: the row of a block is y + z × the grid's y, and
    /// some of the last ones may be beyond the problem.
    Tiles {
        /// Columns for each thread of a block.
        columns_per_thread: u32,
    },
    /// Two dimensions like `Tiles`, with tiles whose size differs from the block's.
    LargeTiles {
        /// Rows of a tile.
        rows: u32,
        /// Columns of a tile.
        columns: u32,
    },
    /// Tiles of rows and columns, numbered along the grid's x. The grid's y counts slices of the depth, the third
    /// length of the shape: as many slices, up to `most_slices`, as are needed to keep a device of [`MULTIPROCESSORS`]
    /// busy to the end.
    NumberedTiles {
        /// Rows of a tile.
        rows: u32,
        /// Columns of a tile.
        columns: u32,
        /// The most slices.
        most_slices: u32,
    },
    /// One dimension, with a function of the kernel that counts the parts of the problem, independent of the block.
    Own {
        /// Elements that a block takes.
        elements: u32,
        /// The function from a shape to its number of blocks.
        blocks: BlockCount,
    },
}

/// The number of multiprocessors for which [`Geometry::NumberedTiles`] balances the blocks: that of an H100. On
/// another device only the speed differs, not the results.
pub const MULTIPROCESSORS: u32 = 132;

/// The least depth of a slice. With fewer multiplications, a further slice costs more for its addition than it gains.
const LEAST_DEPTH: u64 = 128;

/// The number of slices of `depth` that keeps [`MULTIPROCESSORS`] busy to the end, when each slice has `tiles` blocks:
/// the fewest slices with which nine in ten multiprocessors are busy on average.
fn slices(tiles: u64, depth: u64, most: u32) -> u32 {
    let busy = |slices: &u32| {
        let blocks = tiles * u64::from(*slices);
        let rounds = blocks.div_ceil(u64::from(MULTIPROCESSORS));
        blocks * 10 >= rounds * u64::from(MULTIPROCESSORS) * 9
    };
    let most = u64::from(most).min(depth / LEAST_DEPTH).max(1) as u32;
    (1..=most).find(busy).unwrap_or(most)
}

/// Computes the number of blocks of a shape. Two values are equal when they are the same function.
#[derive(Clone, Copy, Debug)]
pub struct BlockCount(pub fn(&[u64]) -> u32);

impl PartialEq for BlockCount {
    fn eq(&self, other: &Self) -> bool {
        ptr::fn_addr_eq(self.0, other.0)
    }
}

impl Eq for BlockCount {}

impl Geometry {
    /// The elements that one block processes, per iteration if there are several.
    pub fn elements(&self, block: [u32; 3]) -> u64 {
        let threads: u64 = block.iter().map(|&side| u64::from(side)).product();
        match self {
            Self::Line { items_per_thread }
            | Self::OneBlock { items_per_thread }
            | Self::Stride { items_per_thread, .. }
            | Self::Rows { items_per_thread, .. } => threads * u64::from(*items_per_thread),
            Self::Tiles { columns_per_thread } => threads * u64::from(*columns_per_thread),
            Self::LargeTiles { rows, columns } | Self::NumberedTiles { rows, columns, .. } => {
                u64::from(*rows) * u64::from(*columns)
            }
            Self::Own { elements, .. } => u64::from(*elements),
        }
    }

    /// The size of the block, if it is fixed.
    pub fn block(&self, shape: &[u64]) -> Option<[u32; 3]> {
        match self {
            Self::OneBlock { items_per_thread } => {
                let n = shape.first().copied().unwrap_or(0);
                Some([enough(n, u64::from(*items_per_thread)), 1, 1])
            }
            _ => None,
        }
    }

    /// The grid that covers `shape` with blocks of this size: at least one block, and no idle blocks beyond it.
    ///
    /// The ladders bound their shapes so that the grid fits into the hardware's 2^31 - 1 blocks.
    pub fn grid(&self, shape: &[u64], block: [u32; 3]) -> [u32; 3] {
        match self {
            Self::Line { .. } => {
                let n = shape.first().copied().unwrap_or(0);
                [enough(n, self.elements(block)), 1, 1]
            }
            Self::Stride { most_blocks, .. } => {
                let n = shape.first().copied().unwrap_or(0);
                [enough(n, self.elements(block)).min(*most_blocks), 1, 1]
            }
            Self::Rows { most_blocks, .. } => {
                let rows = u32::try_from(side(shape, 0)).unwrap_or(u32::MAX);
                let most = (most_blocks / rows.max(1)).max(1);
                [enough(side(shape, 1), self.elements(block)).min(most), rows, 1]
            }
            Self::OneBlock { .. } => [1, 1, 1],
            Self::Own { blocks, .. } => [blocks.0(shape).max(1), 1, 1],
            Self::Tiles { columns_per_thread } => tiles(shape, block[1], block[0] * columns_per_thread),
            Self::LargeTiles { rows, columns } => tiles(shape, *rows, *columns),
            Self::NumberedTiles { rows, columns, most_slices: most } => {
                let down = enough(side(shape, 0), u64::from(*rows));
                let along = enough(side(shape, 1), u64::from(*columns));
                let tiles = u64::from(down) * u64::from(along);
                [u32::try_from(tiles).unwrap_or(u32::MAX), slices(tiles, side(shape, 2), *most), 1]
            }
        }
    }
}

/// A length of a shape, or 1 for a dimension that it does not have.
fn side(shape: &[u64], index: usize) -> u64 {
    shape.get(index).copied().unwrap_or(1)
}

/// The grid of tiles of `rows` × `columns`, as [`Geometry::Tiles`] lays them out.
fn tiles(shape: &[u64], rows: u32, columns: u32) -> [u32; 3] {
    let tiles = enough(side(shape, 0), u64::from(rows));
    let z = tiles.div_ceil(MAX_GRID_Y);
    [enough(side(shape, 1), u64::from(columns)), tiles.div_ceil(z), z]
}

/// The number of blocks for `all` elements at `each` elements per block, at least one.
fn enough(all: u64, each: u64) -> u32 {
    u32::try_from(all.div_ceil(each).max(1)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MAX_N: u64 = (1 << 31) - 1;

    fn covers_once(n: u64, block: u32, items_per_thread: u32) {
        let geometry = Geometry::Line { items_per_thread };
        let [blocks, y, z] = geometry.grid(&[n], [block, 1, 1]);
        let elements = geometry.elements([block, 1, 1]);
        assert_eq!((y, z), (1, 1));
        assert!(blocks >= 1);
        assert!(u64::from(blocks) * elements >= n, "the last elements are left out");
        assert!(blocks == 1 || (u64::from(blocks) - 1) * elements < n, "the last block has nothing to do");
        assert!(blocks <= i32::MAX as u32, "more blocks than a grid can have");
    }

    #[test]
    fn the_grid_at_the_edges() {
        let small = [0, 1, 31, 63, 64, 65, 511, 512, 513, 4095, 4096, 4097];
        for n in small.into_iter().chain([1 << 24, MAX_N - 1, MAX_N]) {
            for block in [64, 128, 256, 512, 1024] {
                for data_blocks in [1, 2, 4, 8] {
                    covers_once(n, block, data_blocks);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn the_grid_covers_every_element_once(
            n in 0..=MAX_N,
            log_block in 6u32..=10,
            log_data in 0u32..=3,
        ) {
            covers_once(n, 1 << log_block, 1 << log_data);
        }
    }

    #[test]
    fn a_stride_has_no_more_blocks_than_it_may() {
        let geometry = Geometry::Stride { items_per_thread: 4, most_blocks: 2048 };
        let grid = |n| geometry.grid(&[n], [128, 1, 1]);
        assert_eq!(grid(0), [1, 1, 1]);
        assert_eq!(grid(513), [2, 1, 1]);
        assert_eq!(grid(2048 * 512), [2048, 1, 1]);
        assert_eq!(grid(MAX_N), [2048, 1, 1]);
    }

    #[test]
    fn rows_have_blocks_of_their_own() {
        let geometry = Geometry::Rows { items_per_thread: 4, most_blocks: 128 };
        let grid = |rows, n| geometry.grid(&[rows, n], [128, 1, 1]);
        assert_eq!([grid(3, 0), grid(8, 513), grid(1, MAX_N)], [[1, 3, 1], [2, 8, 1], [128, 1, 1]]);
        assert_eq!([grid(4, MAX_N), grid(8, MAX_N)], [[32, 4, 1], [16, 8, 1]]);
    }

    #[test]
    fn tiles_cover_rows_and_columns() {
        let grid = |columns_per_thread, shape: &[u64], block| Geometry::Tiles { columns_per_thread }.grid(shape, block);
        assert_eq!(grid(1, &[4096, 4096], [32, 16, 1]), [128, 256, 1]);
        assert_eq!(grid(2, &[4096, 4096], [32, 16, 1]), [64, 256, 1]);
        assert_eq!(grid(2, &[1, 65], [32, 16, 1]), [2, 1, 1]);
        assert_eq!(grid(1, &[17, 1], [32, 16, 1]), [1, 2, 1]);
        assert_eq!(grid(1, &[65_535 * 16, 1], [32, 16, 1]), [1, 65_535, 1]);
        assert_eq!(grid(1, &[65_535 * 16 + 1, 1], [32, 16, 1]), [1, 32_768, 2]);
        let columns_per_thread = 2;
        let geometry = Geometry::Tiles { columns_per_thread };
        assert_eq!(geometry.elements([32, 16, 1]), 1024);
    }

    #[test]
    fn numbered_tiles_are_cut_into_slices_where_they_are_few() {
        let grid = |shape: &[u64]| {
            let geometry = Geometry::NumberedTiles { rows: 64, columns: 64, most_slices: 8 };
            geometry.grid(shape, [128, 1, 1])
        };
        // 256 tiles are nearly two for each of 132; 288 are a little more than two, and 864 nearly seven.
        assert_eq!(grid(&[1024, 1024, 1024]), [256, 1, 1]);
        assert_eq!(grid(&[1000, 1100, 1300]), [288, 3, 1]);
        assert_eq!(grid(&[64, 64, 100]), [1, 1, 1]);
        assert_eq!(grid(&[64, 64, 4096]), [1, 8, 1]);
        assert_eq!(grid(&[4096, 4096, 4096]), [4096, 1, 1]);
    }

    #[test]
    fn a_rung_counts_its_own_blocks() {
        let geometry =
            Geometry::Own { elements: 100, blocks: BlockCount(|shape| shape.iter().sum::<u64>() as u32 / 100) };
        assert_eq!(geometry.grid(&[150, 250], [32, 1, 1]), [4, 1, 1]);
        assert_eq!(geometry.grid(&[1, 2], [32, 1, 1]), [1, 1, 1]);
        assert_eq!(geometry.elements([32, 1, 1]), 100);
        assert_eq!(geometry.block(&[1, 2]), None);
        let same = geometry;
        assert_eq!(geometry, same);
    }
}
