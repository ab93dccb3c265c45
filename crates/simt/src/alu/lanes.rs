//! Instructions as tables: one row says what an instruction is called, which types its operands have, and
//! what it does to one lane.
//!
//! `instructions!` makes of such a table the enumeration of its rows, the search by name, and the
//! execution on a warp.

#[cfg(test)]
pub(super) mod reference;

use crate::code::{R32, R64};
use crate::lower::{Context, Refusal};
use crate::regs::{LANES, Regs};
use ptx::ast::{Instruction, Operand};

/// The registers of an instruction, the destination first: indices into the files that its opcode implies.
pub(super) type Numbers = [u32; 6];

/// A register file.
pub(super) trait Word: Copy + Default {
    const WIDE: bool;
    fn get<'r>(regs: &'r Regs<'_>, number: u32) -> &'r [Self; LANES];
    fn set(regs: &mut Regs<'_>, number: u32, mask: u32, values: &[Self; LANES]);
}

impl Word for u32 {
    const WIDE: bool = false;
    #[inline(always)]
    fn get<'r>(regs: &'r Regs<'_>, number: u32) -> &'r [Self; LANES] {
        regs.get32(R32(number))
    }
    #[inline(always)]
    fn set(regs: &mut Regs<'_>, number: u32, mask: u32, values: &[Self; LANES]) {
        regs.set32(R32(number), mask, values);
    }
}

impl Word for u64 {
    const WIDE: bool = true;
    #[inline(always)]
    fn get<'r>(regs: &'r Regs<'_>, number: u32) -> &'r [Self; LANES] {
        regs.get64(R64(number))
    }
    #[inline(always)]
    fn set(regs: &mut Regs<'_>, number: u32, mask: u32, values: &[Self; LANES]) {
        regs.set64(R64(number), mask, values);
    }
}

/// A type of operands: how a value of it stands in a register.
pub(super) trait Lane: Copy {
    type Word: Word;
    /// What PTX calls it: it says how an immediate becomes a register's value.
    const TYPE: &'static str;
    const KIND: Kind = Kind {
        ty: Self::TYPE,
        wide: Self::Word::WIDE,
    };
    fn read(word: Self::Word) -> Self;
    fn word(self) -> Self::Word;
}

macro_rules! lane {
    ($($ty:ident in $word:ident is $name:literal: $read:expr, $write:expr;)*) => {$(
        impl Lane for $ty {
            type Word = $word;
            const TYPE: &'static str = $name;
            #[inline(always)]
            fn read(word: $word) -> Self {
                let read: fn($word) -> Self = $read;
                read(word)
            }
            #[inline(always)]
            fn word(self) -> $word {
                let write: fn(Self) -> $word = $write;
                write(self)
            }
        }
    )*};
}

lane! {
    u16 in u32 is "u16": |word| word as u16, u32::from;
    i16 in u32 is "s16": |word| word as i16, |value| u32::from(value.cast_unsigned());
    u32 in u32 is "u32": |word| word, |value| value;
    i32 in u32 is "s32": u32::cast_signed, i32::cast_unsigned;
    u64 in u64 is "u64": |word| word, |value| value;
    i64 in u64 is "s64": u64::cast_signed, i64::cast_unsigned;
}

/// What decoding has to know of an operand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    pub(super) ty: &'static str,
    pub(super) wide: bool,
}

impl Kind {
    /// The number of a register to be written.
    pub(super) fn to(
        self,
        operand: &Operand<'_>,
        cx: &mut Context<'_, '_>,
    ) -> Result<u32, Refusal> {
        Ok(match self.wide {
            true => cx.dst64(operand)?.0,
            false => cx.dst32(operand)?.0,
        })
    }

    /// The number of a register to be read.
    pub(super) fn from(
        self,
        operand: &Operand<'_>,
        cx: &mut Context<'_, '_>,
    ) -> Result<u32, Refusal> {
        Ok(match self.wide {
            true => cx.src64(operand, self.ty)?.0,
            false => cx.src32(operand, self.ty)?.0,
        })
    }
}

