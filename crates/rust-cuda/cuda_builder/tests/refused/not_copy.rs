//! the trait bound `Owned: Copy` is not satisfied
pub struct Owned(u32);
#[kernel]
pub unsafe fn reads(data: Owned, out: *mut u32) {
    unsafe { *out = data.0 }
}
