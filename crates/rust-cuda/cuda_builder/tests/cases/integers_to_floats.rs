use super::*;

pub fn value(i: u32) -> u64 {
    let (a, b) = (hash(i), u64::from(hash(i)) << 32 | u64::from(hash(i + 1)));
    let small = mix(bits32(a as f32), bits32(a as i32 as f32));
    let wide = mix(bits32(b as f32), bits32(b as i64 as f32));
    mix(mix(small, wide), mix(bits64(b as f64), bits64(b as i64 as f64)))
        ^ bits32(a as u8 as f32)
        ^ bits64(a as i16 as f64)
}
