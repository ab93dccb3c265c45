//! Checks of the addresses of all lanes of a warp at once. There is a portable version in plain Rust, and a version
//! with AVX2 intrinsics, because compilers do not generate these instructions from the portable version.

#[cfg(target_arch = "x86_64")]
mod avx2;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Avx2;

use crate::regs::{HALF, LANES, Lanes64};

/// The pattern of the addresses in half a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// The bytes of each lane directly follow those of the previous lane.
    Row,
    /// All lanes have the same address.
    Same,
}

/// The address checks, implemented for one kind of CPU.
pub(crate) trait Vectors: Copy {
    /// Whether the implementation runs on any CPU.
    const PORTABLE: bool = false;

    /// Returns the patterns of both halves of a warp whose lanes access `bytes` bytes each, if each half has a pattern.
    fn patterns(self, at: &Lanes64, bytes: u32) -> Option<[Pattern; 2]>;

    /// Returns whether all addresses are multiples of `align`, a power of two, and lie between `base` and `base +
    /// last`. `last` is less than 2^63.
    fn inside(self, at: &Lanes64, base: u64, last: u64, align: u64) -> bool;

    /// Compares each lane's address, and the address divided by 2^`shift`, with those of the previous lane.
    fn steps(self, at: &Lanes64, shift: u32) -> Steps;

    /// Returns whether the lanes of the upper half have the same addresses as those of the lower half.
    fn repeats(self, at: &Lanes64) -> bool;

    /// Returns the mask of the 4-byte banks that contain the addresses.
    fn banks(self, at: &Lanes64) -> u32;
}

/// Lane masks from comparing each lane's address with the previous lane's. Lane 0 is compared with itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Steps {
    /// The lanes whose address differs.
    pub(crate) moves: u32,
    /// The lanes whose address differs even after the division by 2^`shift`.
    pub(crate) crosses: u32,
    /// The lanes whose address is lower.
    pub(crate) descends: u32,
}

/// The implementation for any CPU.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

impl Vectors for Portable {
    const PORTABLE: bool = true;

    #[inline(always)]
    fn patterns(self, at: &Lanes64, bytes: u32) -> Option<[Pattern; 2]> {
        let pattern = |at: &[u64]| {
            let (mut row, mut same) = (0, 0);
            for (lane, address) in at.iter().enumerate() {
                let offset = address.wrapping_sub(at[0]);
                row |= offset ^ (lane as u64 * u64::from(bytes));
                same |= offset;
            }
            match (row, same) {
                (0, _) => Some(Pattern::Row),
                (_, 0) => Some(Pattern::Same),
                _ => None,
            }
        };
        Some([pattern(&at[..HALF])?, pattern(&at[HALF..])?])
    }

    #[inline(always)]
    fn inside(self, at: &Lanes64, base: u64, last: u64, align: u64) -> bool {
        // If an offset is too large, the offset or its difference from `last` has the highest bit set.
        let (mut high, mut low) = (0, 0);
        for at in at {
            let offset = at.wrapping_sub(base);
            high |= offset | last.wrapping_sub(offset);
            low |= at;
        }
        high >> 63 == 0 && low & (align - 1) == 0
    }

    #[inline(always)]
    fn steps(self, at: &Lanes64, shift: u32) -> Steps {
        let mut steps = Steps { moves: 0, crosses: 0, descends: 0 };
        for lane in 1..LANES {
            let (now, before) = (at[lane], at[lane - 1]);
            steps.moves |= u32::from(now != before) << lane;
            steps.crosses |= u32::from(now >> shift != before >> shift) << lane;
            steps.descends |= u32::from(now < before) << lane;
        }
        steps
    }

    #[inline(always)]
    fn repeats(self, at: &Lanes64) -> bool {
        at[..HALF] == at[HALF..]
    }

    #[inline(always)]
    fn banks(self, at: &Lanes64) -> u32 {
        at.iter().fold(0, |banks, at| banks | 1 << (at / 4 % 32))
    }
}
