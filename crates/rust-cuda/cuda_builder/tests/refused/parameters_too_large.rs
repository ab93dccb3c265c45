//! kernel `takes` has 40008 bytes of parameters, but compute_75 allows 32764
#[derive(Clone, Copy)]
pub struct Large([u32; 10_000]);
#[kernel]
pub unsafe fn takes(large: Large, out: *mut u32) {
    unsafe { *out = large.0[77] }
}
