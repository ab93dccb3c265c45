use super::*;

#[cfg(target_arch = "nvptx64")]
pub fn value(i: u32) -> u64 {
    let (sum, high): (u32, u64);
    unsafe {
        core::arch::asm!("{{ .reg .u32 t; add.u32 t, {a}, 3; mad.lo.u32 {r}, t, {b}, 1; }}", a = in(reg32) i, b = in(reg32) 5_u32, r = out(reg32) sum);
        core::arch::asm!("mul.hi.u64 {}, {}, {};", out(reg64) high, in(reg64) u64::MAX - 5, in(reg64) u64::from(i) << 50);
    }
    u64::from(sum) + high
}
#[cfg(not(target_arch = "nvptx64"))]
pub fn value(i: u32) -> u64 {
    u64::from((i + 3) * 5 + 1) + (u128::from(u64::MAX - 5) * u128::from(u64::from(i) << 50) >> 64) as u64
}
