//! What the driver needs of the host's C library.

#[cfg(target_os = "linux")]
use std::ffi::{c_int, c_void};
#[cfg(not(target_os = "linux"))]
use std::io::Write as _;

#[cfg(target_os = "linux")]
unsafe extern "C" {
    static stdout: *mut c_void;
    fn fwrite(from: *const c_void, size: usize, count: usize, to: *mut c_void) -> usize;
    fn fflush(file: *mut c_void) -> c_int;
    fn pthread_self() -> usize;
}

/// Writes to the standard output. Like a GPU's driver, it does not mind that nobody reads.
#[cfg(not(target_os = "linux"))]
pub(crate) fn print(bytes: &[u8]) {
    let _ = std::io::stdout().write_all(bytes);
}

/// A number of the thread that calls. Only NVIDIA's runtime library asks for it, which finds this driver on Linux alone.
#[cfg(not(target_os = "linux"))]
pub(crate) fn thread() -> u64 {
    0
}

/// Writes to C's standard output, between what the program itself prints there. Like a GPU's driver, it does not mind that
/// nobody reads.
#[cfg(target_os = "linux")]
pub(crate) fn print(bytes: &[u8]) {
    // SAFETY: C's own stream, which is open as long as the process runs, and the bytes of a slice.
    unsafe {
        fwrite(bytes.as_ptr().cast(), 1, bytes.len(), stdout);
        fflush(stdout);
    }
}

/// The number of the thread that calls, as `pthread_self` gives it.
#[cfg(target_os = "linux")]
pub(crate) fn thread() -> u64 {
    // SAFETY: asks for a number.
    unsafe { pthread_self() as u64 }
}
