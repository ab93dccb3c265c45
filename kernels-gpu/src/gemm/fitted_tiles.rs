//! The division of a product into tiles for `gemm_fitted` and `gemm_deferred_store`, and the tiles of a block.
//!
//! A tall tile has 128 columns and 256 rows, or 248 if it is fitted. A wide tile has 256 columns and 128 rows. All have
//! the same number of elements, but for the rows that a fitted tile lacks.

use cuda_std::thread;

use super::opaque;

/// The rows of a wide tile, and the columns of a tall one.
const SHORT_SIDE: u32 = 128;
/// The columns of a wide tile, and of a pair of tall ones.
const PAIR_COLUMNS: u32 = 256;
/// The rows of a tall tile, whole or fitted, in groups of eight.
const WHOLE: u32 = 32;
const FITTED: u32 = 31;
/// 4096 rows are 16 fitted tiles and a wide one: 16 · 248 + 128.
const FITTED_PER_PERIOD: u32 = 16;
const PERIOD_ROWS: u32 = FITTED_PER_PERIOD * FITTED * 8 + SHORT_SIDE;
/// The pairs of columns of tiles that are a band, so that their columns of `b`, 1024, stay in the L2 cache.
const BAND: u32 = 4;
/// The blocks by which a block moves on within the next round. It is a prime that divides no Hopper GPU's number of
/// multiprocessors (78, 114, 132, 144), so a block gets every position of a round.
const ROTATION: u32 = 37;

/// The division of a product: each 256 columns are `tall` rows of two tall tiles, and below them `wide` wide tiles.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    /// The rows of a tall tile in groups of eight.
    groups: u32,
    tall: u32,
    wide: u32,
    /// The number of times that the product has 256 columns.
    pairs: u32,
}

impl Plan {
    /// Returns the faster of two plans for this number of blocks: whole tall tiles, or 16 fitted ones and a wide one
    /// for each 4096 rows.
    ///
    /// The host calls it with the number of multiprocessors, and the kernel with the number of blocks. If there are
    /// fewer blocks than multiprocessors, the chosen plan takes one round for both, and the other one takes as long or
    /// longer.
    #[inline(always)]
    pub(super) fn of(m: u32, n: u32, blocks: u32) -> Self {
        let whole = Self::with(WHOLE, m / (WHOLE * 8), m, n);
        let fitted = Self::with(FITTED, m / PERIOD_ROWS * FITTED_PER_PERIOD, m, n);
        if fitted.time(blocks) < whole.time(blocks) { fitted } else { whole }
    }

    #[inline(always)]
    fn with(groups: u32, tall: u32, m: u32, n: u32) -> Self {
        Self { groups, tall, wide: (m - tall * groups * 8).div_ceil(SHORT_SIDE), pairs: n.div_ceil(PAIR_COLUMNS) }
    }

    #[inline(always)]
    fn tiles_per_pair(&self) -> u32 {
        2 * self.tall + self.wide
    }

    /// Returns the number of tiles.
    #[inline(always)]
    pub(super) fn tiles(&self) -> u32 {
        self.pairs * self.tiles_per_pair()
    }

    /// Returns the rounds of all blocks times the rows of a tile, to which its time is proportional.
    #[inline(always)]
    fn time(&self, blocks: u32) -> u32 {
        self.tiles().div_ceil(blocks) * self.groups
    }

    /// Returns tile number `index`. Tiles are counted from band to band, and in a band in row-major order, tall ones
    /// first.
    #[inline(always)]
    fn tile(&self, index: u32) -> Tile {
        // At least one tile and one pair, so that the divisions need no check.
        let tiles_per_band = (BAND * self.tiles_per_pair()).max(1);
        let (band, index) = (index / tiles_per_band, index % tiles_per_band);
        let first_pair = band * BAND;
        let pairs = (self.pairs - first_pair).clamp(1, BAND);
        let tall_tiles = 2 * pairs * self.tall;
        let is_wide = index >= tall_tiles;
        let (index, tiles_per_row, first_row, rows, columns) = if is_wide {
            (index - tall_tiles, pairs, self.tall * self.groups * 8, SHORT_SIDE, PAIR_COLUMNS)
        } else {
            (index, 2 * pairs, 0, self.groups * 8, SHORT_SIDE)
        };
        let (tile_row, tile_column) = (index / tiles_per_row, index % tiles_per_row);
        Tile {
            row: first_row + tile_row * rows,
            column: first_pair * PAIR_COLUMNS + tile_column * columns,
            is_wide,
            is_fitted: self.groups == FITTED && !is_wide,
        }
    }
}

