use super::*;

pub fn value(i: u32) -> u64 {
    let root = u64::from(i.isqrt()) + u64::from(hash(i).isqrt()) * 100;
    mix(root, u64::from(i).pow(7))
        + u64::from((i + 1).ilog2() + 50 * (i + 1).ilog10() + 5000 * (i + 1).ilog(3))
        + u64::from((i % 9).pow(8))
}
