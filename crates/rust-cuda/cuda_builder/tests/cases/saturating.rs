use super::*;

pub fn value(i: u32) -> u64 {
    let (a, b) = (hash(i) as i32, hash(i + 1) as i32);
    let (c, d) = (hash(i) as u8, hash(i + 2) as u8);
    let signed =
        [a.saturating_add(b), a.saturating_sub(b), a.saturating_mul(b), a.saturating_pow(2), a.saturating_abs()];
    let sum = signed.into_iter().fold(0, |sum, term| mix(sum, term as u64));
    mix(
        sum,
        u64::from(c.saturating_add(d))
            + 1000 * u64::from(c.saturating_sub(d))
            + (i64::from(a) << 32).saturating_add(i64::from(b) << 32) as u64,
    )
}
