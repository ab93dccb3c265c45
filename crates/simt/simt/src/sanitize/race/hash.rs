//! A hash for numbers.

use std::hash::{BuildHasherDefault, Hasher};

/// Multiplies numbers by an odd one, which is enough for numbers that nobody chooses to collide.
#[derive(Debug, Default)]
pub(super) struct Multiply(u64);

impl Hasher for Multiply {
    fn finish(&self) -> u64 {
        self.0.swap_bytes()
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }
}

pub(super) type FastHasher = BuildHasherDefault<Multiply>;
