//! a kernel parameter is a pointer with a length or a vtable beside it
#[kernel]
pub unsafe fn reads(text: &str, out: *mut u32) {
    unsafe { *out = text.len() as u32 }
}
