use super::*;

pub fn value(i: u32) -> u64 {
    let (a, b) = (float(i), float(i / 2 * 3));
    let order = a.partial_cmp(&b).map_or(9, |it| (it as i64 + 1) as u64);
    order
        + 16 * u64::from(a < b)
        + 32 * u64::from(a >= b)
        + 64 * u64::from(a != b)
        + 128 * (a.total_cmp(&b) as i64 + 1) as u64
}
