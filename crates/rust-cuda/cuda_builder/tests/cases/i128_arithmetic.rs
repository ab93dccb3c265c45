use super::*;

pub fn value(i: u32) -> u64 {
    let (a, b) = (wide(i) as i128, wide(i + 7) as i128 >> (i % 127));
    let b = if b == 0 { -1 } else { b };
    let divided = fold128(a.wrapping_div(b) as u128) ^ fold128(a.wrapping_rem(b) as u128);
    divided ^ fold128(a.wrapping_mul(b) as u128) ^ fold128(a.rem_euclid(b | 1) as u128).rotate_left(3)
}
