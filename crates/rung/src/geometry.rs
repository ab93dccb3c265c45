//! How work is divided over the blocks of a grid.

use core::ptr;

/// Blocks of a grid in y and in z, at most (CUDA C++ Programming Guide, "Compute Capabilities").
const MAX_GRID_Y: u32 = 65_535;

/// How a rung divides a problem's shape over blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Geometry {
    /// One dimension: a block of `b` threads takes `b` × `items_per_thread` neighbouring elements, one
    /// block's after the other's.
    Line {
        /// Elements for each thread of a block.
        items_per_thread: u32,
    },
    /// As `Line`, but no more than so many blocks, which then take the parts in turn: a block every so many.
    Stride {
        /// Elements for each thread of a block in a turn.
        items_per_thread: u32,
        /// The most blocks.
        most_blocks: u32,
    },
    /// One block, with a thread for every so many elements.
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
    /// As `Tiles`, with tiles of a size that is not the block's.
    LargeTiles {
        /// Rows of a tile.
        rows: u32,
        /// Columns of a tile.
        columns: u32,
    },
    /// Tiles of rows and columns, numbered along the grid's x; in its y, slices of the depth, which is the
    /// shape's third side: as many, up to `most_slices`, as make enough blocks of them for a device of
    /// [`MULTIPROCESSORS`] to be busy to the end.
    NumberedTiles {
        /// Rows of a tile.
        rows: u32,
        /// Columns of a tile.
        columns: u32,
        /// The most slices.
        most_slices: u32,
    },
    /// One dimension, and the kernel's own way to count the parts of the problem, whatever the block.
    Own {
        /// Elements that a block takes.
        elements: u32,
        /// The blocks for a shape.
        blocks: BlockCount,
    },
}

/// The multiprocessors of the device whose blocks are balanced by [`Geometry::NumberedTiles`]: an H100's. On
/// another the results are as right.
pub const MULTIPROCESSORS: u32 = 132;

/// The least part of a slice: fewer multiplications than this do not pay for adding one more to the product.
const LEAST_DEPTH: u64 = 128;

/// How many slices of `depth` keep [`MULTIPROCESSORS`] busy to the end, where each takes `tiles` blocks in turn: the
/// fewest with which nine in ten have something to do on average.
fn slices(tiles: u64, depth: u64, most: u32) -> u32 {
    let busy = |slices: &u32| {
        let blocks = tiles * u64::from(*slices);
        let rounds = blocks.div_ceil(u64::from(MULTIPROCESSORS));
        blocks * 10 >= rounds * u64::from(MULTIPROCESSORS) * 9
    };
    let most = u64::from(most).min(depth / LEAST_DEPTH).max(1) as u32;
    (1..=most).find(busy).unwrap_or(most)
}

/// How many blocks a shape takes. Two are alike when they are the same function.
#[derive(Clone, Copy, Debug)]
pub struct BlockCount(pub fn(&[u64]) -> u32);

impl PartialEq for BlockCount {
    fn eq(&self, other: &Self) -> bool {
        ptr::fn_addr_eq(self.0, other.0)
    }
}

impl Eq for BlockCount {}

impl Geometry {
    /// Elements that one block takes, in one turn where it takes several.
    pub fn elements(&self, block: [u32; 3]) -> u64 {
        let threads: u64 = block.iter().map(|&side| u64::from(side)).product();
        match self {
            Self::Line {
                items_per_thread: each,
            }
            | Self::OneBlock {
                items_per_thread: each,
            }
            | Self::Stride {
                items_per_thread: each,
                ..
            }
            | Self::Tiles {
                columns_per_thread: each,
            } => threads * u64::from(*each),
            Self::LargeTiles { rows, columns } | Self::NumberedTiles { rows, columns, .. } => {
                u64::from(*rows) * u64::from(*columns)
            }
            Self::Own { elements, .. } => u64::from(*elements),
        }
    }

    /// The block, where there is no choice.
    pub fn block(&self, shape: &[u64]) -> Option<[u32; 3]> {
        match self {
            Self::OneBlock {
                items_per_thread: each,
            } => {
                let n = shape.first().copied().unwrap_or(0);
                Some([enough(n, u64::from(*each)), 1, 1])
            }
            _ => None,
        }
    }

