use super::*;

trait Zero: Copy + core::ops::Add<Output = Self> + Into<u64> {
    const ZERO: Self;
}
impl Zero for u8 {
    const ZERO: u8 = 0;
}
impl Zero for u32 {
    const ZERO: u32 = 0;
}
fn total<T: Zero, const N: usize>(data: [T; N]) -> u64 {
    data.into_iter().fold(T::ZERO, |sum, term| sum + term).into() + N as u64
}
pub fn value(i: u32) -> u64 {
    total([i as u8 / 8; 4]) + total([i; 5]) * 1000
}
