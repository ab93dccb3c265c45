//! a kernel parameter is a pointer with a length or a vtable beside it
type Floats = &'static [f32];
#[kernel]
pub unsafe fn reads(data: Floats, out: *mut f32) {
    unsafe { *out = data[0] }
}
