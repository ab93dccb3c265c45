//! the constant statics have 72000 bytes together, but the limit is 65536 (`constants_too_large::A` 36000, `constants_too_large::other::B` 36000)
#[address_space(constant)]
static A: [u32; 9000] = [111; 9000];
mod other {
    use super::*;
    #[address_space(constant)]
    pub static mut B: [u32; 9000] = [222; 9000];
    #[kernel]
    pub unsafe fn second(i: usize, out: *mut u32) {
        unsafe { *out = B[i] }
    }
}
#[kernel]
pub unsafe fn first(i: usize, out: *mut u32) {
    unsafe { *out = A[i] }
}
