use super::*;

pub fn value(i: u32) -> u64 {
    let mut angles = [i as f32 * 1.7, -1e9, 6.5, f32::MIN_POSITIVE];
    core::hint::black_box(&mut angles).iter_mut().for_each(|it| *it %= core::f32::consts::TAU);
    angles.iter().fold(0, |sum, term| mix(sum, bits32(*term)))
}
