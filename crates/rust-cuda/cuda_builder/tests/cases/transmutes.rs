use super::*;

pub fn value(i: u32) -> u64 {
    let words: [u16; 4] = unsafe { core::mem::transmute(u64::from(hash(i)) << 16 | 0x1234) };
    let floats: [f32; 2] = unsafe { core::mem::transmute([hash(i), i]) };
    let bytes = words.map(u16::to_be_bytes);
    mix(u64::from(words[2]) ^ u64::from(bytes[1][0]), u64::from(floats[0].to_bits() ^ floats[1].to_bits()))
}
