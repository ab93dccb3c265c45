use super::*;

pub fn value(i: u32) -> u64 {
    let (a, b) = (float(i), float(i * 7 + 3));
    let (c, d) = (f64::from(a), f64::from(b));
    // It is unspecified which zero is smaller.
    let plain = |x: f32| bits32(x + 0.0);
    mix(mix(plain(a.min(b)), plain(a.max(b))), mix(bits64(c.min(d) + 0.0), bits64(c.max(d) + 0.0)))
}
