//! mismatched types
#[kernel]
pub unsafe fn writes(out: *mut u32) {
    unsafe { *out = 1.5_f32 }
}
