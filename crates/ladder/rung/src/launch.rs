//! The grid of a launch, as a function of the problem's shape, the block and the device.

/// The maximum number of blocks of a grid in y and in z (CUDA C++ Programming Guide, "Compute Capabilities").
const MAX_GRID_Y: u32 = 65_535;

/// The properties of a device that a grid can depend on (`cudaDeviceProp` in CUDA C++).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceProperties {
    /// The number of streaming multiprocessors.
    pub multiprocessors: u32,
}

/// The properties of an H100 or H200 on an SXM5 board, which the simulator imitates by default (NVIDIA, "H100 Tensor
/// Core GPU Architecture"). These properties are used for a device that does not report its properties, and when
/// launches are listed or checked before a device is opened.
impl Default for DeviceProperties {
    fn default() -> Self {
        Self { multiprocessors: 132 }
    }
}

/// The properties of a launch that determine its grid.
#[derive(Clone, Copy, Debug)]
pub struct LaunchRequest<'a> {
    /// The lengths of the problem, in the order of the ladder: `n`; rows and columns; `m`, `n` and `k`.
    pub shape: &'a [u64],
    /// The lengths of a block in threads.
    pub block: [u32; 3],
    /// The elements per thread, as declared by the rung.
    pub items_per_thread: u32,
    /// The device that the kernel runs on.
    pub device: DeviceProperties,
}

impl LaunchRequest<'_> {
    /// Returns a length of the shape, or 1 if the shape does not have the dimension.
    #[must_use]
    pub fn length(&self, dimension: usize) -> u64 {
        self.shape.get(dimension).copied().unwrap_or(1)
    }

    /// Returns the number of threads of a block.
    #[must_use]
    pub fn threads(&self) -> u64 {
        self.block.iter().map(|&length| u64::from(length)).product()
    }

    /// Returns a grid with blocks along x for the first length of the shape. The grid has at least one block.
    #[must_use]
    pub fn line(&self) -> [u32; 3] {
        [blocks(self.length(0), self.threads() * u64::from(self.items_per_thread)), 1, 1]
    }

    /// Returns a grid like [`line`](Self::line), but with at most `most` blocks, which handle further elements in a
    /// grid-stride loop.
    #[must_use]
    pub fn stride(&self, most: u32) -> [u32; 3] {
        let [all, ..] = self.line();
        [all.min(most), 1, 1]
    }

    /// Returns a grid with one block per tile of rows × columns, the first two lengths of the shape. A row of tiles
    /// lies along x in the grid. Rows of tiles are numbered along y and then along z, because y is limited to 65535
    /// blocks. A block's row is `y + z * gridDim.y`, and some of the last rows can be out of bounds.
    #[must_use]
    pub fn tiles(&self, rows: u32, columns: u32) -> [u32; 3] {
        let tiles = blocks(self.length(0), rows.into());
        let z = tiles.div_ceil(MAX_GRID_Y);
        [blocks(self.length(1), columns.into()), tiles.div_ceil(z), z]
    }

    /// Returns the number of tiles of rows × columns, the first two lengths of the shape.
    #[must_use]
    pub fn count_tiles(&self, rows: u32, columns: u32) -> u32 {
        let count = u64::from(blocks(self.length(0), rows.into())) * u64::from(blocks(self.length(1), columns.into()));
        u32::try_from(count).unwrap_or(u32::MAX)
    }
}

/// Returns the number of blocks for `all` elements at `each` elements per block, but at least 1.
fn blocks(all: u64, each: u64) -> u32 {
    u32::try_from(all.div_ceil(each).max(1)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The maximum number of elements of a ladder. A grid then has fewer than 2^31 blocks.
    const MAX_N: u64 = (1 << 31) - 1;

    fn request(shape: &[u64], block: [u32; 3], items_per_thread: u32) -> LaunchRequest<'_> {
        LaunchRequest { shape, block, items_per_thread, device: DeviceProperties { multiprocessors: 132 } }
    }

    fn covers_once(n: u64, block: u32, items_per_thread: u32) {
        let shape = [n];
        let request = request(&shape, [block, 1, 1], items_per_thread);
        let [blocks, y, z] = request.line();
        let elements = request.threads() * u64::from(items_per_thread);
        assert_eq!((y, z), (1, 1));
        assert!(blocks >= 1);
        assert!(u64::from(blocks) * elements >= n, "the last elements are left out");
        assert!(blocks == 1 || (u64::from(blocks) - 1) * elements < n, "the last block has no elements");
        assert!(blocks <= i32::MAX as u32, "more blocks than a grid can have");
    }

    #[test]
    fn the_grid_at_the_edges() {
        let small = [0, 1, 31, 63, 64, 65, 511, 512, 513, 4095, 4096, 4097];
        for n in small.into_iter().chain([1 << 24, MAX_N - 1, MAX_N]) {
            for block in [64, 128, 256, 512, 1024] {
                for items in [1, 2, 4, 8] {
                    covers_once(n, block, items);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn the_grid_covers_every_element_once(n in 0..=MAX_N, log_block in 6u32..=10, log_items in 0u32..=3) {
            covers_once(n, 1 << log_block, 1 << log_items);
        }
    }

    #[test]
    fn a_stride_has_at_most_the_given_number_of_blocks() {
        let grid = |n| request(&[n], [128, 1, 1], 4).stride(2048);
        assert_eq!(grid(0), [1, 1, 1]);
        assert_eq!(grid(513), [2, 1, 1]);
        assert_eq!(grid(2048 * 512), [2048, 1, 1]);
        assert_eq!(grid(MAX_N), [2048, 1, 1]);
    }

    #[test]
    fn tiles_cover_rows_and_columns() {
        let grid = |shape: &[u64], rows, columns| request(shape, [32, 16, 1], 1).tiles(rows, columns);
        assert_eq!(grid(&[4096, 4096], 16, 32), [128, 256, 1]);
        assert_eq!(grid(&[1, 65], 16, 64), [2, 1, 1]);
        assert_eq!(grid(&[17, 1], 16, 32), [1, 2, 1]);
        assert_eq!(grid(&[65_535 * 16, 1], 16, 32), [1, 65_535, 1]);
        assert_eq!(grid(&[65_535 * 16 + 1, 1], 16, 32), [1, 32_768, 2]);
        assert_eq!(request(&[4096, 4096, 7], [1; 3], 1).count_tiles(128, 256), 512);
        assert_eq!(request(&[1, 1, 7], [1; 3], 1).count_tiles(128, 256), 1);
    }
}
