//! How a block's threads go through a problem, and where a block's result goes.

use cuda_std::thread;

/// The turns of a grid that strides over a problem in one dimension: each turn, a block takes `items` neighbouring
/// elements, and the next turn lies a whole grid's elements further.
///
/// The iterator has no end of its own: the kernel that takes the turns checks each against the number of elements.
#[derive(Clone, Copy, Debug)]
pub struct GridStride {
    first: u32,
    items: u32,
}

impl GridStride {
    /// The turns of this block, in a grid whose blocks take `items` elements in each turn.
    #[inline(always)]
    #[must_use]
    pub fn of_this_block(items: u32) -> Self {
        Self { first: thread::block_idx_x() * items, items }
    }
}

impl Iterator for GridStride {
    /// The index of the first element of the block's turn.
    type Item = u32;

    #[inline(always)]
    fn next(&mut self) -> Option<u32> {
        let first = self.first;
        self.first += thread::grid_dim_x() * self.items;
        Some(first)
    }
}

/// An output of one element for each block, which the block's first thread writes.
///
/// Blocks and threads are counted in one dimension, so no two threads write the same element: that is why writing is
/// safe once the output is there.
pub struct BlockOutput<T>(*mut T);

impl<T> BlockOutput<T> {
    /// The output whose first element is `data`.
    ///
    /// # Safety
    /// `data` points to an element for each block of the grid, which nothing else accesses during the launch. The grid
    /// and its blocks have one dimension.
    #[inline(always)]
    pub unsafe fn new(data: *mut T) -> Self {
        Self(data)
    }

    /// Has the block's first thread write the result of `result`, which only that thread calls.
    #[inline(always)]
    pub fn write(self, result: impl FnOnce() -> T) {
        if thread::thread_idx_x() == 0 {
            // SAFETY: there is an element for each block, and this thread alone writes it.
            unsafe { *self.0.add(thread::block_idx_x() as usize) = result() };
        }
    }
}
