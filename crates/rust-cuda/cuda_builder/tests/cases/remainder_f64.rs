use super::*;

pub fn value(i: u32) -> u64 {
    let wide = |i: u32| f64::from(float(i)) * f64::from_bits(u64::from(hash(i)) << 31 | 1);
    (0..core::hint::black_box(8))
        .fold(0, |sum, term| mix(sum, bits64(wide(i) % wide(i * 5 + term)) ^ bits64(f64::from(float(i)) % 0.3)))
}
