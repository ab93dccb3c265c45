use super::*;

pub fn value(i: u32) -> u64 {
    let x = float(i);
    let class = x.classify() as u64;
    let signs = bits32(x.abs()) ^ bits32(x.copysign(-1.0)) ^ bits32(-x).rotate_left(4);
    mix(class, signs) ^ bits32(x.next_up()) ^ bits64(f64::from(x).next_down()) ^ u64::from(x.to_be_bytes()[1])
}
