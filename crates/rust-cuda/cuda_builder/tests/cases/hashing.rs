use super::*;
use core::hash::{Hash, Hasher};
struct Fnv(u64);
impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}
#[derive(Hash)]
struct Key<'a> {
    name: &'a str,
    parts: [u16; 3],
    last: Option<i8>,
}
pub fn value(i: u32) -> u64 {
    let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
    Key { name: &"abcdefgh"[i as usize % 8..], parts: [i as u16, 2, 3], last: (i % 2 == 0).then_some(i as i8) }
        .hash(&mut hasher);
    hasher.finish()
}
