use super::*;

fn is_even(n: u32, trail: &mut [u8; 8]) -> bool {
    trail[n as usize % 8] += 1;
    n == 0 || is_odd(n - 1, trail)
}
#[inline(never)]
fn is_odd(n: u32, trail: &mut [u8; 8]) -> bool {
    n != 0 && is_even(n - 1, trail)
}
pub fn value(i: u32) -> u64 {
    let mut trail = [0; 8];
    u64::from(is_even(i % 40, &mut trail)) + u64::from_le_bytes(trail)
}
