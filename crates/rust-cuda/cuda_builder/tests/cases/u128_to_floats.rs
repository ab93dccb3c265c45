use super::*;

pub fn value(i: u32) -> u64 {
    let a = wide(i) >> (i / 2);
    let near = (1_u128 << (i / 2)) + (1 << (i / 3)) - 1;
    let unsigned = mix(bits32(a as f32) ^ bits64(a as f64), bits32(near as f32) ^ bits64(near as f64));
    let (a, near) = (a as i128, -(near as i128));
    mix(unsigned, mix(bits32(a as f32) ^ bits64(a as f64), bits32(near as f32) ^ bits64(near as f64)))
        ^ bits32(u128::MAX as f32)
}
