use super::*;

pub fn value(i: u32) -> u64 {
    let (a, b) = (hash(i), u64::from(hash(i)) << 29 | u64::from(i));
    mix(u64::from(a / 7 + a % 10 + a / 641), mix(b / 1_000_000_007, b % 12_345))
        ^ (a as i32 / -3) as u64
        ^ (b as i64 % 11) as u64
}
