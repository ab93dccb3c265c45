use super::*;

pub fn value(i: u32) -> u64 {
    let mut data: [(u8, i32); 12] = core::array::from_fn(|at| (at as u8, hash(at as u32 + i) as i32 % 10));
    data.sort_unstable_by_key(|it| (core::cmp::Reverse(it.1), it.0));
    data.iter().fold(0, |sum, term| mix(sum, u64::from(term.0)))
}
