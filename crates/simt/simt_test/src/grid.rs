//! The geometry of a launch.

/// The blocks and threads of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    pub(crate) blocks: [u32; 3],
    pub(crate) threads: [u32; 3],
    pub(crate) shared_bytes: u32,
}

impl Grid {
    /// Creates a grid from the numbers of blocks and threads per block in x, y and z.
    #[must_use]
    pub fn new(blocks: [u32; 3], threads: [u32; 3]) -> Self {
        Self { blocks, threads, shared_bytes: 0 }
    }

    /// Creates the smallest one-dimensional grid with a thread for each of `n` elements: at least one block, with
    /// `threads` threads per block.
    ///
    /// # Panics
    /// Panics when `threads` is 0, or when the number of blocks exceeds the limit of a grid.
    #[must_use]
    pub fn covering(n: usize, threads: u32) -> Self {
        let blocks = u32::try_from(n.div_ceil(threads as usize).max(1)).expect("a grid has fewer than 2^31 blocks");
        Self::new([blocks, 1, 1], [threads, 1, 1])
    }

    /// Returns this grid with the given number of bytes of dynamic shared memory per block.
    #[must_use]
    pub fn shared(self, bytes: u32) -> Self {
        Self { shared_bytes: bytes, ..self }
    }
}
