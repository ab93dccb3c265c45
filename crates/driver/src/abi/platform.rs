//! What the driver needs of the host's C library.

use std::ffi::{c_int, c_void};

unsafe extern "C" {
    static stdout: *mut c_void;
    fn fwrite(from: *const c_void, size: usize, count: usize, to: *mut c_void) -> usize;
    fn fflush(file: *mut c_void) -> c_int;
    fn pthread_self() -> usize;
}

/// Writes to C's standard output. Like a GPU's driver, it does not mind that nobody reads.
pub(crate) fn print(bytes: &[u8]) {
    // SAFETY: C's own stream, which is open as long as the process runs, and the bytes of a slice.
    unsafe {
        fwrite(bytes.as_ptr().cast(), 1, bytes.len(), stdout);
        fflush(stdout);
    }
}

/// The number of the thread that calls, as `pthread_self` gives it.
pub(crate) fn thread() -> u64 {
    // SAFETY: asks for a number.
    unsafe { pthread_self() as u64 }
}
