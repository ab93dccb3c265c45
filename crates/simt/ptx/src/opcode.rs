//! What an opcode's words say: the state space, types and the sides of matrices.

use super::ast::Space;

/// The state space that an opcode's modifiers name: `shared` in `ld.volatile.shared::cta.u32`.
pub fn space(opcode: &str) -> Option<Space> {
    let mut modifiers = opcode.split('.').skip(1);
    modifiers.find_map(|modifier| Space::named(modifier.split("::").next()?))
}

/// Whether a type is one of floating-point numbers, or of pairs of them.
pub fn is_float(ty: &str) -> bool {
    matches!(ty, "f16" | "f16x2" | "bf16" | "bf16x2" | "f32" | "f32x2" | "tf32" | "f64")
}

/// Bytes of a fundamental type (PTX ISA §5.2.1).
pub fn type_bytes(ty: &str) -> Option<u32> {
    Some(match ty {
        "b8" | "u8" | "s8" | "pred" | "e4m3" | "e5m2" => 1,
        "b16" | "u16" | "s16" | "f16" | "bf16" => 2,
        "b32" | "u32" | "s32" | "f32" | "f16x2" | "bf16x2" => 4,
        "b64" | "u64" | "s64" | "f64" => 8,
        "b128" => 16,
        _ => return None,
    })
}

/// Rows, columns and length of the product of matrices that an opcode names: 16, 8 and 4 of `m16n8k4`.
pub fn sides(opcode: &str) -> Option<[usize; 3]> {
    opcode.split('.').find_map(|word| {
        let (m, rest) = word.strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k')?;
        Some([m.parse().ok()?, n.parse().ok()?, k.parse().ok()?])
    })
}
