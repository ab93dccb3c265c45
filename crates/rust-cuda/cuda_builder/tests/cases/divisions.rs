use super::*;

pub fn value(i: u32) -> u64 {
    let (a, b) = (hash(i) as i32, (hash(i + 1) as i32 >> (i % 31)) | 1);
    let (c, d) = (i64::from(a) * 77_777, i64::from(b) * 3);
    let euclid = mix(a.rem_euclid(b) as u64, c.div_euclid(d) as u64);
    mix(euclid, mix((a.wrapping_div(b)) as u64, (c % d) as u64))
        ^ u64::from(hash(i).div_ceil(b as u32))
        ^ u64::from((a as u8) / (b as u8))
        ^ (i16::from(a as i8) % i16::from(b as i8)) as u64
}
