use super::*;

pub fn value(i: u32) -> u64 {
    let a = i as u8;
    let b = hash(i) as i16;
    let sum = a.wrapping_add(200).wrapping_mul(3) >> 2;
    let signed = b.wrapping_mul(b).wrapping_sub(b >> 3);
    u64::from(sum) << 20 | u64::from(signed as u16) | u64::from(i8::from_ne_bytes([a]).is_negative()) << 40
}
