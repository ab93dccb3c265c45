use super::*;

pub fn value(i: u32) -> u64 {
    let (a, b) = (wide(i / 2), wide(i / 3));
    let order = (a.cmp(&b) as i64 + 1) as u64 + 10 * ((a as i128).cmp(&(b as i128)) as i64 + 1) as u64;
    order + fold128(a.abs_diff(b)) ^ fold128(a.max(b)) ^ fold128((a as i128).min(b as i128) as u128).rotate_left(1)
}
