use super::*;

struct Collatz(u64);
impl Iterator for Collatz {
    type Item = u64;
    fn next(&mut self) -> Option<u64> {
        (self.0 > 1).then(|| {
            self.0 = if self.0 % 2 == 0 { self.0 / 2 } else { 3 * self.0 + 1 };
            self.0
        })
    }
}
pub fn value(i: u32) -> u64 {
    mix(Collatz(u64::from(i)).count() as u64, Collatz(u64::from(i)).max().unwrap_or(0))
}
