//! Fragments: which lane holds which elements of a matrix, in which of its registers (PTX ISA §9.7.14, "Matrix
//! Fragments").
//!
//! Of four lanes each, the group's number is a row and the lane's number in it a column. So a fragment is made of tiles
//! of eight rows, in each of which a lane has the elements of one register, side by side.

use super::number::Element;
use crate::regs::{LANES, Reg, Regs};

/// The registers of a matrix, and the elements that lanes hold in them.
#[derive(Debug, Clone, PartialEq)]
pub struct Fragment {
    /// The type of the elements.
    pub element: Element,
    /// The registers.
    pub registers: Box<[Reg]>,
    /// The element's number in the matrix, row by row: of the first register for all its elements and all lanes, then
    /// of the next.
    pub places: Box<[u16]>,
}

impl Fragment {
    /// Elements in a register.
    pub(crate) fn packed(&self) -> usize {
        packed(self.element)
    }

    /// Bits of the place of an element in its register, and of the lane.
    fn each(&self) -> impl Iterator<Item = (Reg, u32, usize, usize)> {
        let bits = self.element.bits();
        let packed = self.packed();
        let slots = self.places.chunks_exact(LANES).enumerate();
        slots.flat_map(move |(slot, places)| {
            let (register, shift) = (self.registers[slot / packed], (slot % packed) as u32 * bits);
            let lanes = places.iter().enumerate();
            lanes.map(move |(lane, place)| (register, shift, lane, usize::from(*place)))
        })
    }

    /// The elements of the matrix.
    pub(super) fn gather(&self, regs: &Regs<'_>, elements: &mut [u64]) {
        let mask = u64::MAX >> (64 - self.element.bits());
        self.each().for_each(|(register, shift, lane, place)| {
            elements[place] = regs.lane(register, lane) >> shift & mask;
        });
    }

    /// Writes the elements of the matrix.
    pub(super) fn scatter(&self, regs: &mut Regs<'_>, elements: &[u64]) {
        let mask = u64::MAX >> (64 - self.element.bits());
        self.each().for_each(|(register, shift, lane, place)| {
            let others = regs.lane(register, lane) & !(mask << shift);
            regs.set_lane(register, lane, others | elements[place] << shift);
        });
    }
}

/// Elements of this type in a register.
pub(crate) fn packed(element: Element) -> usize {
    (32 / element.bits()).max(1) as usize
}

/// How a fragment is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// An operand: elements along the products' sum are side by side in a register.
    Operand {
        /// Rows of a tile, of which each has registers of its own: 16 for A, 8 for B.
        tile: usize,
    },
    /// Sums: two neighbours of a row follow each other.
    Sum,
    /// An operand of `mma.m8n8k4` with `f16`, of four products; whether the lane's number chooses the row or column
    /// that belongs to one product.
    Quads { own_row: bool },
    /// The sums of `mma.m8n8k4` with `f16`.
    QuadSum,
}

/// The place of each element: of `slots` elements of a lane. The matrix has `rows` rows of `columns` elements: for an
/// operand the rows are those of A or the columns of B, and the columns go along the sum.
pub(crate) fn places(layout: Layout, element: Element, rows: usize, columns: usize, slots: usize) -> Box<[u16]> {
    let packed = packed(element);
    let place = |slot: usize, lane: usize| {
        let (group, member) = (lane / 4, lane % 4);
        let (row, column) = match layout {
            Layout::Operand { tile } => {
                // In a tile of 16 rows, those 8 apart follow each other.
                let tile = rows.min(tile);
                let (register, own) = (slot / packed, tile * columns / LANES / packed);
                let (first, register) = (register / own * tile, register % own);
                let column = register / (tile / 8) * 4 * packed + member * packed;
                let row = first + group + 8 * (register % (tile / 8));
                (row, column + slot % packed)
            }
            Layout::Sum => {
                let half = rows.min(16) / 8;
                let tile = half * 8 * columns / LANES;
                let (tile, slot) = (slot / tile * 16, slot % tile);
                let row = tile + group + 8 * (slot / 2 % half);
                (row, slot / 2 / half * 8 + 2 * member + slot % 2)
            }
            Layout::Quads { .. } | Layout::QuadSum => {
                // A product belongs to four lanes of each half of the warp.
                let (quad, upper) = (group % 4, lane / 16 * 4);
                let (row, column) = match layout {
                    Layout::Quads { own_row: true } => (member + upper, slot),
                    Layout::Quads { own_row: false } => (slot + upper, member),
                    _ if element == Element::F16 => (member + upper, slot),
                    _ => (member % 2 + (slot & 2) + upper, (slot & 4) + (member & 2) + slot % 2),
                };
                (quad * rows + row, column)
            }
        };
        (row * columns + column) as u16
    };
    let slots = 0..slots;
    slots.flat_map(|slot| (0..LANES).map(move |lane| (slot, lane))).map(|(slot, lane)| place(slot, lane)).collect()
}
