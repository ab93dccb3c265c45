//! The hot parts of the machine, compiled once for any CPU and once for CPUs with AVX2: registers-only
//! instructions, loads and stores, and what those cost.
//!
//! They are `#[inline(always)]` where they are written, and functions here, that take on the instruction
//! set's features. Nothing in them depends on the observer of a launch, so that they are compiled in this
//! crate only.

#[cfg(target_arch = "x86_64")]
mod avx2;

use std::sync::LazyLock;

use crate::alu::{Alu, compare, convert, float, int, logic};
use crate::code::{Inst, Op};
use crate::counters::memory as traffic;
use crate::counters::memory::{Banks, Global, Shared};
use crate::memory::load_store::{Load, Store};
use crate::memory::{AccessFault, Env, Memory, Reached};
use crate::regs::{ALL, LANES, Lanes64, Regs};

/// Lanes of half a warp: what a row of a block that is 16 threads wide has.
pub(crate) const HALF: usize = LANES / 2;

/// How the addresses of half a warp's lanes follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// Each lane's bytes lie behind those of the lane before.
    Row,
    /// All lanes have the same address.
    Same,
}

/// What compilers do not make good vector code of.
pub(crate) trait Vectors {
    /// The patterns of both halves of a warp whose lanes access `bytes` bytes each, if both have one.
    fn patterns(at: &Lanes64, bytes: u32) -> Option<[Pattern; 2]>;

    /// Whether all addresses lie in a memory that begins at `base`, none more than `last` bytes behind, and
    /// are multiples of a power of two. `last` is less than 2^63.
    fn inside(at: &Lanes64, base: u64, last: u64, align: u64) -> bool;

    /// How addresses, divided by 2^`shift`, go on from lane to lane.
    fn steps(at: &Lanes64, shift: u32) -> Steps;

    /// Whether the upper half's lanes have the addresses of the lower half's.
    fn repeats(at: &Lanes64) -> bool;

    /// Which banks of 4 bytes the addresses lie in, a bit a bank.
    fn banks(at: &Lanes64) -> u32;
}

/// Bits for lanes, set by comparing a lane's address with that of the lane before. Lane 0 is compared with
/// itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Steps {
    /// It is another one.
    pub(crate) moves: u32,
    /// It is another one even when it is divided.
    pub(crate) crosses: u32,
    /// It is less.
    pub(crate) descends: u32,
}

/// For any CPU.
pub(crate) struct Portable;

