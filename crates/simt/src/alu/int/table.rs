//! The instructions that give each lane one result.
//!
//! Rows of one width serve both signs where the sign makes no difference.

use super::bits::{Extract, bmsk, fns, insert32, insert64, szext, top_bit, top_shift};
use super::divide::{quotient, quotient_s, remainder, remainder_s};
use super::packed::{bytes_s, bytes_u, dot, halves_s, halves_u, pair_s, pair_u};
use super::wide::{Wide, mul24_s, mul24_u};
use crate::alu::lanes::instructions;

instructions! {
    /// The operations.
    enum Op;

    "add.u16" | "add.s16" => Add16(a: u16, b: u16) -> u16 { a.wrapping_add(b) }
    "add.u32" | "add.s32" => Add32(a: u32, b: u32) -> u32 { a.wrapping_add(b) }
    "add.u64" | "add.s64" => Add64(a: u64, b: u64) -> u64 { a.wrapping_add(b) }
    "add.sat.s32" => AddSat(a: i32, b: i32) -> i32 { a.saturating_add(b) }
    "add.u16x2" | "add.s16x2" => Add16x2(a: u32, b: u32) -> u32 { halves_u(a, b, u16::wrapping_add) }

    "sub.u16" | "sub.s16" => Sub16(a: u16, b: u16) -> u16 { a.wrapping_sub(b) }
    "sub.u32" | "sub.s32" => Sub32(a: u32, b: u32) -> u32 { a.wrapping_sub(b) }
    "sub.u64" | "sub.s64" => Sub64(a: u64, b: u64) -> u64 { a.wrapping_sub(b) }
    "sub.sat.s32" => SubSat(a: i32, b: i32) -> i32 { a.saturating_sub(b) }

    "mul.lo.u16" | "mul.lo.s16" => Mul16(a: u16, b: u16) -> u16 { a.wrapping_mul(b) }
    "mul.lo.u32" | "mul.lo.s32" => Mul32(a: u32, b: u32) -> u32 { a.wrapping_mul(b) }
    "mul.lo.u64" | "mul.lo.s64" => Mul64(a: u64, b: u64) -> u64 { a.wrapping_mul(b) }
    "mul.hi.u16" => MulHiU16(a: u16, b: u16) -> u16 { a.high(b) }
    "mul.hi.s16" => MulHiS16(a: i16, b: i16) -> i16 { a.high(b) }
    "mul.hi.u32" => MulHiU32(a: u32, b: u32) -> u32 { a.high(b) }
    "mul.hi.s32" => MulHiS32(a: i32, b: i32) -> i32 { a.high(b) }
    "mul.hi.u64" => MulHiU64(a: u64, b: u64) -> u64 { a.high(b) }
    "mul.hi.s64" => MulHiS64(a: i64, b: i64) -> i64 { a.high(b) }
    "mul.wide.u16" => MulWideU16(a: u16, b: u16) -> u32 { a.wide(b) }
    "mul.wide.s16" => MulWideS16(a: i16, b: i16) -> i32 { a.wide(b) }
    "mul.wide.u32" => MulWideU32(a: u32, b: u32) -> u64 { a.wide(b) }
    "mul.wide.s32" => MulWideS32(a: i32, b: i32) -> i64 { a.wide(b) }

    "mad.lo.u16" | "mad.lo.s16" => Mad16(a: u16, b: u16, c: u16) -> u16 { a.wrapping_mul(b).wrapping_add(c) }
    "mad.lo.u32" | "mad.lo.s32" => Mad32(a: u32, b: u32, c: u32) -> u32 { a.wrapping_mul(b).wrapping_add(c) }
    "mad.lo.u64" | "mad.lo.s64" => Mad64(a: u64, b: u64, c: u64) -> u64 { a.wrapping_mul(b).wrapping_add(c) }
    "mad.hi.u16" => MadHiU16(a: u16, b: u16, c: u16) -> u16 { a.high(b).wrapping_add(c) }
    "mad.hi.s16" => MadHiS16(a: i16, b: i16, c: i16) -> i16 { a.high(b).wrapping_add(c) }
    "mad.hi.u32" => MadHiU32(a: u32, b: u32, c: u32) -> u32 { a.high(b).wrapping_add(c) }
    "mad.hi.s32" => MadHiS32(a: i32, b: i32, c: i32) -> i32 { a.high(b).wrapping_add(c) }
    "mad.hi.u64" => MadHiU64(a: u64, b: u64, c: u64) -> u64 { a.high(b).wrapping_add(c) }
    "mad.hi.s64" => MadHiS64(a: i64, b: i64, c: i64) -> i64 { a.high(b).wrapping_add(c) }
    "mad.hi.sat.s32" => MadHiSat(a: i32, b: i32, c: i32) -> i32 { a.high(b).saturating_add(c) }
    "mad.wide.u16" => MadWideU16(a: u16, b: u16, c: u32) -> u32 { a.wide(b).wrapping_add(c) }
    "mad.wide.s16" => MadWideS16(a: i16, b: i16, c: i32) -> i32 { a.wide(b).wrapping_add(c) }
    "mad.wide.u32" => MadWideU32(a: u32, b: u32, c: u64) -> u64 { a.wide(b).wrapping_add(c) }
    "mad.wide.s32" => MadWideS32(a: i32, b: i32, c: i64) -> i64 { a.wide(b).wrapping_add(c) }

    "mul24.lo.u32" => Mul24LoU(a: u32, b: u32) -> u32 { mul24_u(a, b) as u32 }
    "mul24.lo.s32" => Mul24LoS(a: i32, b: i32) -> i32 { mul24_s(a, b) as i32 }
    "mul24.hi.u32" => Mul24HiU(a: u32, b: u32) -> u32 { (mul24_u(a, b) >> 16) as u32 }
    "mul24.hi.s32" => Mul24HiS(a: i32, b: i32) -> i32 { (mul24_s(a, b) >> 16) as i32 }
    "mad24.lo.u32" => Mad24LoU(a: u32, b: u32, c: u32) -> u32 { (mul24_u(a, b) as u32).wrapping_add(c) }
    "mad24.lo.s32" => Mad24LoS(a: i32, b: i32, c: i32) -> i32 { (mul24_s(a, b) as i32).wrapping_add(c) }
    "mad24.hi.u32" => Mad24HiU(a: u32, b: u32, c: u32) -> u32 { ((mul24_u(a, b) >> 16) as u32).wrapping_add(c) }
    "mad24.hi.s32" => Mad24HiS(a: i32, b: i32, c: i32) -> i32 { ((mul24_s(a, b) >> 16) as i32).wrapping_add(c) }
    "mad24.hi.sat.s32" => Mad24HiSat(a: i32, b: i32, c: i32) -> i32 { ((mul24_s(a, b) >> 16) as i32).saturating_add(c) }

    "sad.u16" => SadU16(a: u16, b: u16, c: u16) -> u16 { c.wrapping_add(a.abs_diff(b)) }
    "sad.s16" => SadS16(a: i16, b: i16, c: i16) -> i16 { c.wrapping_add_unsigned(a.abs_diff(b)) }
    "sad.u32" => SadU32(a: u32, b: u32, c: u32) -> u32 { c.wrapping_add(a.abs_diff(b)) }
    "sad.s32" => SadS32(a: i32, b: i32, c: i32) -> i32 { c.wrapping_add_unsigned(a.abs_diff(b)) }
    "sad.u64" => SadU64(a: u64, b: u64, c: u64) -> u64 { c.wrapping_add(a.abs_diff(b)) }
    "sad.s64" => SadS64(a: i64, b: i64, c: i64) -> i64 { c.wrapping_add_unsigned(a.abs_diff(b)) }

    "div.u16" => DivU16(a: u16, b: u16) -> u16 { quotient(a.into(), b.into()) as u16 }
    "div.s16" => DivS16(a: i16, b: i16) -> i16 { quotient_s(a.into(), b.into()) as i16 }
    "div.u32" => DivU32(a: u32, b: u32) -> u32 { quotient(a, b) }
    "div.s32" => DivS32(a: i32, b: i32) -> i32 { quotient_s(a, b) }
    "div.u64" => DivU64(a: u64, b: u64) -> u64 { if b == 0 { u64::MAX } else { a.wrapping_div(b) } }
    "div.s64" => DivS64(a: i64, b: i64) -> i64 { if b == 0 { -1 } else { a.wrapping_div(b) } }
    "rem.u16" => RemU16(a: u16, b: u16) -> u16 { remainder(a.into(), b.into()) as u16 }
    "rem.s16" => RemS16(a: i16, b: i16) -> i16 { remainder_s(a.into(), b.into()) as i16 }
    "rem.u32" => RemU32(a: u32, b: u32) -> u32 { remainder(a, b) }
    "rem.s32" => RemS32(a: i32, b: i32) -> i32 { remainder_s(a, b) }
    "rem.u64" => RemU64(a: u64, b: u64) -> u64 { if b == 0 { u64::MAX } else { a.wrapping_rem(b) } }
    "rem.s64" => RemS64(a: i64, b: i64) -> i64 { if b == 0 { -1 } else { a.wrapping_rem(b) } }

    "abs.s16" => Abs16(a: i16) -> i16 { a.wrapping_abs() }
    "abs.s32" => Abs32(a: i32) -> i32 { a.wrapping_abs() }
    "abs.s64" => Abs64(a: i64) -> i64 { a.wrapping_abs() }
    "neg.s16" => Neg16(a: i16) -> i16 { a.wrapping_neg() }
    "neg.s32" => Neg32(a: i32) -> i32 { a.wrapping_neg() }
    "neg.s64" => Neg64(a: i64) -> i64 { a.wrapping_neg() }

    "min.u16" => MinU16(a: u16, b: u16) -> u16 { a.min(b) }
    "min.s16" => MinS16(a: i16, b: i16) -> i16 { a.min(b) }
    "min.u32" => MinU32(a: u32, b: u32) -> u32 { a.min(b) }
    "min.s32" => MinS32(a: i32, b: i32) -> i32 { a.min(b) }
    "min.u64" => MinU64(a: u64, b: u64) -> u64 { a.min(b) }
    "min.s64" => MinS64(a: i64, b: i64) -> i64 { a.min(b) }
    "min.relu.s32" => MinRelu(a: i32, b: i32) -> i32 { a.min(b).max(0) }
    "min.u16x2" => MinU16x2(a: u32, b: u32) -> u32 { halves_u(a, b, u16::min) }
    "min.s16x2" => MinS16x2(a: u32, b: u32) -> u32 { halves_s(a, b, i16::min) }
    "min.relu.s16x2" => MinRelu16x2(a: u32, b: u32) -> u32 { halves_s(a, b, |a, b| a.min(b).max(0)) }
    "max.u16" => MaxU16(a: u16, b: u16) -> u16 { a.max(b) }
    "max.s16" => MaxS16(a: i16, b: i16) -> i16 { a.max(b) }
    "max.u32" => MaxU32(a: u32, b: u32) -> u32 { a.max(b) }
    "max.s32" => MaxS32(a: i32, b: i32) -> i32 { a.max(b) }
    "max.u64" => MaxU64(a: u64, b: u64) -> u64 { a.max(b) }
    "max.s64" => MaxS64(a: i64, b: i64) -> i64 { a.max(b) }
    "max.relu.s32" => MaxRelu(a: i32, b: i32) -> i32 { a.max(b).max(0) }
    "max.u16x2" => MaxU16x2(a: u32, b: u32) -> u32 { halves_u(a, b, u16::max) }
    "max.s16x2" => MaxS16x2(a: u32, b: u32) -> u32 { halves_s(a, b, i16::max) }
    "max.relu.s16x2" => MaxRelu16x2(a: u32, b: u32) -> u32 { halves_s(a, b, |a, b| a.max(b).max(0)) }

    "popc.b32" => Popc32(a: u32) -> u32 { a.count_ones() }
    "clz.b32" => Clz32(a: u32) -> u32 { a.leading_zeros() }
    "brev.b32" => Brev32(a: u32) -> u32 { a.reverse_bits() }
    "bfind.u32" => BfindU32(a: u32) -> u32 { top_bit(a.leading_zeros(), 31) }
    "bfind.s32" => BfindS32(a: i32) -> u32 { top_bit((a ^ a >> 31).leading_zeros(), 31) }
    "bfind.shiftamt.u32" => BfindShiftU32(a: u32) -> u32 { top_shift(a.leading_zeros(), 31) }
    "bfind.shiftamt.s32" => BfindShiftS32(a: i32) -> u32 { top_shift((a ^ a >> 31).leading_zeros(), 31) }
    "bfe.u32" => BfeU32(a: u32, at: u32, length: u32) -> u32 { a.extract(at, length) }
    "bfe.s32" => BfeS32(a: i32, at: u32, length: u32) -> i32 { a.extract(at, length) }
    "bfi.b32" => Bfi32(a: u32, b: u32, at: u32, length: u32) -> u32 { insert32(a, b, at, length) }
    "popc.b64" => Popc64(a: u64) -> u32 { a.count_ones() }
    "clz.b64" => Clz64(a: u64) -> u32 { a.leading_zeros() }
    "brev.b64" => Brev64(a: u64) -> u64 { a.reverse_bits() }
    "bfind.u64" => BfindU64(a: u64) -> u32 { top_bit(a.leading_zeros(), 63) }
    "bfind.s64" => BfindS64(a: i64) -> u32 { top_bit((a ^ a >> 63).leading_zeros(), 63) }
    "bfind.shiftamt.u64" => BfindShiftU64(a: u64) -> u32 { top_shift(a.leading_zeros(), 63) }
    "bfind.shiftamt.s64" => BfindShiftS64(a: i64) -> u32 { top_shift((a ^ a >> 63).leading_zeros(), 63) }
    "bfe.u64" => BfeU64(a: u64, at: u32, length: u32) -> u64 { a.extract(at, length) }
    "bfe.s64" => BfeS64(a: i64, at: u32, length: u32) -> i64 { a.extract(at, length) }
    "bfi.b64" => Bfi64(a: u64, b: u64, at: u32, length: u32) -> u64 { insert64(a, b, at, length) }
    "fns.b32" => Fns(mask: u32, base: u32, offset: i32) -> u32 { fns(mask, base, offset) }
    "bmsk.clamp.b32" => BmskClamp(a: u32, b: u32) -> u32 { bmsk(a, b, true) }
    "szext.clamp.u32" => SzextClampU(a: u32, b: u32) -> u32 { szext(a, b, true, false) }
    "szext.clamp.s32" => SzextClampS(a: u32, b: u32) -> u32 { szext(a, b, true, true) }
    "bmsk.wrap.b32" => BmskWrap(a: u32, b: u32) -> u32 { bmsk(a, b, false) }
    "szext.wrap.u32" => SzextWrapU(a: u32, b: u32) -> u32 { szext(a, b, false, false) }
    "szext.wrap.s32" => SzextWrapS(a: u32, b: u32) -> u32 { szext(a, b, false, true) }

    "dp4a.u32.u32" => Dp4aUU(a: u32, b: u32, c: u32) -> u32 { c.wrapping_add(dot(bytes_u(a), bytes_u(b))) }
    "dp4a.u32.s32" => Dp4aUS(a: u32, b: u32, c: u32) -> u32 { c.wrapping_add(dot(bytes_u(a), bytes_s(b))) }
    "dp4a.s32.u32" => Dp4aSU(a: u32, b: u32, c: u32) -> u32 { c.wrapping_add(dot(bytes_s(a), bytes_u(b))) }
    "dp4a.s32.s32" => Dp4aSS(a: u32, b: u32, c: u32) -> u32 { c.wrapping_add(dot(bytes_s(a), bytes_s(b))) }
    "dp2a.lo.u32.u32" => Dp2aLoUU(a: u32, b: u32, c: u32) -> u32 { c.wrapping_add(dot(pair_u(a), bytes_u(b))) }
    "dp2a.lo.u32.s32" => Dp2aLoUS(a: u32, b: u32, c: u32) -> u32 { c.wrapping_add(dot(pair_u(a), bytes_s(b))) }
    "dp2a.lo.s32.u32" => Dp2aLoSU(a: u32, b: u32, c: u32) -> u32 { c.wrapping_add(dot(pair_s(a), bytes_u(b))) }
    "dp2a.lo.s32.s32" => Dp2aLoSS(a: u32, b: u32, c: u32) -> u32 { c.wrapping_add(dot(pair_s(a), bytes_s(b))) }
    "dp2a.hi.u32.u32" => Dp2aHiUU(a: u32, b: u32, c: u32) -> u32 { c.wrapping_add(dot(pair_u(a), bytes_u(b >> 16))) }
    "dp2a.hi.u32.s32" => Dp2aHiUS(a: u32, b: u32, c: u32) -> u32 { c.wrapping_add(dot(pair_u(a), bytes_s(b >> 16))) }
    "dp2a.hi.s32.u32" => Dp2aHiSU(a: u32, b: u32, c: u32) -> u32 { c.wrapping_add(dot(pair_s(a), bytes_u(b >> 16))) }
    "dp2a.hi.s32.s32" => Dp2aHiSS(a: u32, b: u32, c: u32) -> u32 { c.wrapping_add(dot(pair_s(a), bytes_s(b >> 16))) }

    also {
        CarryAdd32, CarryAdd64, CarrySub32, CarrySub64, CarryMadLo32, CarryMadLo64,
        CarryMadHiU32, CarryMadHiS32, CarryMadHiU64, CarryMadHiS64,
    }
}
