use super::*;

pub fn value(i: u32) -> u64 {
    let a: [u64; 12] = core::array::from_fn(|at| at as u64);
    let mut b = a;
    b[i as usize % 12] += u64::from(i / 128) << 40;
    let c: [[u16; 5]; 3] = [[i as u16; 5]; 3];
    u64::from(a == b) + 2 * u64::from(a < b) + 4 * u64::from(c == [[77; 5]; 3])
}
