//! `k` takes a remainder
use core::simd::f32x4;
#[kernel]
pub unsafe fn k(a: *mut f32x4, b: f32) {
    unsafe { *a = *a % f32x4::splat(b) }
}
