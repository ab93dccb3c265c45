use super::*;

fn twice(f: impl Fn(u64) -> u64, x: u64) -> u64 {
    f(f(x))
}
pub fn value(i: u32) -> u64 {
    let factor = u64::from(i) + 3;
    let mut count = 0;
    let mut counted = |x: u64| {
        count += 1;
        x * factor
    };
    let product = counted(5);
    let product = counted(product);
    twice(|x| x * factor + 1, product) + count
}
