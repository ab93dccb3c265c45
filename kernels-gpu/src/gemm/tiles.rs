//! Which tile of the product a block takes, and how sums get from registers to it.

/// The first row and the first column of a tile.
#[derive(Clone, Copy)]
pub(super) struct Corner {
    pub(super) row: u32,
    pub(super) column: u32,
}

impl Corner {
    /// The corner so many rows further down.
    #[inline(always)]
    pub(super) fn down(self, rows: u32) -> Self {
        Self { row: self.row + rows, ..self }
    }
}

/// Tile number `index` of tiles of `ROWS` × `COLUMNS`, counted along bands of `BAND` rows of tiles, down within a band.
///
/// The blocks that run at a time then share a few rows of `a`'s tiles and a few columns of `b`'s, which stay in the L2 cache, where
/// row after row they would go through all of `b` for one row.
#[inline(always)]
pub(super) fn corner<const ROWS: u32, const COLUMNS: u32, const BAND: u32>(index: u32, m: u32, n: u32) -> Corner {
    let (down, along) = (m.div_ceil(ROWS), n.div_ceil(COLUMNS));
    let in_band = BAND * along;
    let first = index / in_band * BAND;
    let (rows, rest) = ((down - first).min(BAND), index % in_band);
    Corner { row: (first + rest % rows) * ROWS, column: rest / rows * COLUMNS }
}
