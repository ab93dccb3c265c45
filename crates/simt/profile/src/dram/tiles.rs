//! A tiled product of two matrices, phase by phase (figure 6.11).

use std::collections::BTreeSet;
use std::ops::Range;

use serde::Serialize;

use super::{Dram, DramAddress, within};
use crate::Error;

/// The tiled product of two square matrices. A block of tile × tile threads computes a tile of the product, and in each
/// phase loads a tile of each matrix. A row of a tile is one coalesced access.
///
/// Each matrix is stored in row-major order and begins in bank 0 of channel 0.
#[derive(Clone, Debug, Serialize)]
pub struct Tiles {
    /// The memory.
    #[serde(flatten)]
    pub dram: Dram,
    /// The number of rows and columns of a matrix.
    pub n: u64,
    /// The number of rows and columns of a tile.
    pub tile: u64,
    /// The combined loads of all blocks, for each phase and matrix.
    pub phases: Vec<Phase>,
    #[serde(skip)]
    element: u64,
}

/// One of the two matrices that are multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Matrix {
    /// The first matrix: a block moves along its rows.
    M,
    /// The second matrix: a block moves along its columns.
    N,
}

/// A coalesced access: the load that the threads of one row of a block make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// The row of the matrix.
    pub row: u64,
    /// The columns.
    pub columns: Range<u64>,
    /// The range of element indices in the matrix.
    pub elements: Range<u64>,
    /// The first byte of each burst that contains at least one of the elements.
    pub bursts: Vec<DramAddress>,
}

/// The combined loads of all blocks from one matrix in a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Phase {
    /// The phase's index.
    pub phase: u64,
    /// The matrix.
    pub matrix: Matrix,
    /// The number of coalesced accesses of all blocks.
    pub accesses: u64,
    /// The number of bursts that contain the loaded elements. Several blocks load the same tile; each burst counts
    /// once, as if it were cached.
    pub bursts: u64,
    /// The accessed channels.
    pub channels: Vec<u64>,
    /// The accessed banks, as pairs of channel and bank.
    pub banks: BTreeSet<(u64, u64)>,
    /// The number of bursts from each channel.
    pub bursts_by_channel: Vec<u64>,
}

impl Tiles {
    /// Models the product of matrices of n × n elements of `element` bytes. `n` is at most 16, and the memory has at most
    /// 8 channels of 8 banks.
    ///
    /// # Errors
    /// Returns [`Error::Request`] when a number is 0 or exceeds its limit, when a tile is larger than its matrix, or
    /// when a burst ends within an element.
    pub fn new(dram: Dram, element: u64, n: u64, tile: u64) -> Result<Self, Error> {
        dram.check_figure(element)?;
        let mut tiles = Self {
            dram,
            n: within("side", n, 1..=16)?,
            tile: within("tile", tile, 1..=n)?,
            phases: Vec::new(),
            element,
        };
        tiles.phases = (0..tiles.side())
            .flat_map(|phase| [Matrix::M, Matrix::N].map(|matrix| tiles.phase(matrix, phase)))
            .collect();
        Ok(tiles)
    }

    /// Returns the number of phases of a block, which equals the number of tiles along a side of a matrix.
    pub fn side(&self) -> u64 {
        self.n.div_ceil(self.tile)
    }

    /// Returns the blocks, as row and column of the product's tiles.
    pub fn blocks(&self) -> impl Iterator<Item = (u64, u64)> + Clone + use<> {
        let side = self.side();
        (0..side).flat_map(move |row| (0..side).map(move |column| (row, column)))
    }

    /// Returns the loads of a block from a matrix in a phase, one per access. `block` is the row and column of the
    /// block's tile in the product. The result is empty for a phase or a block outside the matrices.
    pub fn loads(&self, matrix: Matrix, phase: u64, block: (u64, u64)) -> Vec<Load> {
        let (row, column) = match matrix {
            Matrix::M => (block.0, phase),
            Matrix::N => (phase, block.1),
        };
        let columns = self.part(column);
        let rows = self.part(row).filter(|_| !columns.is_empty());
        rows.map(|row| {
            let elements = row * self.n + columns.start..row * self.n + columns.end;
            let (first, end) = (elements.start * self.element, elements.end * self.element);
            let bursts = first / self.dram.burst..end.div_ceil(self.dram.burst);
            let places = bursts.map(|burst| self.dram.place(burst * self.dram.burst));
            Load { row, columns: columns.clone(), elements, bursts: places.collect() }
        })
        .collect()
    }

    fn phase(&self, matrix: Matrix, phase: u64) -> Phase {
        let blocks = self.blocks();
        let loads: Vec<Load> = blocks.flat_map(|block| self.loads(matrix, phase, block)).collect();
        let bursts: BTreeSet<DramAddress> = loads.iter().flat_map(|load| load.bursts.clone()).collect();
        let count = |channel| bursts.iter().filter(|burst| burst.channel == channel).count() as u64;
        Phase {
            phase,
            matrix,
            accesses: loads.len() as u64,
            bursts: bursts.len() as u64,
            channels: (0..self.dram.channels).filter(|&channel| count(channel) > 0).collect(),
            banks: bursts.iter().map(|burst| (burst.channel, burst.bank)).collect(),
            bursts_by_channel: (0..self.dram.channels).map(count).collect(),
        }
    }

    /// Returns the rows or columns of the matrix that belong to the tiles with this index.
    fn part(&self, tile: u64) -> Range<u64> {
        let first = tile.saturating_mul(self.tile).min(self.n);
        first..(first + self.tile).min(self.n)
    }
}
