//! Information in the words of an opcode: the state space, types and matrix sizes.

use super::ast::Space;

/// Returns the state space that an opcode's modifiers name: `shared` in `ld.volatile.shared::cta.u32`.
pub fn space(opcode: &str) -> Option<Space> {
    let mut modifiers = opcode.split('.').skip(1);
    modifiers.find_map(|modifier| Space::named(modifier.split("::").next()?))
}

/// Returns whether a type is a floating-point type or a pair of floating-point numbers.
pub fn is_float(ty: &str) -> bool {
    matches!(ty, "f16" | "f16x2" | "bf16" | "bf16x2" | "f32" | "f32x2" | "tf32" | "f64")
}

/// Returns the size of a fundamental type in bytes (PTX ISA §5.2.1).
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

/// Returns m, n and k of the matrix product that an opcode names: 16, 8 and 4 for `m16n8k4`.
pub fn sides(opcode: &str) -> Option<[usize; 3]> {
    opcode.split('.').find_map(|word| {
        let (m, rest) = word.strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k')?;
        Some([m.parse().ok()?, n.parse().ok()?, k.parse().ok()?])
    })
}
