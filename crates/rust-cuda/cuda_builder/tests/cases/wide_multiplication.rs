use super::*;

pub fn value(i: u32) -> u64 {
    let (a, b) = (u64::from(hash(i)) << 30 | 5, u64::from(hash(i + 1)) << 25 | 9);
    let full = u128::from(a) * u128::from(b);
    let signed = i128::from(a as i64) * i128::from((b as i64).wrapping_neg());
    mix((full >> 64) as u64, (signed >> 64) as u64) ^ u64::from(a as u32) * u64::from(b as u32)
}
