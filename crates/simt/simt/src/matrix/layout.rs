//! Fragments: the mapping of a matrix's elements to lanes and to the lanes' registers (PTX ISA §9.7.14, "Matrix
//! Fragments").
//!
//! Lanes form groups of four: the group's number is the row, and the lane's number in the group selects the columns. A
//! fragment therefore consists of tiles of eight rows. In each tile, a lane holds the adjacent elements of one
//! register.

use super::number::Element;
use crate::regs::{LANES, Reg, Regs};

/// The registers of a matrix, and the elements that each lane holds in them.
#[derive(Debug, Clone, PartialEq)]
pub struct Fragment {
    /// The type of the elements.
    pub element: Element,
    /// The registers.
    pub registers: Box<[Reg]>,
    /// The row-major index of each element in the matrix. For each register, and for each element in the register, the
    /// list contains the indices of all lanes.
    pub places: Box<[u16]>,
}

impl Fragment {
    /// Returns the number of elements per register.
    pub(crate) fn packed(&self) -> usize {
        packed(self.element)
    }

    /// Returns, for each element, its register, its bit offset in the register, its lane, and its index in the matrix.
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

    /// Reads the elements of the matrix.
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

/// Returns the number of elements of this type per register.
pub(crate) fn packed(element: Element) -> usize {
    (32 / element.bits()).max(1) as usize
}

/// The layout of a fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// An operand: elements that are adjacent along k share a register.
    Operand {
        /// The number of rows of a tile: 16 for A and 8 for B. Each tile occupies separate registers.
        tile: usize,
    },
    /// Sums: a lane holds two adjacent elements of a row.
    Sum,
    /// An operand of `mma.m8n8k4` with `f16`, for four products. With `row_per_lane`, each lane holds a row of A or a
    /// column of B; otherwise, the same slot in four lanes holds a row of A or a column of B.
    Quads { row_per_lane: bool },
    /// The sums of `mma.m8n8k4` with `f16`.
    QuadSum,
}

/// Returns the index of each element in the matrix, for `slots` elements per lane. The matrix has `rows` rows of
/// `columns` elements. For an operand, these rows are the rows of A or the columns of B, and these columns are indexed
/// by k.
pub(crate) fn places(layout: Layout, element: Element, rows: usize, columns: usize, slots: usize) -> Box<[u16]> {
    let packed = packed(element);
    let place = |slot: usize, lane: usize| {
        let (group, member) = (lane / 4, lane % 4);
        let (row, column) = match layout {
            Layout::Operand { tile } => {
                // In a tile of 16 rows, elements 8 rows apart are in consecutive registers.
                let tile = rows.min(tile);
                let (register, per_tile) = (slot / packed, tile * columns / LANES / packed);
                let (first, register) = (register / per_tile * tile, register % per_tile);
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
                // Each product belongs to four lanes in each half of the warp.
                let (quad, upper) = (group % 4, lane / 16 * 4);
                let (row, column) = match layout {
                    Layout::Quads { row_per_lane: true } => (member + upper, slot),
                    Layout::Quads { row_per_lane: false } => (slot + upper, member),
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
