use super::*;
use core::cmp::{Ordering, Reverse};
pub fn value(i: u32) -> u64 {
    let (a, b) = ((i % 3, Reverse(i % 5)), (i % 4, Reverse(i % 2)));
    let order = a.cmp(&b).then_with(|| i.cmp(&77)).reverse();
    let lists = [i, 2, 3][..].cmp(&[i, 2][..i as usize % 3]);
    (order as i64 + 1) as u64
        + 10 * (lists as i64 + 1) as u64
        + 100 * u64::from(order == Ordering::Less)
        + u64::from(i.clamp(10, 20))
}
