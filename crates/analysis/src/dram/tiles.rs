//! A tiled product, phase by phase: figure 6.11.

use std::fmt;
use std::ops::Range;

use serde::Serialize;

use super::{Dram, DramError, Place, positive, whole_elements};

/// The largest matrices: the model walks over all their bursts.
const MOST_ROWS: u64 = 1 << 13;

/// The widest tiles: a block has a thread for each element, and 1024 at the most.
const MOST_TILE: u64 = 32;

/// The product of two square matrices by tiles: a block of tile × tile threads makes a tile of the product, and in
/// each phase loads a tile of each matrix, a row of which is one coalesced access.
///
/// Each matrix lies row by row and begins in bank 0 of channel 0, as every array does whose address is a multiple of
/// what goes once around the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiles {
    dram: Dram,
    element: u64,
    n: u64,
    tile: u64,
}

/// One of the two matrices that are multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Matrix {
    /// The first: a block walks along its rows.
    M,
    /// The second: a block walks down its columns.
    N,
}

impl fmt::Display for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::M => "M",
            Self::N => "N",
        })
    }
}

/// A coalesced access: what the threads of one row of a block load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// The row of the matrix.
    pub row: u64,
    /// The columns.
    pub columns: Range<u64>,
    /// The elements, by their number in the matrix.
    pub elements: Range<u64>,
    /// The first byte of each burst that has some of them.
    pub bursts: Vec<Place>,
}

/// What all blocks together load of one matrix in a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// The matrix.
    pub matrix: Matrix,
    /// The phase's number.
    pub phase: u64,
    /// Coalesced accesses of all blocks.
    pub accesses: u64,
    /// Bursts that have what they load, each counted once: several blocks load the same tile, and a cache makes one
    /// access of those.
    pub bursts: u64,
    /// Those bursts by bank, channel after channel.
    by_bank: Vec<u64>,
    banks: u64,
}

impl Phase {
    /// Bursts of each channel.
    pub fn by_channel(&self) -> Vec<u64> {
        let channels = self.by_bank.chunks(self.banks as usize);
        channels.map(|banks| banks.iter().sum()).collect()
    }

    /// The channels that have something to do.
    pub fn channels(&self) -> Vec<u64> {
        let all = self.by_channel();
        (0..)
            .zip(all)
            .filter(|(_, n)| *n > 0)
            .map(|(c, _)| c)
            .collect()
    }

    /// The banks that have something to do, each as channel and bank.
    pub fn busy_banks(&self) -> Vec<(u64, u64)> {
        let busy = (0..).zip(&self.by_bank).filter(|(_, n)| **n > 0);
        busy.map(|(slot, _)| (slot / self.banks, slot % self.banks))
            .collect()
    }
}

impl Tiles {
    /// The product of matrices of n × n elements of `element` bytes.
    ///
    /// # Errors
    /// [`DramError::Zero`]; [`DramError::PartOfAnElement`] where a burst ends within an element;
    /// [`DramError::TooMuch`] for matrices of more than 8192 rows and tiles of more than 32;
    /// [`DramError::TileTooLarge`].
    pub fn new(dram: Dram, element: u64, n: u64, tile: u64) -> Result<Self, DramError> {
        whole_elements(&dram, element)?;
        positive("n", n)?;
        positive("tile", tile)?;
        if n > MOST_ROWS {
            return Err(DramError::TooMuch {
                what: format!("a matrix of {n} × {n}"),
                limit: format!("--n takes up to {MOST_ROWS}, all of whose bursts are walked over"),
            });
        }
        if tile > n {
            return Err(DramError::TileTooLarge { tile, n });
        }
        if tile > MOST_TILE {
            return Err(DramError::TooMuch {
                what: format!("a block of {tile} × {tile} threads"),
                limit: format!("a block has 1024, so that --tile takes up to {MOST_TILE}"),
            });
        }
        if (n * n).checked_mul(element).is_none() {
            return Err(DramError::TooMuch {
                what: format!("a matrix of {n} × {n} elements of {element} bytes"),
                limit: "addresses have 64 bits".to_owned(),
            });
        }
        Ok(Self {
            dram,
            element,
            n,
            tile,
        })
    }

    /// The memory.
    pub fn dram(&self) -> &Dram {
        &self.dram
    }

    /// Rows and columns of a matrix.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// Rows and columns of a tile.
    pub fn tile(&self) -> u64 {
        self.tile
    }

    /// Phases of a block, and tiles in a row and in a column of a matrix.
    pub fn phases(&self) -> u64 {
        self.n.div_ceil(self.tile)
    }

    /// What a block loads of a matrix in a phase, access by access. The block is in row `block.0` and column
    /// `block.1` of the product's tiles. Nothing for a phase or a block that there is not.
    pub fn loads(&self, matrix: Matrix, phase: u64, block: (u64, u64)) -> Vec<Load> {
        let (down, across) = match matrix {
            Matrix::M => (block.0, phase),
            Matrix::N => (phase, block.1),
        };
        let columns = self.part(across);
        let rows = if columns.is_empty() {
            0..0
        } else {
            self.part(down)
        };
        rows.map(|row| {
            let elements = row * self.n + columns.start..row * self.n + columns.end;
            let bursts = self.bursts(&elements);
            Load {
                row,
                columns: columns.clone(),
                bursts: bursts
                    .map(|burst| self.dram.place(burst * self.dram.burst))
                    .collect(),
                elements,
            }
        })
        .collect()
    }

    /// What all blocks load of a matrix in a phase.
    pub fn phase(&self, matrix: Matrix, phase: u64) -> Phase {
        let mut by_bank = vec![0; self.dram.slots()];
        let (part, blocks) = (self.part(phase), self.phases());
        let width = part.end - part.start;
        // A phase's tiles are a column of them in the one matrix and a row of them in the other.
        let (rows, columns, accesses) = match matrix {
            _ if part.is_empty() => (0..0, part, 0),
            Matrix::M => (0..self.n, part, self.n * blocks),
            Matrix::N => (part, 0..self.n, width * blocks * blocks),
        };
        // Rows follow each other, so that of two that share a burst the second finds it counted.
        let mut next = 0;
        let mut all = 0;
        for row in rows {
            let bursts = self.bursts(&(row * self.n + columns.start..row * self.n + columns.end));
            for burst in bursts.start.max(next)..bursts.end {
                by_bank[self.dram.slot(self.dram.place(burst * self.dram.burst))] += 1;
                all += 1;
            }
            next = bursts.end;
        }
        Phase {
            matrix,
            phase,
            accesses,
            bursts: all,
            by_bank,
            banks: self.dram.banks,
        }
    }

    /// The rows or the columns of the tiles with this number.
    fn part(&self, tile: u64) -> Range<u64> {
        let first = tile.saturating_mul(self.tile).min(self.n);
        first..(first + self.tile).min(self.n)
    }

    /// The bursts that have these elements, by number.
    fn bursts(&self, elements: &Range<u64>) -> Range<u64> {
        let (first, end) = (elements.start * self.element, elements.end * self.element);
        first / self.dram.burst..end.div_ceil(self.dram.burst)
    }
}
