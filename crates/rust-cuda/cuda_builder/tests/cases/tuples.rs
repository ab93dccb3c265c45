use super::*;

fn order(pair: (u8, u64, (i16, bool))) -> ((i16, bool), u64, u8) {
    (pair.2, pair.1, pair.0)
}
pub fn value(i: u32) -> u64 {
    let tuples: [(u8, u64, (i16, bool)); 3] =
        core::array::from_fn(|at| (at as u8, u64::from(i) << at, (-(i as i16), at == 1)));
    let ((a, b), c, d) = order(core::hint::black_box(tuples)[i as usize % 3]);
    mix(a as u64, c) + u64::from(b) + u64::from(d) + u64::from((1, "a", i) < (1, "a", 100))
}
