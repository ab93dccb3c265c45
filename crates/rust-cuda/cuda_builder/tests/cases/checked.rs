use super::*;

pub fn value(i: u32) -> u64 {
    let (a, b) = (hash(i), hash(i + 1) >> (i % 32));
    let or = |it: Option<u32>| it.map_or(3, u64::from);
    let all = [
        a.checked_add(b),
        a.checked_sub(b),
        a.checked_mul(b),
        a.checked_div(b),
        a.checked_rem(b),
        a.checked_shl(i),
        b.checked_pow(i % 6),
        a.checked_neg(),
        a.checked_next_power_of_two(),
    ];
    all.into_iter().fold(0, |sum, term| mix(sum, or(term)))
}
