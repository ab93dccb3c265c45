use super::*;

#[repr(C)]
union Bits {
    float: f32,
    int: u32,
    bytes: [u8; 4],
}
pub fn value(i: u32) -> u64 {
    let mut bits = Bits { float: float(i) };
    unsafe {
        bits.bytes[3] ^= 0x80;
        if bits.int % 2 == 0 {
            bits.int += i;
        }
        u64::from(bits.int) ^ u64::from(bits.bytes[1]) << 40
    }
}
