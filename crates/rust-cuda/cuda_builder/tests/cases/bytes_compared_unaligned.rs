use super::*;

pub fn value(i: u32) -> u64 {
    let data: [u8; 90] = core::array::from_fn(|at| (at % 17) as u8 & 0x82);
    let (from, len) = (i as usize % 17, i as usize / 17 % 40);
    let (a, b) = (&data[from..from + len], &data[17 + i as usize % 3..][..len]);
    u64::from(a == b) + 4 * (a.cmp(b) as i64 + 1) as u64
}
