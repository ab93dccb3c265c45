//! a kernel parameter is a wide pointer, with a length or a vtable
type Floats = &'static [f32];
#[kernel]
pub unsafe fn reads(data: Floats, out: *mut f32) {
    unsafe { *out = data[0] }
}