/// The registers of an instruction whose operands are a destination and sources of these kinds.
pub(super) fn numbers(
    inst: &Instruction<'_>,
    kinds: &[Kind],
    cx: &mut Context<'_, '_>,
) -> Result<Numbers, Refusal> {
    if inst.operands.len() != kinds.len() {
        return Err(count(inst, kinds.len(), cx));
    }
    let mut numbers = Numbers::default();
    for (at, (operand, kind)) in inst.operands.iter().zip(kinds).enumerate() {
        numbers[at] = match at {
            0 => kind.to(operand, cx)?,
            _ => kind.from(operand, cx)?,
        };
    }
    Ok(numbers)
}

/// That an instruction has too many or too few operands.
pub(super) fn count(inst: &Instruction<'_>, wanted: usize, cx: &Context<'_, '_>) -> Refusal {
    cx.invalid(format!(
        "`{}` takes {wanted} operands, not {}",
        inst.opcode,
        inst.operands.len()
    ))
}

/// A value a lane.
#[inline(always)]
pub(super) fn each<T: Copy + Default>(f: impl Fn(usize) -> T) -> [T; LANES] {
    let mut values = [T::default(); LANES];
    for (lane, value) in values.iter_mut().enumerate() {
        *value = f(lane);
    }
    values
}

/// `r[0] = f(r[1])` in each lane.
#[inline(always)]
pub(super) fn map1<A: Lane, D: Lane>(
    regs: &mut Regs<'_>,
    mask: u32,
    r: &Numbers,
    f: impl Fn(A) -> D,
) {
    let a = A::Word::get(regs, r[1]);
    let values = each(|lane| f(A::read(a[lane])).word());
    D::Word::set(regs, r[0], mask, &values);
}

/// `r[0] = f(r[1], r[2])` in each lane.
#[inline(always)]
pub(super) fn map2<A: Lane, B: Lane, D: Lane>(
    regs: &mut Regs<'_>,
    mask: u32,
    r: &Numbers,
    f: impl Fn(A, B) -> D,
) {
    let (a, b) = (A::Word::get(regs, r[1]), B::Word::get(regs, r[2]));
    let values = each(|lane| f(A::read(a[lane]), B::read(b[lane])).word());
    D::Word::set(regs, r[0], mask, &values);
}

/// `r[0] = f(r[1], r[2], r[3])` in each lane.
#[inline(always)]
pub(super) fn map3<A: Lane, B: Lane, C: Lane, D: Lane>(
    regs: &mut Regs<'_>,
    mask: u32,
    r: &Numbers,
    f: impl Fn(A, B, C) -> D,
) {
    let (a, b) = (A::Word::get(regs, r[1]), B::Word::get(regs, r[2]));
    let c = C::Word::get(regs, r[3]);
    let values = each(|lane| f(A::read(a[lane]), B::read(b[lane]), C::read(c[lane])).word());
    D::Word::set(regs, r[0], mask, &values);
}

/// `r[0] = f(r[1], r[2], r[3], r[4])` in each lane.
#[inline(always)]
pub(super) fn map4<A: Lane, B: Lane, C: Lane, E: Lane, D: Lane>(
    regs: &mut Regs<'_>,
    mask: u32,
    r: &Numbers,
    f: impl Fn(A, B, C, E) -> D,
) {
    let (a, b) = (A::Word::get(regs, r[1]), B::Word::get(regs, r[2]));
    let (c, e) = (C::Word::get(regs, r[3]), E::Word::get(regs, r[4]));
    let values = each(|lane| {
        f(
            A::read(a[lane]),
            B::read(b[lane]),
            C::read(c[lane]),
            E::read(e[lane]),
        )
        .word()
    });
    D::Word::set(regs, r[0], mask, &values);
}

/// A mask of the lanes for which `f` holds.
#[inline(always)]
pub(super) fn lanes_where(f: impl Fn(usize) -> bool) -> u32 {
    // Bytes of all ones or none: compilers narrow the comparisons' own results to them.
    pack(each(|lane| if f(lane) { u8::MAX } else { 0 }))
}

