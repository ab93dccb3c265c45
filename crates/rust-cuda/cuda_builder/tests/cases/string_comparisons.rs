use super::*;

pub fn value(i: u32) -> u64 {
    let words = ["alpha", "alphabet", "beta", "be", "", "alph\u{e4}"];
    let (a, b) = (words[i as usize % 6], words[i as usize / 6 % 6]);
    u64::from(a == b) + 10 * (a.cmp(b) as i64 + 1) as u64 + 100 * u64::from(a.starts_with(b)) + 1000 * u64::from(a < b)
}
