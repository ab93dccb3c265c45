use super::*;

pub fn value(i: u32) -> u64 {
    let (a, b) = (hash(i), hash(i + 1));
    let average = u64::from(a.midpoint(b)) + u64::from(a.abs_diff(b)) + u64::from((a as i32).abs_diff(b as i32));
    mix(average, (a as i32).signum() as u64)
        + u64::from(a.next_multiple_of(7) % 7)
        + u64::from((a as i8).unsigned_abs())
}
