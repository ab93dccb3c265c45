//! Tiles of a matrix in shared memory, and the padding that frees them of bank conflicts.

use cuda_std::thread;

use crate::warp::WARP_SIZE;

/// A tile that a block's threads write together: rows of `WIDTH` elements, `PAD` unused words behind each, in memory of
/// `height * (WIDTH + PAD)` elements.
///
/// A barrier lies between writing and reading, and the types enforce it: a `TileWriter` cannot be read.
/// [`sync`](TileWriter::sync), which every thread of the block calls, turns it into a [`TileReader`], which cannot be
/// written.
///
/// ```compile_fail,E0599
/// # unsafe fn kernel(memory: *mut f32) {
/// let tile = unsafe { kernels_gpu::tile::TileWriter::<f32, 32, 1>::new(memory) };
/// unsafe { tile.get(0, 0) }; // There was no barrier.
/// # }
/// ```
pub struct TileWriter<T, const WIDTH: usize, const PAD: usize>(*mut T);

/// A tile that a block's threads read: what a [`TileWriter`] becomes behind a barrier.
pub struct TileReader<T, const WIDTH: usize, const PAD: usize>(*mut T);

impl<T: Copy, const WIDTH: usize, const PAD: usize> TileWriter<T, WIDTH, PAD> {
    /// The tile in the memory from `data` on.
    ///
    /// # Safety
    /// `data` points to the tile's elements in shared memory, which nothing else accesses while the tile exists.
    #[inline(always)]
    pub unsafe fn new(data: *mut T) -> Self {
        Self(data)
    }

    /// Writes an element.
    ///
    /// # Safety
    /// The element is in the tile, and no other thread writes it before the next [`sync`](TileWriter::sync).
    #[inline(always)]
    pub unsafe fn set(&mut self, row: u32, column: u32, value: T) {
        // SAFETY: as the caller promises; no thread reads before the barrier.
        unsafe { *self.0.wrapping_add(index::<WIDTH, PAD>(row, column)) = value };
    }

    /// Waits until all threads of the block have written.
    #[inline(always)]
    pub fn sync(self) -> TileReader<T, WIDTH, PAD> {
        thread::sync_threads();
        TileReader(self.0)
    }

    /// Waits until all threads of the block have written this tile and `other`.
    #[inline(always)]
    pub fn sync_with<const OTHER_WIDTH: usize, const OTHER_PAD: usize>(
        self,
        other: TileWriter<T, OTHER_WIDTH, OTHER_PAD>,
    ) -> (TileReader<T, WIDTH, PAD>, TileReader<T, OTHER_WIDTH, OTHER_PAD>) {
        (self.sync(), TileReader(other.0))
    }
}

impl<T: Copy, const WIDTH: usize, const PAD: usize> TileReader<T, WIDTH, PAD> {
    /// Reads an element.
    ///
    /// # Safety
    /// The element is in the tile, and a thread of the block has written it.
    #[inline(always)]
    pub unsafe fn get(&self, row: u32, column: u32) -> T {
        // SAFETY: as the caller promises; no thread writes before the next barrier.
        unsafe { *self.0.wrapping_add(index::<WIDTH, PAD>(row, column)) }
    }

    /// Waits until all threads of the block have read.
    #[inline(always)]
    pub fn sync(self) -> TileWriter<T, WIDTH, PAD> {
        thread::sync_threads();
        TileWriter(self.0)
    }

    /// Waits until all threads of the block have read this tile and `other`.
    #[inline(always)]
    pub fn sync_with<const OTHER_WIDTH: usize, const OTHER_PAD: usize>(
        self,
        other: TileReader<T, OTHER_WIDTH, OTHER_PAD>,
    ) -> (TileWriter<T, WIDTH, PAD>, TileWriter<T, OTHER_WIDTH, OTHER_PAD>) {
        (self.sync(), TileWriter(other.0))
    }
}

/// Where an element of a tile lies.
#[inline(always)]
fn index<const WIDTH: usize, const PAD: usize>(row: u32, column: u32) -> usize {
    (row * (WIDTH + PAD) as u32 + column) as usize
}

/// The words of padding behind each row of a tile of `width` × `height` 32-bit words that let a warp read
/// `height` rows down a column without a bank conflict.
///
/// Word `i` of shared memory lies in bank `i % 32`, and a bank serves one word at a time. Where the
/// lanes run down a column, lane `l` reads row `l % height` and column `l / height`: the warp reads
/// `side = 32 / height` neighbouring columns at once. So the rows must begin `side` banks apart, in any
/// order: their 32 / `side` starting banks, the multiples of the pitch modulo 32, are all different
/// exactly when the pitch is an odd multiple of `side`. A width that is a larger power of two is an even
/// one, and the next odd one is `side` words further.
///
/// Hence 1 for 32 × 32, where a warp reads one column; 2 for 32 × 16, where it reads two: with 1, a pitch
/// of 33, row 1's second column would lie in the bank of row 2's first. And 2 for 16 × 16, where writing still costs a
/// second wavefront: a warp writes two rows of 16, which overlap in two banks unless they lie 16 apart, and columns of
/// that pitch conflict the most.
#[must_use]
pub const fn padding(width: usize, height: usize) -> usize {
    assert!(
        height.is_power_of_two() && height > 1 && height <= WARP_SIZE as usize,
        "a warp reads whole columns of two rows or more"
    );
    let side = WARP_SIZE as usize / height;
    let mut pad = 0;
    while (width + pad) % (2 * side) != side {
        pad += 1;
    }
    pad
}

#[cfg(test)]
mod tests {
    use super::padding;

    /// The most words that the lanes of a warp want of one bank, reading down the columns.
    fn conflicts(pitch: usize, height: usize) -> usize {
        let mut wanted = [0; 32];
        for lane in 0..32 {
            wanted[(lane % height * pitch + lane / height) % 32] += 1;
        }
        wanted.into_iter().max().unwrap_or(0)
    }

    #[test]
    fn the_padding_is_the_least_that_frees_a_column_of_conflicts() {
        for width in [16, 32, 33, 48, 64, 128] {
            for height in [2, 4, 8, 16, 32] {
                let pad = padding(width, height);
                assert_eq!(conflicts(width + pad, height), 1, "{width} x {height}");
                for less in 0..pad {
                    assert!(
                        conflicts(width + less, height) > 1,
                        "{width} x {height}: {less} words do as well as {pad}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_shapes_of_the_transpose() {
        assert_eq!((padding(32, 16), conflicts(32, 16)), (2, 16));
        assert_eq!((padding(32, 32), conflicts(32, 32)), (1, 32));
        assert_eq!((padding(16, 16), conflicts(16, 16)), (2, 8));
    }
}