#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
#[inline(always)]
fn pack(bytes: [u8; LANES]) -> u32 {
    use std::arch::x86_64::{__m128i, _mm_movemask_epi8};
    let [low, high]: [__m128i; 2] = bytemuck::cast(bytes);
    // SAFETY: the two want SSE2, which the whole crate is compiled for where this is.
    let (low, high) = unsafe { (_mm_movemask_epi8(low), _mm_movemask_epi8(high)) };
    low.cast_unsigned() | high.cast_unsigned() << 16
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
#[inline(always)]
fn pack(bytes: [u8; LANES]) -> u32 {
    let bits = bytes.iter().enumerate();
    bits.fold(0, |mask, (lane, byte)| mask | u32::from(byte & 1) << lane)
}

/// All ones if the mask has this lane, else zero.
#[inline(always)]
pub(super) fn ones32(mask: u32, lane: usize) -> u32 {
    // Not `mask >> lane & 1`: compilers make a shift for each lane of it, and no vector.
    if mask & 1 << lane != 0 { u32::MAX } else { 0 }
}

/// The same for 64 bits.
#[inline(always)]
pub(super) fn ones64(mask: u32, lane: usize) -> u64 {
    if u64::from(mask) & 1 << lane != 0 {
        u64::MAX
    } else {
        0
    }
}

/// See the module.
macro_rules! instructions {
    (
        $(#[$doc:meta])*
        enum $Op:ident;
        $($($name:literal)|+ => $row:ident($($arg:ident: $A:ty),+) -> $D:ty $body:block)*
        also { $($also:ident),* $(,)? }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum $Op {
            $($row,)*
            $($also,)*
        }

        impl $Op {
            /// The row of this opcode, and the kinds of its operands.
            pub(super) fn named(
                opcode: &str,
            ) -> Option<($Op, &'static [$crate::alu::lanes::Kind])> {
                use $crate::alu::lanes::Lane;
                Some(match opcode {
                    $($($name)|+ => ($Op::$row, &[<$D>::KIND, $(<$A>::KIND),+]),)*
                    _ => return None,
                })
            }

            /// Runs a row on the lanes of `mask`; `false` if the instruction stands under `also`.
            #[inline(always)]
            pub(super) fn map(
                self,
                r: &$crate::alu::lanes::Numbers,
                regs: &mut $crate::regs::Regs<'_>,
                mask: u32,
            ) -> bool {
                match self {
                    $($Op::$row => {
                        // Not a closure: of those, some stay calls in a function as large as this one
                        // is part of.
                        #[inline(always)]
                        fn row($($arg: $A),+) -> $D $body
                        $crate::alu::lanes::map!(regs, mask, r, row, $($arg)+);
                    })*
                    #[allow(unreachable_patterns, reason = "a table may have nothing else")]
                    _ => return false,
                }
                true
            }
        }
    };
}

/// A function that runs a table's most frequent rows on all lanes, and says whether the instruction is one of
/// them: small enough to be part of the loop that executes.
macro_rules! usual {
    ($($row:ident)+) => {
        /// Runs it on all lanes, if it is one of the most frequent.
        #[inline(always)]
        pub(crate) fn usual(&self, regs: &mut Regs<'_>) -> bool {
            match self.op {
                $(Op::$row => Op::$row.map(&self.r, regs, $crate::regs::ALL),)+
                _ => false,
            }
        }
    };
}

/// Calls the one of the four functions that takes so many arguments.
macro_rules! map {
    ($regs:expr, $mask:expr, $r:expr, $f:expr, $a:ident) => {
        $crate::alu::lanes::map1($regs, $mask, $r, $f)
    };
    ($regs:expr, $mask:expr, $r:expr, $f:expr, $a:ident $b:ident) => {
        $crate::alu::lanes::map2($regs, $mask, $r, $f)
    };
    ($regs:expr, $mask:expr, $r:expr, $f:expr, $a:ident $b:ident $c:ident) => {
        $crate::alu::lanes::map3($regs, $mask, $r, $f)
    };
    ($regs:expr, $mask:expr, $r:expr, $f:expr, $a:ident $b:ident $c:ident $e:ident) => {
        $crate::alu::lanes::map4($regs, $mask, $r, $f)
    };
}

pub(super) use {instructions, map, usual};
