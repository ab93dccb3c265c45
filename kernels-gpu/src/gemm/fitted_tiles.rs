//! Which tiles a product is divided into for `gemm_fitted`, and which of them a block takes.

use cuda_std::thread;
use rung::MULTIPROCESSORS;

use super::tiles::Corner;
use super::unknown;

/// The rows of a high tile, whole and fitted, in groups of eight.
const WHOLE: u32 = 32;
const FITTED: u32 = 31;

/// How a product is divided: each 256 columns of it into `high` rows of two tiles with `groups` × 8 rows and 128 columns,
/// and below them `wide` tiles with 128 rows and 256 columns.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    groups: u32,
    high: u32,
    wide: u32,
    /// How often there are 256 columns.
    pairs: u32,
}

impl Plan {
    /// Pairs of columns of tiles that are gone through together, 1024 columns, so that they stay in the L2 cache.
    const BAND: u32 = 4;

    /// The faster of two plans: whole tiles, or 16 fitted ones and a wide one for each 4096 rows.
    pub(super) const fn of(m: u32, n: u32) -> Self {
        let (whole, fitted) = (Self::with(WHOLE, m / 256, m, n), Self::with(FITTED, m / 4096 * 16, m, n));
        if fitted.time() < whole.time() { fitted } else { whole }
    }

    #[inline(always)]
    const fn with(groups: u32, high: u32, m: u32, n: u32) -> Self {
        Self { groups, high, wide: (m - high * groups * 8).div_ceil(128), pairs: n.div_ceil(256) }
    }

    /// The number of tiles of 256 columns.
    #[inline(always)]
    const fn of_pair(&self) -> u32 {
        2 * self.high + self.wide
    }

    #[inline(always)]
    pub(super) const fn tiles(&self) -> u32 {
        self.pairs * self.of_pair()
    }

    /// Waves of tiles, times what a tile takes.
    #[inline(always)]
    const fn time(&self) -> u32 {
        self.tiles().div_ceil(MULTIPROCESSORS) * self.groups
    }

    /// A tile: from band to band, and in a band row after row.
    #[inline(always)]
    fn place(&self, index: u32) -> Place {
        // At least one, so that the divisions need no check.
        let in_band = (Self::BAND * self.of_pair()).max(1);
        let (band, index) = (index / in_band, index % in_band);
        let first = band * Self::BAND;
        let pairs = (self.pairs - first).clamp(1, Self::BAND);
        let high = 2 * pairs * self.high;
        let is_wide = index >= high;
        let (index, along, below, rows, columns) = if is_wide {
            (index - high, pairs, self.high, 128, 256)
        } else {
            (index, 2 * pairs, 0, self.groups * 8, 128)
        };
        let (down, across) = (index / along, index % along);
        Place {
            row: below * self.groups * 8 + down * rows,
            column: first * 256 + across * columns,
            is_wide,
            is_fitted: self.groups == FITTED && !is_wide,
        }
    }
}

/// A tile's first row and first column; whether it has 128 rows × 256 columns, or 248 × 128, or else 256 × 128.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) row: u32,
    pub(super) column: u32,
    pub(super) is_wide: bool,
    pub(super) is_fitted: bool,
}

impl Place {
    #[inline(always)]
    pub(super) fn corner(self) -> Corner {
        Corner { row: self.row, column: self.column }
    }

    /// The part of a consumer.
    #[inline(always)]
    pub(super) fn part(self, consumer: u32) -> Self {
        let columns = if self.is_wide { 128 } else { 64 };
        Self { column: self.column + consumer * columns, ..self }
    }
}

/// The tiles of a block: one of each wave, and each time another one, so that wide tiles, which take longer, are not
/// always the same block's.
#[derive(Clone, Copy)]
pub(super) struct Turns {
    wave: u32,
    turn: u32,
}

impl Turns {
    #[inline(always)]
    pub(super) fn of_block() -> Self {
        Self { wave: 0, turn: thread::block_idx_x() }
    }

    /// The block's next tile of a product of this shape, if it has one.
    #[inline(always)]
    pub(super) fn next(&mut self, m: u32, n: u32) -> Option<Place> {
        // The registers are needed for sums: a plan is soon made anew.
        let plan = Plan::of(unknown(m), unknown(n));
        let blocks = thread::grid_dim_x().max(1);
        let index = self.wave + self.turn;
        self.wave += blocks;
        self.turn = (self.turn + 37) % blocks;
        (index < plan.tiles()).then(|| plan.place(index))
    }
}
