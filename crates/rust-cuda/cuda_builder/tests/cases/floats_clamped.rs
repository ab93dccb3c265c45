use super::*;

pub fn value(i: u32) -> u64 {
    let x = float(i);
    mix(bits32(x.clamp(-2.0, 1e20)), bits64(f64::from(x).clamp(0.25, 0.5))) + u64::from(x.is_sign_negative())
}
