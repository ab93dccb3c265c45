//! constant static `writes_constant::COUNT`
#[address_space(constant)]
static mut COUNT: u32 = 7;
#[kernel]
pub unsafe fn counts(out: *mut u32) {
    unsafe {
        COUNT += 1;
        *out = COUNT;
    }
}
