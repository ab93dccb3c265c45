//! The order in which blocks take the tiles of a product.

/// The first row and the first column of a tile.
#[derive(Clone, Copy)]
pub(super) struct Corner {
    pub(super) row: u32,
    pub(super) column: u32,
}

/// Returns the corner of tile number `index`, for tiles of `ROWS` × `COLUMNS`.
///
/// `BAND` rows of tiles are a band. Tiles are counted from band to band, and within a band from column to column. The
/// blocks that run at the same time then share a few rows of `a`'s tiles and a few columns of `b`'s, which stay in the
/// L2 cache. In row-major order they would read all of `b` for one row of tiles.
#[inline(always)]
pub(super) fn corner<const ROWS: u32, const COLUMNS: u32, const BAND: u32>(index: u32, m: u32, n: u32) -> Corner {
    // At least one column of tiles, so that the divisions below need no check.
    let (tile_rows, tile_columns) = (m.div_ceil(ROWS), n.div_ceil(COLUMNS).max(1));
    let tiles_per_band = BAND * tile_columns;
    let first = index / tiles_per_band * BAND;
    let (rows, rest) = ((tile_rows - first).clamp(1, BAND), index % tiles_per_band);
    Corner { row: (first + rest % rows) * ROWS, column: rest / rows * COLUMNS }
}
