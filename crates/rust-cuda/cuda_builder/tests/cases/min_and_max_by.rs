use super::*;

pub fn value(i: u32) -> u64 {
    let data: [f32; 9] = core::array::from_fn(|at| float(i + at as u32 * 31));
    let max = data.iter().copied().max_by(|a, b| a.total_cmp(b)).unwrap();
    let min = data.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1)).unwrap().0;
    mix(bits32(max), min as u64)
}
