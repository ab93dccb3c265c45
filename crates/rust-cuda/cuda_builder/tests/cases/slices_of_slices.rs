use super::*;

pub fn value(i: u32) -> u64 {
    let data: [u32; 16] = core::array::from_fn(|at| at as u32 * i);
    let (a, b) = data.split_at(i as usize % 17);
    let (first, rest) = data.split_first().unwrap();
    mix(a.len() as u64 + u64::from(*first), rest.iter().chain(b).map(|it| u64::from(*it)).sum())
}
