use super::*;

pub fn value(i: u32) -> u64 {
    let (a, b) = (hash(i) as i32, (hash(i + 1) as i32) >> (i % 32));
    let (c, d) = (i64::from(a) << 31, i64::from(b) << 20);
    let or = |it: Option<i64>| it.map_or(3, |it| it as u64);
    let narrow = [
        a.checked_add(b),
        a.checked_sub(b),
        a.checked_mul(b),
        a.checked_div(b),
        a.checked_abs(),
        i32::MIN.checked_div(b),
    ];
    let wide = [c.checked_add(d), c.checked_sub(d), c.checked_mul(d), c.checked_rem(d), d.checked_pow(2)];
    narrow.into_iter().map(|term| term.map(i64::from)).chain(wide).fold(0, |sum, term| mix(sum, or(term)))
}
