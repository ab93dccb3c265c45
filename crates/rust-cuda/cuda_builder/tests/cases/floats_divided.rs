use super::*;

pub fn value(i: u32) -> u64 {
    use cuda_std::GpuFloat;
    let (a, b) = (float(i), float(i * 3 + 1));
    let (c, d) = (f64::from(a), f64::from(b));
    mix(mix(bits32(a / b), bits32(GpuFloat::sqrt(a))), mix(bits64(c / d), bits64(GpuFloat::sqrt(c / 7.0))))
}
