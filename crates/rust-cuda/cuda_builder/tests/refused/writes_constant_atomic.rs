//! constant static `writes_constant_atomic::SUM`
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
#[address_space(constant)]
static SUM: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];
#[kernel]
pub unsafe fn adds(i: usize) {
    SUM[i % 2].fetch_add(1, Relaxed);
}
