//! The instructions that compute one result per lane from registers only.

use super::permute::{B4E, ECL, ECR, F4E, RC8, RC16, four, permute, shift_left, shift_right};
use crate::alu::lanes::instructions;
use crate::alu::lanes::named::{b16, b32, b64, s16, s32, s64};

instructions! {
    /// The operations.
    enum Op;

    "and" Bitwise [And16 b16, And32 b32, And64 b64] => (a: T, b: T) -> T { a & b }
    "or" Bitwise [Or16 b16, Or32 b32, Or64 b64] => (a: T, b: T) -> T { a | b }
    "xor" Bitwise [Xor16 b16, Xor32 b32, Xor64 b64] => (a: T, b: T) -> T { a ^ b }
    "not" Bitwise [Not16 b16, Not32 b32, Not64 b64] => (a: T) -> T { !a }
    "cnot" All [Cnot16 b16, Cnot32 b32, Cnot64 b64] => (a: T) -> T { T::from(a == 0) }
    "shl" MovesOne [Shl16 b16, Shl32 b32, Shl64 b64] => (a: T, by: u32) -> T { a.checked_shl(by).unwrap_or(0) }
    "shr" MovesOne [ShrU16 u16 b16, ShrU32 u32 b32, ShrU64 u64 b64] => (a: T, by: u32) -> T { a.checked_shr(by).unwrap_or(0) }
    "shr" MovesOne [ShrS16 s16, ShrS32 s32, ShrS64 s64] => (a: T, by: u32) -> T { a >> by.min(T::BITS - 1) }

    single:
    "shf.l.clamp.b32" MovesTwo => ShfLClamp(a: u32, b: u32, by: u32) -> u32 { shift_left(a, b, by.min(32)) }
    "shf.l.wrap.b32" MovesTwo => ShfLWrap(a: u32, b: u32, by: u32) -> u32 { shift_left(a, b, by & 31) }
    "shf.r.clamp.b32" MovesTwo => ShfRClamp(a: u32, b: u32, by: u32) -> u32 { shift_right(a, b, by.min(32)) }
    "shf.r.wrap.b32" MovesTwo => ShfRWrap(a: u32, b: u32, by: u32) -> u32 { shift_right(a, b, by & 31) }

    "prmt.b32" MovesTwo => Prmt(a: u32, b: u32, select: u32) -> u32 { permute(a, b, select) }
    "prmt.b32.f4e" MovesTwo => PrmtF4e(a: u32, b: u32, select: u32) -> u32 { permute(a, b, four(select, F4E)) }
    "prmt.b32.b4e" MovesTwo => PrmtB4e(a: u32, b: u32, select: u32) -> u32 { permute(a, b, four(select, B4E)) }
    "prmt.b32.rc8" MovesTwo => PrmtRc8(a: u32, b: u32, select: u32) -> u32 { permute(a, b, four(select, RC8)) }
    "prmt.b32.ecl" MovesTwo => PrmtEcl(a: u32, b: u32, select: u32) -> u32 { permute(a, b, four(select, ECL)) }
    "prmt.b32.ecr" MovesTwo => PrmtEcr(a: u32, b: u32, select: u32) -> u32 { permute(a, b, four(select, ECR)) }
    "prmt.b32.rc16" MovesTwo => PrmtRc16(a: u32, b: u32, select: u32) -> u32 { permute(a, b, four(select, RC16)) }

    also {
        AndPred, OrPred, XorPred, NotPred,
        Lop3, Lop3Or, Lop3OrNot, Lop3And, Lop3AndNot,
    }
}
