use super::*;

pub fn value(i: u32) -> u64 {
    let mut data: [u32; 24] = core::array::from_fn(|at| hash(at as u32 ^ i));
    data.sort_unstable();
    data.iter().enumerate().fold(0, |sum, (at, term)| mix(sum, u64::from(*term) << (at % 8)))
}
