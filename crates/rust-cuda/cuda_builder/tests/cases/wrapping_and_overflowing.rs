use super::*;

pub fn value(i: u32) -> u64 {
    let (a, b) = (hash(i) as i8, hash(i + 1) as i8);
    let (c, d) = (hash(i) as u16, hash(i + 2) as u16);
    let (product, over) = a.overflowing_mul(b);
    let small = mix(product as u64, u64::from(over) ^ a.wrapping_add(b) as u64 ^ a.wrapping_shl(i) as u64);
    mix(small, u64::from(c.wrapping_mul(d) ^ c.wrapping_sub(d) ^ c.wrapping_pow(3)) + u64::from(c.overflowing_add(d).1))
}
