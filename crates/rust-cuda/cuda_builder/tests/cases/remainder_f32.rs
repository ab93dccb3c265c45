use super::*;

pub fn value(i: u32) -> u64 {
    let exact = bits32(core::hint::black_box(890541.375_f32) % 0.7);
    (0..core::hint::black_box(16)).fold(exact, |sum, term| mix(sum, bits32(float(i) % float(i * 3 + term))))
}
