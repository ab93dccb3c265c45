use super::*;

pub fn value(i: u32) -> u64 {
    let sums = (0..12).scan(u64::from(i), |sum, term| {
        *sum += term;
        (*sum < 300).then_some(*sum)
    });
    let flat = sums.flat_map(|it| (0..it % 4).map(move |part| it * 10 + part));
    let mut peeked = flat.peekable();
    let first = peeked.peek().copied().unwrap_or(1);
    peeked.fold(first, mix)
}
