use super::*;
use core::ops::{Add, Index, IndexMut, Mul, Neg, Not};
#[derive(Clone, Copy)]
struct Complex([i32; 2]);
impl Add for Complex {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Self([self[0] + o[0], self[1] + o[1]])
    }
}
impl Mul for Complex {
    type Output = Self;
    fn mul(self, o: Self) -> Self {
        Self([self[0] * o[0] - self[1] * o[1], self[0] * o[1] + self[1] * o[0]])
    }
}
impl Neg for Complex {
    type Output = Self;
    fn neg(self) -> Self {
        Self(self.0.map(|it| -it))
    }
}
impl Not for Complex {
    type Output = Self;
    fn not(self) -> Self {
        Self([self[0], -self[1]])
    }
}
impl Index<usize> for Complex {
    type Output = i32;
    fn index(&self, at: usize) -> &i32 {
        &self.0[at]
    }
}
impl IndexMut<usize> for Complex {
    fn index_mut(&mut self, at: usize) -> &mut i32 {
        &mut self.0[at]
    }
}
pub fn value(i: u32) -> u64 {
    let mut a = Complex([i as i32, 3]);
    a[i as usize % 2] += 5;
    let b = !(a * a + -a);
    mix(b[0] as u64, b[1] as u64)
}
