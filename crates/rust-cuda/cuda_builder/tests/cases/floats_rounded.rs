use super::*;

pub fn value(i: u32) -> u64 {
    use cuda_std::GpuFloat;
    let x = float(i) / 3.0;
    let d = f64::from(x) + 0.5;
    let single = [GpuFloat::floor(x), GpuFloat::ceil(x), GpuFloat::trunc(x), GpuFloat::round(x)];
    let double = [GpuFloat::floor(d), GpuFloat::ceil(d), GpuFloat::trunc(d), GpuFloat::round(d)];
    single.iter().zip(&double).fold(0, |sum, (a, b)| mix(sum, bits32(*a) ^ bits64(*b).rotate_left(9)))
}
