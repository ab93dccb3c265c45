//! Addresses as values: `cvta`, `isspacep`, `mapa`, `getctarank`, `createpolicy` (PTX ISA §9.7.9.17 to
//! §9.7.9.24).
//!
//! A cluster has one block, whose rank is 0, and which `mapa` maps to itself.

use super::address::Region;
use crate::regs::{LANES, Pred, R32, R64, Reg, Regs};

/// One instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressOp {
    /// `cvta`: moves an address into its space's window, or out of it.
    Shift {
        /// The destination register.
        to: R64,
        /// The address.
        from: R64,
        /// The distance that is added, wrapping.
        by: u64,
    },
    /// `isspacep`
    IsSpace {
        /// The destination register.
        to: Pred,
        /// A generic address.
        from: Reg,
        /// The space.
        region: Region,
    },
    /// `mapa` of a 32-bit address.
    Move {
        /// The destination register.
        to: R32,
        /// The address.
        from: R32,
    },
    /// `getctarank`, and `createpolicy`, whose result is a hint to caches, which this machine does not have.
    Zero {
        /// The destination register.
        to: Reg,
    },
}

impl AddressOp {
    pub(crate) fn execute(&self, regs: &mut Regs<'_>, mask: u32) {
        match self {
            AddressOp::Shift { to, from, by } => {
                let values = regs.get64(*from).map(|value| value.wrapping_add(*by));
                regs.set64(*to, mask, &values);
            }
            AddressOp::IsSpace { to, from, region } => {
                let addresses = match from {
                    Reg::R64(from) => *regs.get64(*from),
                    Reg::R32(from) => regs.get32(*from).map(u64::from),
                    Reg::Pred(_) => unreachable!("decoding takes no predicate for an address"),
                };
                let yes = addresses.iter().enumerate().fold(0, |yes, (lane, at)| {
                    yes | u32::from(Region::of(*at) == *region) << lane
                });
                regs.set_pred(*to, mask, yes);
            }
            AddressOp::Move { to, from } => {
                let values = *regs.get32(*from);
                regs.set32(*to, mask, &values);
            }
            AddressOp::Zero { to } => match to {
                Reg::R32(to) => regs.set32(*to, mask, &[0; LANES]),
                Reg::R64(to) => regs.set64(*to, mask, &[0; LANES]),
                Reg::Pred(to) => regs.set_pred(*to, mask, 0),
            },
        }
    }
}