impl Vectors for Portable {
    #[inline(always)]
    fn patterns(at: &Lanes64, bytes: u32) -> Option<[Pattern; 2]> {
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
    fn inside(at: &Lanes64, base: u64, last: u64, align: u64) -> bool {
        // Offsets that are too large, and what is left behind them, have their highest bit set.
        let (mut high, mut low) = (0, 0);
        for at in at {
            let offset = at.wrapping_sub(base);
            high |= offset | last.wrapping_sub(offset);
            low |= at;
        }
        high >> 63 == 0 && low & (align - 1) == 0
    }

    #[inline(always)]
    fn steps(at: &Lanes64, shift: u32) -> Steps {
        let mut steps = Steps {
            moves: 0,
            crosses: 0,
            descends: 0,
        };
        for lane in 1..LANES {
            let (now, before) = (at[lane], at[lane - 1]);
            steps.moves |= u32::from(now != before) << lane;
            steps.crosses |= u32::from(now >> shift != before >> shift) << lane;
            steps.descends |= u32::from(now < before) << lane;
        }
        steps
    }

    #[inline(always)]
    fn repeats(at: &Lanes64) -> bool {
        at[..HALF] == at[HALF..]
    }

    #[inline(always)]
    fn banks(at: &Lanes64) -> u32 {
        at.iter().fold(0, |banks, at| banks | 1 << (at / 4 % 32))
    }
}

/// Runs instructions from `code` on, up to the first that is not of this kind, and says how many.
type Run = fn(code: &[Inst], regs: &mut Regs<'_>, mask: u32) -> usize;

/// Runs a load or a store on the lanes of a mask, of which there is at least one, and leaves their
/// addresses.
type Transfer<T> = fn(&T, &mut Env<'_, '_>, u32, &mut Lanes64) -> Result<Reached, AccessFault>;

/// What is compiled for one instruction set.
#[derive(Debug)]
pub(crate) struct Isa {
    pub(crate) alu: Run,
    /// Runs what `alu`, `load` and `store` do, up to an instruction that is none of these, faults, or has
    /// addresses in several spaces; and says how many. What stopped it has done nothing yet.
    pub(crate) unwatched: fn(&[Inst], &mut Env<'_, '_>, u32, &mut Lanes64) -> usize,
    pub(crate) load: Transfer<Load>,
    pub(crate) store: Transfer<Store>,
    pub(crate) global: fn(u32, u32, &Lanes64) -> Global,
    pub(crate) shared: fn(bool, u32, u32, &Lanes64, &mut Banks) -> Shared,
}

/// The functions. Each family of instructions is one of its own: all in one would take the compiler
/// minutes.
macro_rules! version {
    ($name:ident, $vectors:ty $(, #[$features:meta])?) => {
        mod $name {
            use super::*;

            version!(@family int(int::Int) $(, #[$features])?);
            version!(@family logic(logic::Logic) $(, #[$features])?);
            version!(@family float(float::Float) $(, #[$features])?);
            version!(@family convert(convert::Convert) $(, #[$features])?);
            version!(@family compare(compare::Compare) $(, #[$features])?);
            version!(@transfer load(Load, $vectors) $(, #[$features])?);
            version!(@transfer store(Store, $vectors) $(, #[$features])?);

            $(#[$features])?
            pub(super) fn global(bytes: u32, mask: u32, at: &Lanes64) -> Global {
                traffic::global::<$vectors>(bytes, mask, at)
            }

            $(#[$features])?
            pub(super) fn shared(
                store: bool,
                bytes: u32,
                mask: u32,
                at: &Lanes64,
                banks: &mut Banks,
            ) -> Shared {
                traffic::shared::<$vectors>(store, bytes, mask, at, banks)
            }

            $(#[$features])?
            #[inline]
            fn one(alu: &Alu, regs: &mut Regs<'_>, mask: u32) {
                // The most frequent ones are part of the loops; a call costs as much as they do.
                match alu {
                    Alu::Int(op) if mask == ALL && op.usual(regs) => {}
                    Alu::Logic(op) if mask == ALL && op.usual(regs) => {}
                    Alu::Float(op) if mask == ALL && op.usual(regs) => {}
                    Alu::Convert(op) if mask == ALL && op.usual(regs) => {}
                    Alu::Int(op) => int(op, regs, mask),
                    Alu::Logic(op) => logic(op, regs, mask),
                    Alu::Float(op) => float(op, regs, mask),
                    Alu::Convert(op) => convert(op, regs, mask),
                    Alu::Compare(op) => compare(op, regs, mask),
                }
            }

            $(#[$features])?
            pub(super) fn alu(code: &[Inst], regs: &mut Regs<'_>, mask: u32) -> usize {
                for (count, inst) in code.iter().enumerate() {
                    let Op::Alu(alu) = &inst.op else { return count };
                    let mask = regs.guarded(inst.guard, mask);
                    if mask != 0 {
                        one(alu, regs, mask);
                    }
                }
                code.len()
            }

            $(#[$features])?
            pub(super) fn unwatched(
                code: &[Inst],
                env: &mut Env<'_, '_>,
                mask: u32,
                at: &mut Lanes64,
            ) -> usize {
                for (count, inst) in code.iter().enumerate() {
                    let mask = env.regs.guarded(inst.guard, mask);
                    let done = match &inst.op {
                        Op::Alu(alu) => {
                            if mask != 0 {
                                one(alu, &mut env.regs, mask);
                            }
                            true
                        }
                        Op::Memory(Memory::Load(op)) => {
                            mask == 0 || matches!(load(op, env, mask, at), Ok(Reached::One(_)))
                        }
                        Op::Memory(Memory::Store(op)) => {
                            mask == 0 || matches!(store(op, env, mask, at), Ok(Reached::One(_)))
                        }
                        _ => false,
                    };
                    if !done {
                        return count;
                    }
                }
                code.len()
            }
        }
    };
    (@family $family:ident($op:ty) $(, #[$features:meta])?) => {
        $(#[$features])?
        #[inline(never)]
        fn $family(op: &$op, regs: &mut Regs<'_>, mask: u32) {
            op.execute(regs, mask);
        }
    };
    (@transfer $transfer:ident($op:ty, $vectors:ty) $(, #[$features:meta])?) => {
        $(#[$features])?
        pub(super) fn $transfer(
            op: &$op,
            env: &mut Env<'_, '_>,
            mask: u32,
            at: &mut Lanes64,
        ) -> Result<Reached, AccessFault> {
            op.execute::<$vectors>(env, mask, at)
        }
    };
}

version!(portable, Portable);
#[cfg(target_arch = "x86_64")]
version!(with_avx2, avx2::Avx2, #[target_feature(enable = "avx2,bmi1,bmi2,fma,lzcnt,popcnt")]);

/// The versions that this CPU runs, the best last.
pub(crate) fn versions() -> &'static [Isa] {
    static VERSIONS: LazyLock<Vec<Isa>> = LazyLock::new(|| {
        #[allow(unused_mut, reason = "other CPUs have this one only")]
        let mut versions = vec![Isa {
            alu: portable::alu,
            unwatched: portable::unwatched,
            load: portable::load,
            store: portable::store,
            global: portable::global,
            shared: portable::shared,
        }];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt")
        {
            versions.push(Isa {
                // SAFETY: the CPU has what the function is compiled for.
                alu: |code, regs, mask| unsafe { with_avx2::alu(code, regs, mask) },
                // SAFETY: as above.
                unwatched: |code, env, mask, at| unsafe {
                    with_avx2::unwatched(code, env, mask, at)
                },
                // SAFETY: as above.
                load: |op, env, mask, at| unsafe { with_avx2::load(op, env, mask, at) },
                // SAFETY: as above.
                store: |op, env, mask, at| unsafe { with_avx2::store(op, env, mask, at) },
                // SAFETY: as above.
                global: |bytes, mask, at| unsafe { with_avx2::global(bytes, mask, at) },
                shared: |store, bytes, mask, at, banks| {
                    // SAFETY: as above.
                    unsafe { with_avx2::shared(store, bytes, mask, at, banks) }
                },
            });
        }
        versions
    });
    &VERSIONS
}

/// The best version for this CPU.
pub(crate) fn best() -> &'static Isa {
    versions().last().expect("the portable one is always there")
}
