use super::*;

pub fn value(i: u32) -> u64 {
    let mut data: [u8; 64] = core::array::from_fn(|at| at as u8);
    let (from, len) = (i as usize % 32, i as usize / 8 % 33);
    data.copy_within(from..from + len, i as usize * 7 % 31);
    data.iter().fold(0, |sum, term| mix(sum, u64::from(*term)))
}
