use super::*;

pub fn value(i: u32) -> u64 {
    let mut data = [0_u8; 70];
    let len = i as usize % 70;
    data[..len].fill(i as u8);
    let (a, b) = data.split_at_mut(35);
    b[..len / 2].copy_from_slice(&a[..len / 2]);
    a.swap_with_slice(b);
    data.iter().fold(0, |sum, term| mix(sum, u64::from(*term)))
}
