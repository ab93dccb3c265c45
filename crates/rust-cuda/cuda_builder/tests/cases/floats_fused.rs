use super::*;

pub fn value(i: u32) -> u64 {
    use cuda_std::GpuFloat;
    let (a, b, c) = (float(i), float(i + 50), float(i * 2));
    let d = GpuFloat::mul_add(f64::from(a), f64::from(b), f64::from(c) / 3.0);
    mix(bits32(GpuFloat::mul_add(a, b, c)), bits64(d))
}
