//! `tensormap.replace` and `tensormap.cp_fenceproxy` (PTX ISA §9.7.9.28, §9.7.13.15.19): changes that a kernel makes to
//! tensor maps.

use super::map::{AXES, AXIS};
use crate::memory::cluster::Reach;
use crate::memory::in_flight::{Piece, Source, copy};
use crate::memory::{Accessed, Address};
use crate::regs::{Reg, lanes};

/// An instruction that changes or copies a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MapEdit {
    /// `tensormap.replace`
    Replace {
        /// The address of the map.
        map: Address,
        /// The field to replace.
        field: MapField,
        /// The new value.
        value: Reg,
    },
    /// `tensormap.cp_fenceproxy`
    Copy {
        /// The destination, in device memory.
        to: Address,
        /// The source, in shared memory.
        from: Address,
    },
}

/// A field of an encoded map. A field that exists in each dimension includes the number of the dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the instruction's words")]
pub enum MapField {
    GlobalAddress,
    /// The rank minus 1.
    Rank,
    BoxDim(u8),
    GlobalDim(u8),
    /// The stride of the dimension that follows the dimension with this number.
    GlobalStride(u8),
    ElementStride(u8),
    Elemtype,
    SwizzleMode,
    FillMode,
    /// `interleave_layout` and `swizzle_atomicity`, for which the simulator supports only one value.
    Nothing,
}

impl MapField {
    /// Returns the offset of the field in an encoded map, its size in bytes, and the encoding of a value.
    fn place(self, value: u64) -> (usize, u32, u64) {
        let axis = |number: u8| AXES + usize::from(number) * AXIS;
        match self {
            Self::Elemtype => {
                // The index is the number of a type in PTX; the value is the number of the type in CUDA.
                let types = [0, 1, 2, 3, 4, 5, 6, 7, 10, 8, 9, 11, 12];
                (8, 1, types.get(value as usize).copied().unwrap_or(u64::from(u8::MAX)))
            }
            Self::Rank => (9, 1, value.saturating_add(1).min(255)),
            Self::SwizzleMode => (10, 1, value.min(255)),
            Self::FillMode => (11, 1, value.min(1)),
            Self::GlobalAddress => (12, 8, value),
            Self::GlobalDim(number) => (axis(number), 4, value.wrapping_sub(1)),
            Self::GlobalStride(number) => (axis(number + 1) + 4, 8, value),
            Self::BoxDim(number) => (axis(number) + 12, 2, value.min(0xffff)),
            Self::ElementStride(number) => (axis(number) + 14, 1, value.min(255)),
            Self::Nothing => (0, 0, 0),
        }
    }
}

impl MapEdit {
    pub(in crate::memory) fn execute(&self, reach: &mut Reach<'_, '_, '_>, mask: u32) -> Accessed {
        let (to, source) = match self {
            Self::Replace { map, .. } => (map, map),
            Self::Copy { to, from } => (to, from),
        };
        for lane in lanes(mask) {
            let [to, source] = [to, source].map(|address| reach.place(address, lane));
            reach.check(lane, source, 128, 128, false)?;
            reach.check(lane, to, 128, 128, true)?;
            let (offset, bytes, from) = match self {
                Self::Replace { field, value, .. } => {
                    let (offset, bytes, value) = field.place(reach.regs.lane(*value, lane));
                    (offset, bytes, Source::Value(value))
                }
                Self::Copy { .. } => (0, 128, Source::Memory(source)),
            };
            let piece = Piece { lane: lane as u8, bytes, from, to: to.offset_by(offset as u64) };
            copy(&mut reach.cluster.shared, reach.global, &piece);
        }
        Ok(())
    }
}
