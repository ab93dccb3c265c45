//! Instructions that compute with addresses: `cvta`, `isspacep`, `mapa`, `getctarank`, `createpolicy` (PTX ISA
//! §9.7.9.17 to §9.7.9.24).

use super::WINDOW_BYTES;
use super::address::Region;
use super::cluster::{Cluster, RANK_UNIT};
use crate::regs::{LANES, Pred, R32, R64, Reg, Regs};

/// An instruction that computes with addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressOp {
    /// `cvta`: converts an address to or from a generic address.
    Shift {
        /// The destination register.
        to: R64,
        /// The address.
        from: R64,
        /// The offset to add, wrapping.
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
    /// `mapa`
    Map {
        /// The destination register.
        to: Reg,
        /// The address.
        from: Reg,
        /// The block's rank.
        rank: R32,
    },
    /// `getctarank`
    Rank {
        /// The destination register.
        to: R32,
        /// The address.
        from: Reg,
    },
    /// `createpolicy`, whose result is a cache hint that the simulator ignores.
    Zero {
        /// The destination register.
        to: R64,
    },
}

impl AddressOp {
    pub(crate) fn execute(&self, regs: &mut Regs<'_>, cluster: &Cluster, mask: u32) {
        match self {
            AddressOp::Shift { to, from, by } => {
                let values = regs.get64(*from).map(|value| value.wrapping_add(*by));
                regs.set64(*to, mask, &values);
            }
            AddressOp::IsSpace { to, from, region } => {
                let addresses = regs.wide(*from);
                let yes = addresses
                    .iter()
                    .enumerate()
                    .fold(0, |yes, (lane, at)| yes | u32::from(Region::of(*at) == *region) << lane);
                regs.set_pred(*to, mask, yes);
            }
            AddressOp::Map { to, from, rank } => {
                let (from, rank) = (regs.wide(*from), *regs.get32(*rank));
                let mapped = std::array::from_fn(|lane| {
                    if cluster.shared.len() == 1 && rank[lane] == 0 {
                        return from[lane];
                    }
                    // Compute the offset within a block's shared memory from a generic or a shared address.
                    let window = from[lane] & !(WINDOW_BYTES - 1);
                    let at = from[lane] % RANK_UNIT;
                    window | ((u64::from(rank[lane]) + 1) * RANK_UNIT + at)
                });
                regs.set(*to, mask, &mapped);
            }
            AddressOp::Rank { to, from } => {
                let ranks = regs.wide(*from).map(|at| cluster.find(at % WINDOW_BYTES).0);
                regs.set32(*to, mask, &ranks);
            }
            AddressOp::Zero { to } => regs.set64(*to, mask, &[0; LANES]),
        }
    }
}
