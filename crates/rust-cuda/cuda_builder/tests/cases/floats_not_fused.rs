use super::*;

pub fn value(i: u32) -> u64 {
    let (a, b, c) = (float(i), float(i + 50), float(i * 2));
    mix(bits32(a * b + c), bits64(f64::from(a) * f64::from(b) - f64::from(c)))
}
