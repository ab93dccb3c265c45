use super::*;

pub fn value(i: u32) -> u64 {
    let (x, d) = (float(i), f64::from(float(i)) * 1e9);
    let unsigned = mix(fold128(x as u128), fold128(d as u128));
    mix(unsigned, mix(fold128(x as i128 as u128), fold128(d as i128 as u128)))
}
