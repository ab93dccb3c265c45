use super::*;

pub fn value(i: u32) -> u64 {
    let (a, by) = (hash(i), i % 32);
    let narrow =
        u64::from((a as u8) >> (by % 8)) ^ ((a as i16) >> (by % 16)) as u64 ^ u64::from((a as u16) << (by % 16));
    mix(narrow, ((a as i32) >> by) as u64 ^ (u64::from(a) << (i % 64)) ^ (i64::from(a as i32) >> (i % 64)) as u64)
        + u64::from(a.unbounded_shr(i))
}
