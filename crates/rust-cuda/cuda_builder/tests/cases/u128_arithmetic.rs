use super::*;

pub fn value(i: u32) -> u64 {
    let (a, b) = (wide(i), wide(i * 3 + 1) >> (i % 120));
    let b = b | 1;
    fold128(a.wrapping_mul(b))
        ^ fold128(a / b)
        ^ fold128(a % b).rotate_left(7)
        ^ fold128(a.wrapping_add(b).wrapping_sub(b << 1))
}
