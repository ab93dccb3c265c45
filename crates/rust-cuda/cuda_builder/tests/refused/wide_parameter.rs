//! a kernel parameter is a wide pointer, with a length or a vtable
#[kernel]
pub unsafe fn reads(text: &str, out: *mut u32) {
    unsafe { *out = text.len() as u32 }
}
