use super::*;

pub fn value(i: u32) -> u64 {
    let x = f64::from_bits(u64::from(hash(i)) << 32 | u64::from(hash(i + 9)));
    let near = f64::from(float(i)) * 1.000_000_06;
    mix(bits32(x as f32), mix(bits32(near as f32), bits64(f64::from(float(i)))))
}
