use super::*;

#[cfg(target_arch = "nvptx64")]
pub fn value(i: u32) -> u64 {
    let x = i as f32 * 100.0 - 3000.0;
    let half = x as f16;
    // About 30 steps of 2^-10, and an exact remainder.
    let sum = half / 8.0 + (half % 7.0);
    (sum as f32 * 8.0) as i32 as u64
}
#[cfg(not(target_arch = "nvptx64"))]
pub fn value(i: u32) -> u64 {
    // Rounds to the nearest number with 11 bits, ties to even.
    let near = |x: f64| {
        if x == 0.0 {
            x
        } else {
            let step = 2_f64.powi(x.abs().log2().floor() as i32 - 10);
            (x / step).round_ties_even() * step
        }
    };
    let half = near(f64::from(i) * 100.0 - 3000.0);
    (near(near(half / 8.0) + near(half % 7.0)) * 8.0) as i32 as u64
}
