use super::*;

pub fn value(i: u32) -> u64 {
    let x = float(i);
    let d = f64::from(x) * 1e10;
    let narrow = mix(u64::from(x as u8) | (x as i8 as u64) << 8, u64::from(x as u16) ^ (x as i16 as u64) << 20);
    let wide = mix(mix(u64::from(x as u32), x as i32 as u64), mix(x as u64, x as i64 as u64));
    mix(mix(narrow, wide), mix(mix(d as u64, d as i64 as u64), mix(d as i32 as u64, u64::from(d as u16))))
}
