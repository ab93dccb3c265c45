use super::*;

pub fn value(i: u32) -> u64 {
    let source: [u32; 40] = core::array::from_fn(|at| hash(at as u32));
    let mut target = [0_u32; 40];
    let n = core::hint::black_box(i as usize % 41);
    target[40 - n..].copy_from_slice(&source[..n]);
    let mut bytes = [1_u8; 100];
    bytes[i as usize % 50..].fill(n as u8);
    mix(target.iter().fold(0, |sum, term| mix(sum, u64::from(*term))), bytes.iter().map(|term| u64::from(*term)).sum())
}
