//! `counts` has an atomic operation on a variable of a single thread
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
#[kernel]
pub unsafe fn counts(i: usize, out: *mut u32) {
    let counts = [const { AtomicU32::new(0) }; 8];
    for at in 0..i {
        let _ = counts[at * at % 8].compare_exchange(at as u32 % 3, at as u32, Relaxed, Relaxed);
    }
    unsafe { *out = counts[i % 8].load(Relaxed) }
}
