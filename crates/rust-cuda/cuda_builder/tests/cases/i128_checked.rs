use super::*;

pub fn value(i: u32) -> u64 {
    let (a, b) = ((wide(i) >> (i % 128)) as i128, (wide(i * 5) >> (i / 2 % 128)) as i128);
    let small = |it: Option<i128>| it.map_or(1, |it| fold128(it as u128));
    let sums = mix(small(a.checked_add(b)), small(a.checked_sub(b.wrapping_neg())));
    let products = mix(small(a.checked_mul(b)), small(a.checked_div(b)));
    mix(sums, products) ^ fold128(a.saturating_mul(b) as u128) ^ u64::from(a.overflowing_mul(b).1)
}
