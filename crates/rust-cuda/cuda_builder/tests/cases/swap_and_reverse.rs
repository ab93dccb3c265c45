use super::*;

pub fn value(i: u32) -> u64 {
    let mut data: [u16; 20] = core::array::from_fn(|at| at as u16);
    data.swap(i as usize % 20, i as usize * 7 % 20);
    data[i as usize % 10..].reverse();
    data.rotate_left(i as usize % 20);
    data.iter().fold(0, |sum, term| mix(sum, u64::from(*term)))
}