    /// The grid that covers `shape` with blocks of this size: at least one block, and none that has
    /// nothing to do otherwise.
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
            Self::OneBlock { .. } => [1, 1, 1],
            Self::Own { blocks, .. } => [blocks.0(shape).max(1), 1, 1],
            Self::Tiles { columns_per_thread } => {
                tiles(shape, block[1], block[0] * columns_per_thread)
            }
            Self::LargeTiles { rows, columns } => tiles(shape, *rows, *columns),
            Self::NumberedTiles {
                rows,
                columns,
                most_slices: most,
            } => {
                let down = enough(side(shape, 0), u64::from(*rows));
                let along = enough(side(shape, 1), u64::from(*columns));
                let tiles = u64::from(down) * u64::from(along);
                [
                    u32::try_from(tiles).unwrap_or(u32::MAX),
                    slices(tiles, side(shape, 2), *most),
                    1,
                ]
            }
        }
    }
}

/// A side of a shape, 1 where it has fewer.
fn side(shape: &[u64], index: usize) -> u64 {
    shape.get(index).copied().unwrap_or(1)
}

/// The grid of tiles of `rows` × `columns`, as [`Geometry::Tiles`] lays them out.
fn tiles(shape: &[u64], rows: u32, columns: u32) -> [u32; 3] {
    let tiles = enough(side(shape, 0), u64::from(rows));
    let z = tiles.div_ceil(MAX_GRID_Y);
    [
        enough(side(shape, 1), u64::from(columns)),
        tiles.div_ceil(z),
        z,
    ]
}

/// Blocks that take `each` and together `all`, at least one.
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
        assert!(
            u64::from(blocks) * elements >= n,
            "the last elements are left out"
        );
        assert!(
            blocks == 1 || (u64::from(blocks) - 1) * elements < n,
            "the last block has nothing to do"
        );
        assert!(
            blocks <= i32::MAX as u32,
            "more blocks than a grid can have"
        );
    }

    #[test]
    fn the_grid_at_the_edges() {
        for n in [
            0,
            1,
            31,
            63,
            64,
            65,
            511,
            512,
            513,
            4095,
            4096,
            4097,
            1 << 24,
            MAX_N - 1,
            MAX_N,
        ] {
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
        let geometry = Geometry::Stride {
            items_per_thread: 4,
            most_blocks: 2048,
        };
        let grid = |n| geometry.grid(&[n], [128, 1, 1]);
        assert_eq!(grid(0), [1, 1, 1]);
        assert_eq!(grid(513), [2, 1, 1]);
        assert_eq!(grid(2048 * 512), [2048, 1, 1]);
        assert_eq!(grid(MAX_N), [2048, 1, 1]);
    }

    #[test]
    fn tiles_cover_rows_and_columns() {
        let grid = |columns_per_thread, shape: &[u64], block| {
            Geometry::Tiles { columns_per_thread }.grid(shape, block)
        };
        assert_eq!(grid(1, &[4096, 4096], [32, 16, 1]), [128, 256, 1]);
        assert_eq!(grid(2, &[4096, 4096], [32, 16, 1]), [64, 256, 1]);
        assert_eq!(grid(2, &[1, 65], [32, 16, 1]), [2, 1, 1]);
        assert_eq!(grid(1, &[17, 1], [32, 16, 1]), [1, 2, 1]);
        assert_eq!(grid(1, &[65_535 * 16, 1], [32, 16, 1]), [1, 65_535, 1]);
        assert_eq!(grid(1, &[65_535 * 16 + 1, 1], [32, 16, 1]), [1, 32_768, 2]);
        assert_eq!(
            Geometry::Tiles {
                columns_per_thread: 2
            }
            .elements([32, 16, 1]),
            1024
        );
    }

    #[test]
    fn numbered_tiles_are_cut_into_slices_where_they_are_few() {
        let grid = |shape: &[u64]| {
            let geometry = Geometry::NumberedTiles {
                rows: 64,
                columns: 64,
                most_slices: 8,
            };
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
        let geometry = Geometry::Own {
            elements: 100,
            blocks: BlockCount(|shape| shape.iter().sum::<u64>() as u32 / 100),
        };
        assert_eq!(geometry.grid(&[150, 250], [32, 1, 1]), [4, 1, 1]);
        assert_eq!(geometry.grid(&[1, 2], [32, 1, 1]), [1, 1, 1]);
        assert_eq!(geometry.elements([32, 1, 1]), 100);
        assert_eq!(geometry.block(&[1, 2]), None);
        let same = geometry;
        assert_eq!(geometry, same);
    }
}
