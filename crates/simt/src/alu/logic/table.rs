//! The instructions that give each lane one result, from registers alone.

use super::permute::{B4E, ECL, ECR, F4E, RC8, RC16, four, left, permute, right};
use crate::alu::lanes::instructions;

instructions! {
    /// The operations.
    enum Op;

    "and.b16" => And16(a: u16, b: u16) -> u16 { a & b }
    "and.b32" => And32(a: u32, b: u32) -> u32 { a & b }
    "and.b64" => And64(a: u64, b: u64) -> u64 { a & b }
    "or.b16" => Or16(a: u16, b: u16) -> u16 { a | b }
    "or.b32" => Or32(a: u32, b: u32) -> u32 { a | b }
    "or.b64" => Or64(a: u64, b: u64) -> u64 { a | b }
    "xor.b16" => Xor16(a: u16, b: u16) -> u16 { a ^ b }
    "xor.b32" => Xor32(a: u32, b: u32) -> u32 { a ^ b }
    "xor.b64" => Xor64(a: u64, b: u64) -> u64 { a ^ b }
    "not.b16" => Not16(a: u16) -> u16 { !a }
    "not.b32" => Not32(a: u32) -> u32 { !a }
    "not.b64" => Not64(a: u64) -> u64 { !a }
    "cnot.b16" => Cnot16(a: u16) -> u16 { u16::from(a == 0) }
    "cnot.b32" => Cnot32(a: u32) -> u32 { u32::from(a == 0) }
    "cnot.b64" => Cnot64(a: u64) -> u64 { u64::from(a == 0) }

    "shl.b16" => Shl16(a: u16, by: u32) -> u16 { a.checked_shl(by).unwrap_or(0) }
    "shl.b32" => Shl32(a: u32, by: u32) -> u32 { a.checked_shl(by).unwrap_or(0) }
    "shl.b64" => Shl64(a: u64, by: u32) -> u64 { a.checked_shl(by).unwrap_or(0) }
    "shr.u16" | "shr.b16" => ShrU16(a: u16, by: u32) -> u16 { a.checked_shr(by).unwrap_or(0) }
    "shr.u32" | "shr.b32" => ShrU32(a: u32, by: u32) -> u32 { a.checked_shr(by).unwrap_or(0) }
    "shr.u64" | "shr.b64" => ShrU64(a: u64, by: u32) -> u64 { a.checked_shr(by).unwrap_or(0) }
    "shr.s16" => ShrS16(a: i16, by: u32) -> i16 { a >> by.min(15) }
    "shr.s32" => ShrS32(a: i32, by: u32) -> i32 { a >> by.min(31) }
    "shr.s64" => ShrS64(a: i64, by: u32) -> i64 { a >> by.min(63) }

    "shf.l.clamp.b32" => ShfLClamp(a: u32, b: u32, by: u32) -> u32 { left(a, b, by.min(32)) }
    "shf.l.wrap.b32" => ShfLWrap(a: u32, b: u32, by: u32) -> u32 { left(a, b, by & 31) }
    "shf.r.clamp.b32" => ShfRClamp(a: u32, b: u32, by: u32) -> u32 { right(a, b, by.min(32)) }
    "shf.r.wrap.b32" => ShfRWrap(a: u32, b: u32, by: u32) -> u32 { right(a, b, by & 31) }

    "prmt.b32" => Prmt(a: u32, b: u32, select: u32) -> u32 { permute(a, b, select) }
    "prmt.b32.f4e" => PrmtF4e(a: u32, b: u32, select: u32) -> u32 { permute(a, b, four(select, F4E)) }
    "prmt.b32.b4e" => PrmtB4e(a: u32, b: u32, select: u32) -> u32 { permute(a, b, four(select, B4E)) }
    "prmt.b32.rc8" => PrmtRc8(a: u32, b: u32, select: u32) -> u32 { permute(a, b, four(select, RC8)) }
    "prmt.b32.ecl" => PrmtEcl(a: u32, b: u32, select: u32) -> u32 { permute(a, b, four(select, ECL)) }
    "prmt.b32.ecr" => PrmtEcr(a: u32, b: u32, select: u32) -> u32 { permute(a, b, four(select, ECR)) }
    "prmt.b32.rc16" => PrmtRc16(a: u32, b: u32, select: u32) -> u32 { permute(a, b, four(select, RC16)) }

    also {
        AndPred, OrPred, XorPred, NotPred,
        Lop3, Lop3Or, Lop3OrNot, Lop3And, Lop3AndNot,
    }
}
