use super::*;

pub fn value(i: u32) -> u64 {
    let a = wide(i) >> (i / 2);
    let counts = u64::from(a.leading_zeros() + 200 * a.trailing_zeros() + 40_000 * a.count_ones());
    let turned =
        a.rotate_left(i) ^ a.swap_bytes() ^ a.reverse_bits() ^ (a << (i % 128)) ^ ((a as i128 >> (i % 128)) as u128);
    mix(counts, fold128(turned))
}
