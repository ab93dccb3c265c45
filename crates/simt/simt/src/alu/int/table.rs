//! The instructions with one result per lane.
//!
//! If the sign makes no difference, signed and unsigned types of one width share a row.

use super::bits::{Extract, bmsk, fns, insert32, insert64, szext, top_bit, top_shift};
use super::divide::{quotient, quotient_s, remainder, remainder_s};
use super::packed::{bytes_s, bytes_u, dot, halves_s, halves_u, pair_s, pair_u};
use super::wide::{Wide, mul24_s, mul24_u};
use crate::alu::lanes::instructions;
use crate::alu::lanes::named::{b32, b64, s16, s32, s64};

instructions! {
    /// The operations.
    enum Op;

    "add" Upwards [Add16 u16 s16, Add32 u32 s32, Add64 u64 s64] => (a: T, b: T) -> T { a.wrapping_add(b) }
    "sub" Upwards [Sub16 u16 s16, Sub32 u32 s32, Sub64 u64 s64] => (a: T, b: T) -> T { a.wrapping_sub(b) }
    "mul.lo" Upwards [Mul16 u16 s16, Mul32 u32 s32, Mul64 u64 s64] => (a: T, b: T) -> T { a.wrapping_mul(b) }
    "mul.hi" All [MulHiU16 u16, MulHiS16 s16, MulHiU32 u32, MulHiS32 s32, MulHiU64 u64, MulHiS64 s64]
        => (a: T, b: T) -> T { a.high(b) }
    "mul.wide" Upwards [MulWideU16 u16, MulWideS16 s16, MulWideU32 u32, MulWideS32 s32]
        => (a: T, b: T) -> <T as Wide>::Product { a.wide(b) }
    "mad.lo" Upwards [Mad16 u16 s16, Mad32 u32 s32, Mad64 u64 s64]
        => (a: T, b: T, c: T) -> T { a.wrapping_mul(b).wrapping_add(c) }
    "mad.hi" All [MadHiU16 u16, MadHiS16 s16, MadHiU32 u32, MadHiS32 s32, MadHiU64 u64, MadHiS64 s64]
        => (a: T, b: T, c: T) -> T { a.high(b).wrapping_add(c) }
    "mad.wide" Upwards [MadWideU16 u16, MadWideS16 s16, MadWideU32 u32, MadWideS32 s32]
        => (a: T, b: T, c: <T as Wide>::Product) -> <T as Wide>::Product { a.wide(b).wrapping_add(c) }
    "sad" All [SadU16 u16, SadU32 u32, SadU64 u64] => (a: T, b: T, c: T) -> T { c.wrapping_add(a.abs_diff(b)) }
    "sad" All [SadS16 s16, SadS32 s32, SadS64 s64] => (a: T, b: T, c: T) -> T { c.wrapping_add_unsigned(a.abs_diff(b)) }
    "abs" All [Abs16 s16, Abs32 s32, Abs64 s64] => (a: T) -> T { a.wrapping_abs() }
    "neg" Upwards [Neg16 s16, Neg32 s32, Neg64 s64] => (a: T) -> T { a.wrapping_neg() }
    "min" All [MinU16 u16, MinS16 s16, MinU32 u32, MinS32 s32, MinU64 u64, MinS64 s64] => (a: T, b: T) -> T { a.min(b) }
    "max" All [MaxU16 u16, MaxS16 s16, MaxU32 u32, MaxS32 s32, MaxU64 u64, MaxS64 s64] => (a: T, b: T) -> T { a.max(b) }
    "popc" All [Popc32 b32, Popc64 b64] => (a: T) -> u32 { a.count_ones() }
    "clz" All [Clz32 b32, Clz64 b64] => (a: T) -> u32 { a.leading_zeros() }
    "brev" MovesOne [Brev32 b32, Brev64 b64] => (a: T) -> T { a.reverse_bits() }
    "bfind" All [BfindU32 u32, BfindU64 u64] => (a: T) -> u32 { top_bit(a.leading_zeros(), T::BITS - 1) }
    "bfind" All [BfindS32 s32, BfindS64 s64]
        => (a: T) -> u32 { top_bit((a ^ a >> (T::BITS - 1)).leading_zeros(), T::BITS - 1) }
    "bfind.shiftamt" All [BfindShiftU32 u32, BfindShiftU64 u64]
        => (a: T) -> u32 { top_shift(a.leading_zeros(), T::BITS - 1) }
    "bfind.shiftamt" All [BfindShiftS32 s32, BfindShiftS64 s64]
        => (a: T) -> u32 { top_shift((a ^ a >> (T::BITS - 1)).leading_zeros(), T::BITS - 1) }
    "bfe" MovesOne [BfeU32 u32, BfeS32 s32, BfeU64 u64, BfeS64 s64]
        => (a: T, at: u32, length: u32) -> T { a.extract(at, length) }

    single:
    "add.sat.s32" All => AddSat(a: i32, b: i32) -> i32 { a.saturating_add(b) }
    "add.u16x2" | "add.s16x2" All => Add16x2(a: u32, b: u32) -> u32 { halves_u(a, b, u16::wrapping_add) }
    "sub.sat.s32" All => SubSat(a: i32, b: i32) -> i32 { a.saturating_sub(b) }
    "mad.hi.sat.s32" All => MadHiSat(a: i32, b: i32, c: i32) -> i32 { a.high(b).saturating_add(c) }
    "mul24.lo.u32" All => Mul24LoU(a: u32, b: u32) -> u32 { mul24_u(a, b) as u32 }
    "mul24.lo.s32" All => Mul24LoS(a: i32, b: i32) -> i32 { mul24_s(a, b) as i32 }
    "mul24.hi.u32" All => Mul24HiU(a: u32, b: u32) -> u32 { (mul24_u(a, b) >> 16) as u32 }
    "mul24.hi.s32" All => Mul24HiS(a: i32, b: i32) -> i32 { (mul24_s(a, b) >> 16) as i32 }
    "mad24.lo.u32" All => Mad24LoU(a: u32, b: u32, c: u32) -> u32 { (mul24_u(a, b) as u32).wrapping_add(c) }
    "mad24.lo.s32" All => Mad24LoS(a: i32, b: i32, c: i32) -> i32 { (mul24_s(a, b) as i32).wrapping_add(c) }
    "mad24.hi.u32" All => Mad24HiU(a: u32, b: u32, c: u32) -> u32 { ((mul24_u(a, b) >> 16) as u32).wrapping_add(c) }
    "mad24.hi.s32" All => Mad24HiS(a: i32, b: i32, c: i32) -> i32 { ((mul24_s(a, b) >> 16) as i32).wrapping_add(c) }
    "mad24.hi.sat.s32" All => Mad24HiSat(a: i32, b: i32, c: i32) -> i32 { ((mul24_s(a, b) >> 16) as i32).saturating_add(c) }

    "div.u16" All => DivU16(a: u16, b: u16) -> u16 { quotient(a.into(), b.into()) as u16 }
    "div.s16" All => DivS16(a: i16, b: i16) -> i16 { quotient_s(a.into(), b.into()) as i16 }
    "div.u32" All => DivU32(a: u32, b: u32) -> u32 { quotient(a, b) }
    "div.s32" All => DivS32(a: i32, b: i32) -> i32 { quotient_s(a, b) }
    "div.u64" All => DivU64(a: u64, b: u64) -> u64 { if b == 0 { u64::MAX } else { a.wrapping_div(b) } }
    "div.s64" All => DivS64(a: i64, b: i64) -> i64 { if b == 0 { -1 } else { a.wrapping_div(b) } }
    "rem.u16" All => RemU16(a: u16, b: u16) -> u16 { remainder(a.into(), b.into()) as u16 }
    "rem.s16" All => RemS16(a: i16, b: i16) -> i16 { remainder_s(a.into(), b.into()) as i16 }
    "rem.u32" All => RemU32(a: u32, b: u32) -> u32 { remainder(a, b) }
    "rem.s32" All => RemS32(a: i32, b: i32) -> i32 { remainder_s(a, b) }
    "rem.u64" All => RemU64(a: u64, b: u64) -> u64 { if b == 0 { u64::MAX } else { a.wrapping_rem(b) } }
    "rem.s64" All => RemS64(a: i64, b: i64) -> i64 { if b == 0 { -1 } else { a.wrapping_rem(b) } }

    "min.relu.s32" All => MinRelu(a: i32, b: i32) -> i32 { a.min(b).max(0) }
    "min.u16x2" All => MinU16x2(a: u32, b: u32) -> u32 { halves_u(a, b, u16::min) }
    "min.s16x2" All => MinS16x2(a: u32, b: u32) -> u32 { halves_s(a, b, i16::min) }
    "min.relu.s16x2" All => MinRelu16x2(a: u32, b: u32) -> u32 { halves_s(a, b, |a, b| a.min(b).max(0)) }
    "max.relu.s32" All => MaxRelu(a: i32, b: i32) -> i32 { a.max(b).max(0) }
    "max.u16x2" All => MaxU16x2(a: u32, b: u32) -> u32 { halves_u(a, b, u16::max) }
    "max.s16x2" All => MaxS16x2(a: u32, b: u32) -> u32 { halves_s(a, b, i16::max) }
    "max.relu.s16x2" All => MaxRelu16x2(a: u32, b: u32) -> u32 { halves_s(a, b, |a, b| a.max(b).max(0)) }

    "bfi.b32" MovesTwo => Bfi32(a: u32, b: u32, at: u32, length: u32) -> u32 { insert32(a, b, at, length) }
    "bfi.b64" MovesTwo => Bfi64(a: u64, b: u64, at: u32, length: u32) -> u64 { insert64(a, b, at, length) }
    "fns.b32" All => Fns(mask: u32, base: u32, offset: i32) -> u32 { fns(mask, base, offset) }
    "bmsk.clamp.b32" All => BmskClamp(a: u32, b: u32) -> u32 { bmsk(a, b, true) }
    "szext.clamp.u32" MovesOne => SzextClampU(a: u32, b: u32) -> u32 { szext(a, b, true, false) }
    "szext.clamp.s32" MovesOne => SzextClampS(a: u32, b: u32) -> u32 { szext(a, b, true, true) }
    "bmsk.wrap.b32" All => BmskWrap(a: u32, b: u32) -> u32 { bmsk(a, b, false) }
    "szext.wrap.u32" MovesOne => SzextWrapU(a: u32, b: u32) -> u32 { szext(a, b, false, false) }
    "szext.wrap.s32" MovesOne => SzextWrapS(a: u32, b: u32) -> u32 { szext(a, b, false, true) }

    "dp4a.u32.u32" All => Dp4aUU(a: u32, b: u32, c: u32) -> u32 { c.wrapping_add(dot(bytes_u(a), bytes_u(b))) }
    "dp4a.u32.s32" All => Dp4aUS(a: u32, b: u32, c: u32) -> u32 { c.wrapping_add(dot(bytes_u(a), bytes_s(b))) }
    "dp4a.s32.u32" All => Dp4aSU(a: u32, b: u32, c: u32) -> u32 { c.wrapping_add(dot(bytes_s(a), bytes_u(b))) }
    "dp4a.s32.s32" All => Dp4aSS(a: u32, b: u32, c: u32) -> u32 { c.wrapping_add(dot(bytes_s(a), bytes_s(b))) }
    "dp2a.lo.u32.u32" All => Dp2aLoUU(a: u32, b: u32, c: u32) -> u32 { c.wrapping_add(dot(pair_u(a), bytes_u(b))) }
    "dp2a.lo.u32.s32" All => Dp2aLoUS(a: u32, b: u32, c: u32) -> u32 { c.wrapping_add(dot(pair_u(a), bytes_s(b))) }
    "dp2a.lo.s32.u32" All => Dp2aLoSU(a: u32, b: u32, c: u32) -> u32 { c.wrapping_add(dot(pair_s(a), bytes_u(b))) }
    "dp2a.lo.s32.s32" All => Dp2aLoSS(a: u32, b: u32, c: u32) -> u32 { c.wrapping_add(dot(pair_s(a), bytes_s(b))) }
    "dp2a.hi.u32.u32" All => Dp2aHiUU(a: u32, b: u32, c: u32) -> u32 { c.wrapping_add(dot(pair_u(a), bytes_u(b >> 16))) }
    "dp2a.hi.u32.s32" All => Dp2aHiUS(a: u32, b: u32, c: u32) -> u32 { c.wrapping_add(dot(pair_u(a), bytes_s(b >> 16))) }
    "dp2a.hi.s32.u32" All => Dp2aHiSU(a: u32, b: u32, c: u32) -> u32 { c.wrapping_add(dot(pair_s(a), bytes_u(b >> 16))) }
    "dp2a.hi.s32.s32" All => Dp2aHiSS(a: u32, b: u32, c: u32) -> u32 { c.wrapping_add(dot(pair_s(a), bytes_s(b >> 16))) }

    also {
        CarryAdd32, CarryAdd64, CarrySub32, CarrySub64, CarryMadLo32, CarryMadLo64,
        CarryMadHiU32, CarryMadHiS32, CarryMadHiU64, CarryMadHiS64,
    }
}
