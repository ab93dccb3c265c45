use super::*;

fn apply(f: &mut dyn FnMut(u32), n: u32) {
    (0..n).for_each(f);
}
pub fn value(i: u32) -> u64 {
    let mut sum = u64::from(i);
    apply(&mut |it| sum = mix(sum, u64::from(it)), i % 7);
    sum
}
