use super::*;

pub fn value(i: u32) -> u64 {
    let (a, b) = (hash(i), u64::from(hash(i)) * u64::from(hash(i + 3)) >> (i % 60));
    let counts = a.leading_zeros()
        + 40 * b.trailing_zeros()
        + 4000 * a.count_ones()
        + 100_000 * b.leading_ones()
        + (a as u8).leading_zeros()
        + (a as u16).trailing_ones();
    let turned = b.rotate_right(i)
        ^ b.swap_bytes()
        ^ b.reverse_bits()
        ^ u64::from(a.rotate_left(i) ^ a.reverse_bits() ^ a.swap_bytes());
    mix(u64::from(counts), turned)
        ^ u64::from((a as u8).reverse_bits())
        ^ u64::from((a as u16).rotate_left(i % 16))
        ^ (b & b.wrapping_neg())
}
