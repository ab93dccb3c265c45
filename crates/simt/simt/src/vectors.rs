//! Questions about the addresses of a warp's lanes, answered for all lanes at once: in plain Rust for any
//! CPU, and with AVX2's vector instructions, which compilers do not find by themselves.

#[cfg(target_arch = "x86_64")]
mod avx2;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Avx2;

use crate::regs::{HALF, LANES, Lanes64};

/// How the addresses of half a warp's lanes follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Each lane's bytes lie behind those of the lane before.
    Row,
    /// All lanes have the same address.
    Same,
}

/// The questions about addresses, implemented for one kind of CPU.
pub(crate) trait Vectors: Copy {
    /// Whether any CPU can run it.
    const PORTABLE: bool = false;

    /// The patterns of both halves of a warp whose lanes access `bytes` bytes each, if both have one.
    fn patterns(self, at: &Lanes64, bytes: u32) -> Option<[Pattern; 2]>;

    /// Whether all addresses lie in a memory that begins at `base`, none more than `last` bytes behind, and
    /// are multiples of a power of two. `last` is less than 2^63.
    fn inside(self, at: &Lanes64, base: u64, last: u64, align: u64) -> bool;

    /// How addresses, divided by 2^`shift`, go on from lane to lane.
    fn steps(self, at: &Lanes64, shift: u32) -> Steps;

    /// Whether the upper half's lanes have the addresses of the lower half's.
    fn repeats(self, at: &Lanes64) -> bool;

    /// Which banks of 4 bytes the addresses lie in, a bit a bank.
    fn banks(self, at: &Lanes64) -> u32;
}

/// Bits for lanes, set by comparing a lane's address with that of the lane before. Lane 0 is compared with
/// itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Steps {
    /// Its address is a different one.
    pub(crate) moves: u32,
    /// Its address is a different one even after the division by 2^`shift`.
    pub(crate) crosses: u32,
    /// Its address is lower.
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
                let behind = address.wrapping_sub(at[0]);
                row |= behind ^ (lane as u64 * u64::from(bytes));
                same |= behind;
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
        // Offsets that are too large, and differences from `last` to them, have their highest bit set.
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
