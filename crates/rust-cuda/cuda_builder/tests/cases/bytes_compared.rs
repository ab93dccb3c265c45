use super::*;

pub fn value(i: u32) -> u64 {
    let mut a = [7_u8; 64];
    let mut b = a;
    a[i as usize % 64] = i as u8;
    b[i as usize * 5 % 64] ^= (i >> 6) as u8;
    let order = a.cmp(&b) as i64 as u64;
    u64::from(a == b) + 2 * u64::from(a[i as usize % 64..] <= b[i as usize % 64..]) + mix(order, 0)
}
