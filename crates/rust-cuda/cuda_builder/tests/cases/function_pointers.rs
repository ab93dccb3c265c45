use super::*;

fn add(a: u32, b: u32) -> u32 {
    a.wrapping_add(b)
}
fn multiply(a: u32, b: u32) -> u32 {
    a.wrapping_mul(b)
}
fn either(a: u32, b: u32) -> u32 {
    a | b
}
static TABLE: [fn(u32, u32) -> u32; 3] = [add, multiply, either];
pub fn value(i: u32) -> u64 {
    u64::from(TABLE[i as usize % 3](i, TABLE[i as usize / 3 % 3](i, 12345)))
}