/// A tile's first row, its first column and its form: wide (128 × 256), fitted (248 × 128), or else whole (256 × 128).
#[derive(Clone, Copy)]
pub(super) struct Tile {
    pub(super) row: u32,
    pub(super) column: u32,
    pub(super) is_wide: bool,
    pub(super) is_fitted: bool,
}

/// The tiles of a block: one in each round of all blocks. The position in the round rotates, so that no block has all
/// the wide tiles, which take longer than fitted ones.
#[derive(Clone, Copy)]
pub(super) struct BlockTiles {
    /// The first tile of the round.
    round_start: u32,
    /// The block's position in the round.
    position: u32,
}

impl BlockTiles {
    /// Returns the tiles of this block.
    #[inline(always)]
    pub(super) fn of_block() -> Self {
        Self { round_start: 0, position: thread::block_idx_x() }
    }

    /// Returns the block's next tile of a product with `m` rows and `n` columns, if there is one.
    #[inline(always)]
    pub(super) fn next(&mut self, m: u32, n: u32) -> Option<Tile> {
        let blocks = thread::grid_dim_x().max(1);
        // Opaque, so that the plan is computed again for each tile. The registers are needed for sums.
        let plan = Plan::of(opaque(m), opaque(n), blocks);
        let index = self.round_start + self.position;
        self.round_start += blocks;
        self.position = (self.position + ROTATION) % blocks;
        (index < plan.tiles()).then(|| plan.tile(index))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec;

    use super::*;

    /// The numbers of multiprocessors of Hopper GPUs.
    const MULTIPROCESSORS: [u32; 4] = [78, 114, 132, 144];

    #[test]
    fn every_element_is_in_one_tile_for_any_number_of_blocks() {
        for (m, n) in [(1, 1), (128, 256), (4095, 300), (4096, 4096), (4097, 8), (8192, 1100), (12_500, 257)] {
            for multiprocessors in MULTIPROCESSORS {
                let plan = Plan::of(m, n, multiprocessors);
                // Eight rows and 64 columns are a unit of all tiles.
                let (rows, columns) = (m.div_ceil(8), n.div_ceil(64));
                let mut covered = vec![0; (rows * columns) as usize];
                for index in 0..plan.tiles() {
                    let Tile { row, column, is_wide, is_fitted } = plan.tile(index);
                    let [height, width] = if is_wide { [128, 256] } else { [if is_fitted { 248 } else { 256 }, 128] };
                    for i in (row / 8..(row + height) / 8).filter(|&i| i < rows) {
                        for j in (column / 64..(column + width) / 64).filter(|&j| j < columns) {
                            covered[(i * columns + j) as usize] += 1;
                        }
                    }
                }
                assert!(covered.iter().all(|&times| times == 1), "{m} x {n} on {multiprocessors}");
            }
        }
    }

    #[test]
    fn the_kernel_has_the_hosts_plan() {
        for multiprocessors in MULTIPROCESSORS {
            for (m, n) in (1..60).flat_map(|i| (1..60).map(move |j| (i * 331, j * 127))) {
                let plan = Plan::of(m, n, multiprocessors);
                let blocks = plan.tiles().min(multiprocessors);
                assert_eq!(Plan::of(m, n, blocks).groups, plan.groups, "{m} x {n} on {multiprocessors}");
            }
        }
    }

    #[test]
    fn a_rotation_goes_through_all_positions() {
        assert!(MULTIPROCESSORS.iter().all(|blocks| blocks % ROTATION != 0));
    }
}
