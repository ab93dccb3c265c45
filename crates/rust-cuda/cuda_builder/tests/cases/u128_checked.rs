use super::*;

pub fn value(i: u32) -> u64 {
    let (a, b) = (wide(i) >> (i % 128), wide(i * 9) >> (i / 2 % 128));
    let small = |it: Option<u128>| it.map_or(1, fold128);
    let all = [
        a.checked_add(b),
        a.checked_sub(b),
        a.checked_mul(b),
        a.checked_rem(b),
        a.checked_pow(3),
        a.checked_ilog2().map(u128::from),
    ];
    all.into_iter().fold(fold128(a.saturating_add(b)), |sum, term| mix(sum, small(term)))
}
