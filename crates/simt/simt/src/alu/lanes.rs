//! Instruction tables. A row contains an instruction's name, the dependence of the result's bits on the operands
//! ([`Dependence`]), the operands' types, and the operation on one lane. If rows differ only in a type, they form a
//! family, which defines one operation for all of its rows.
//!
//! From such a table, `instructions!` generates the enumeration of the rows, the lookup by name, the dependence, and
//! the execution on a warp.

use std::ops::{BitOr, Shl, Shr};

use crate::regs::{LANES, R32, R64, Register, Regs};

/// The registers of an instruction, destination first: indices into the register files that the opcode implies.
pub(crate) type RegisterNumbers = [u32; 6];

/// A word of a register file.
pub(crate) trait Word:
    Copy + Default + From<u32> + BitOr<Output = Self> + Shl<u32, Output = Self> + Shr<u32, Output = Self>
{
    const WIDE: bool;
    /// Returns the lowest 32 bits.
    fn low(self) -> u32;
    fn get<'r>(regs: &'r Regs<'_>, number: u32) -> &'r [Self; LANES];
    fn set(regs: &mut Regs<'_>, number: u32, mask: u32, values: &[Self; LANES]);
}

macro_rules! word {
    ($($word:ident in $register:ident, $wide:literal;)*) => {$(
        impl Word for $word {
            const WIDE: bool = $wide;
            #[inline(always)]
            fn low(self) -> u32 {
                self as u32
            }
            #[inline(always)]
            fn get<'r>(regs: &'r Regs<'_>, number: u32) -> &'r [Self; LANES] {
                $register(number).get(regs)
            }
            #[inline(always)]
            fn set(regs: &mut Regs<'_>, number: u32, mask: u32, values: &[Self; LANES]) {
                $register(number).set(regs, mask, values);
            }
        }
    )*};
}

word! {
    u32 in R32, false;
    u64 in R64, true;
}

/// An operand type: how a value of the type is stored in a register.
pub(crate) trait LaneType: Copy {
    type Word: Word;
    /// The type's name in PTX; it determines how an immediate becomes a register's value.
    const TYPE: &'static str;
    const KIND: OperandKind = OperandKind { ty: Self::TYPE, wide: Self::Word::WIDE };
    fn read(word: Self::Word) -> Self;
    fn word(self) -> Self::Word;
}

macro_rules! lane {
    ($($ty:ident in $word:ident is $name:literal: $read:expr, $write:expr;)*) => {$(
        impl LaneType for $ty {
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

/// The operand types, under their PTX names.
#[allow(non_camel_case_types, reason = "PTX's names")]
pub(super) mod named {
    pub(in crate::alu) type s16 = i16;
    pub(in crate::alu) type s32 = i32;
    pub(in crate::alu) type s64 = i64;
    pub(in crate::alu) type b16 = u16;
    pub(in crate::alu) type b32 = u32;
    pub(in crate::alu) type b64 = u64;
}

/// The properties of an operand that decoding needs.
#[derive(Debug, Clone, Copy)]
pub struct OperandKind {
    pub(crate) ty: &'static str,
    /// Whether the operand is a 64-bit register.
    pub wide: bool,
}

/// Returns `f(lane)` for each lane.
#[inline(always)]
pub(super) fn each<T: Copy + Default, const N: usize>(f: impl Fn(usize) -> T) -> [T; N] {
    let mut values = [T::default(); N];
    for (lane, value) in values.iter_mut().enumerate() {
        *value = f(lane);
    }
    values
}

/// Sets `to = f(from)` in each lane.
#[inline(always)]
pub(super) fn map<D: Register, S: Register>(
    regs: &mut Regs<'_>,
    mask: u32,
    to: D,
    from: S,
    f: impl Fn(S::Value) -> D::Value,
) {
    let from = from.get(regs);
    let values = each(|lane| f(from[lane]));
    to.set(regs, mask, &values);
}

/// Sets `to = f(a, b, c)` in each lane, for registers of one width.
#[inline(always)]
pub(super) fn map3<R: Register>(
    regs: &mut Regs<'_>,
    mask: u32,
    to: R,
    [a, b, c]: [R; 3],
    f: impl Fn(R::Value, R::Value, R::Value) -> R::Value,
) {
    let (a, b, c) = (a.get(regs), b.get(regs), c.get(regs));
    let values = each(|lane| f(a[lane], b[lane], c[lane]));
    to.set(regs, mask, &values);
}

/// Returns the mask of the lanes for which `f` holds.
#[inline(always)]
pub(super) fn lanes_where(f: impl Fn(usize) -> bool) -> u32 {
    // Each byte is all ones or zero, because compilers narrow comparison results to such bytes.
    pack(each(|lane| if f(lane) { u8::MAX } else { 0 }))
}

#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
#[inline(always)]
fn pack(bytes: [u8; LANES]) -> u32 {
    use std::arch::x86_64::{__m128i, _mm_movemask_epi8};
    let [low, high]: [__m128i; 2] = bytemuck::cast(bytes);
    // SAFETY: both calls need SSE2, and this function exists only if the whole crate is compiled with SSE2.
    let (low, high) = unsafe { (_mm_movemask_epi8(low), _mm_movemask_epi8(high)) };
    low.cast_unsigned() | high.cast_unsigned() << 16
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
#[inline(always)]
fn pack(bytes: [u8; LANES]) -> u32 {
    let bits = bytes.iter().enumerate();
    bits.fold(0, |mask, (lane, byte)| mask | u32::from(byte & 1) << lane)
}

/// Returns all ones if the mask contains the lane, otherwise zero.
#[inline(always)]
pub(super) fn ones32(mask: u32, lane: usize) -> u32 {
    // This is not `mask >> lane & 1`, because compilers emit one scalar shift per lane for that expression instead of
    // vector code.
    if mask & 1 << lane != 0 { u32::MAX } else { 0 }
}

/// Returns 64 ones if the mask contains the lane, otherwise zero.
#[inline(always)]
pub(super) fn ones64(mask: u32, lane: usize) -> u64 {
    if u64::from(mask) & 1 << lane != 0 { u64::MAX } else { 0 }
}

/// The kinds of a row's operands, destination first.
macro_rules! kinds {
    (($($arg:ident: $A:ty),+) $D:ty) => {
        &[<$D as $crate::alu::lanes::LaneType>::KIND, $(<$A as $crate::alu::lanes::LaneType>::KIND),+]
    };
}

/// Runs a row on the lanes of a mask.
macro_rules! run {
    ($r:ident $regs:ident $mask:ident ($($arg:ident: $A:ty),+) $D:ty, $body:block) => {{
        // This is not a closure, because the compiler does not inline some closures into a function as large as the
        // caller.
        #[inline(always)]
        fn row($($arg: $A),+) -> $D $body
        let [to, $($arg,)+ ..] = *$r;
        $(let $arg = <<$A as LaneType>::Word as Word>::get($regs, $arg);)+
        let values = each(|lane| row($(<$A>::read($arg[lane])),+).word());
        <<$D as LaneType>::Word as Word>::set($regs, to, $mask, &values);
    }};
}

/// Generates an enumeration, a lookup by name and the execution on a warp from a table: see the module documentation.
///
/// The families of rows come first. Each row of a family contains a name, its type (`T` in the operation), and other
/// types that share the row. The opcode is the family's name followed by the type.
macro_rules! instructions {
    (
        $(#[$doc:meta])*
        enum $Op:ident;
        $($family:literal $how:ident [$($row:ident $T:ident $($same:ident)*),+] => $args:tt -> $D:ty $body:block)*
        single:
        $($($name:literal)|+ $one_how:ident => $one:ident $one_args:tt -> $one_D:ty $one_body:block)*
        also { $($also:ident),* $(,)? }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the variants are PTX opcodes and types")]
        pub enum $Op {
            $($($row,)+)*
            $($one,)*
            $($also,)*
        }

        impl $Op {
            /// Returns the row of this opcode, and the kinds of its operands.
            pub(crate) fn named(
                opcode: &str,
            ) -> Option<($Op, &'static [$crate::alu::lanes::OperandKind])> {
                type Rows = std::collections::HashMap<&'static str, ($Op, &'static [$crate::alu::lanes::OperandKind])>;
                static ROWS: std::sync::LazyLock<Rows> = std::sync::LazyLock::new(|| {
                    let mut rows = Rows::new();
                    $($({
                        type T = $T;
                        let row = ($Op::$row, $crate::alu::lanes::kinds!($args $D) as &[_]);
                        rows.insert(concat!($family, ".", stringify!($T)), row);
                        $(rows.insert(concat!($family, ".", stringify!($same)), row);)*
                    })+)*
                    $($(rows.insert($name, ($Op::$one, $crate::alu::lanes::kinds!($one_args $one_D)));)+)*
                    rows
                });
                ROWS.get(opcode).copied()
            }

            /// Returns how the bits of the result depend on the operands, and the kinds of the result and of the
            /// operands. Returns `None` if the instruction is listed under `also`.
            pub fn dependence(self) -> Option<($crate::alu::Dependence, &'static [$crate::alu::OperandKind])> {
                use $crate::alu::{Dependence, lanes::kinds};
                match self {
                    $($($Op::$row => {
                        type T = $T;
                        Some((Dependence::$how, kinds!($args $D)))
                    })+)*
                    $($Op::$one => Some((Dependence::$one_how, kinds!($one_args $one_D))),)*
                    $($Op::$also => None,)*
                }
            }

            /// Runs a row on the lanes of `mask`. Returns `false` if the instruction is listed under `also`.
            #[inline(always)]
            pub(super) fn map(
                self,
                r: &$crate::alu::lanes::RegisterNumbers,
                regs: &mut $crate::regs::Regs<'_>,
                mask: u32,
            ) -> bool {
                use $crate::alu::lanes::{LaneType, Word, each};
                match self {
                    $($($Op::$row => {
                        type T = $T;
                        $crate::alu::lanes::run!(r regs mask $args $D, $body);
                    })+)*
                    $($Op::$one => $crate::alu::lanes::run!(r regs mask $one_args $one_D, $one_body),)*
                    #[allow(unreachable_patterns, reason = "the `also` list may be empty")]
                    _ => return false,
                }
                true
            }
        }
    };
}

/// Generates a function that runs a table's most frequent rows on all lanes, and returns whether the instruction is one
/// of them. The function is small enough to be inlined into the execution loop.
macro_rules! fast_path {
    ($($row:ident)+) => {
        /// Runs the instruction on all lanes, if it is one of the most frequent instructions.
        #[inline(always)]
        pub(crate) fn fast_path(&self, regs: &mut Regs<'_>) -> bool {
            match self.op {
                $(Op::$row => Op::$row.map(&self.r, regs, $crate::regs::ALL),)+
                _ => false,
            }
        }
    };
}

pub(super) use {fast_path, instructions, kinds, run};
