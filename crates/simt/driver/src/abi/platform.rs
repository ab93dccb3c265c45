//! The driver's bindings to the host's C library.

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
    fn _exit(code: c_int) -> !;
    fn process_vm_readv(
        process: c_int,
        to: *const Bytes,
        to_count: usize,
        from: *const Bytes,
        from_count: usize,
        flags: usize,
    ) -> isize;
}

/// A range of memory in a process (`struct iovec`).
#[cfg(target_os = "linux")]
#[derive(Clone, Copy)]
#[repr(C)]
struct Bytes {
    start: *const c_void,
    len: usize,
}

/// Returns the index of the first of these places that this process cannot read. This system provides no such check, so
/// every place counts as readable.
#[cfg(not(target_os = "linux"))]
pub(crate) fn first_unreadable(_places: &[Place]) -> Option<usize> {
    None
}

/// Returns the index of the first of these places that this process cannot read. If a sandbox forbids the system call,
/// every place counts as readable.
#[cfg(target_os = "linux")]
pub(crate) fn first_unreadable(places: &[Place]) -> Option<usize> {
    /// The maximum number of places in one system call (`IOV_MAX`).
    const MOST: usize = 1024;
    /// `EFAULT`.
    const BAD_ADDRESS: i32 = 14;
    let longest = places.iter().map(|(_, len)| *len).max()?;
    let mut copy = vec![0_u8; longest];
    for (number, chunk) in places.chunks(MOST).enumerate() {
        let from: Vec<Bytes> = chunk.iter().map(|(start, len)| Bytes { start: start.cast(), len: *len }).collect();
        // All places are copied to the same buffer, which is never read.
        let to: Vec<Bytes> =
            chunk.iter().map(|(_, len)| Bytes { start: copy.as_mut_ptr().cast(), len: *len }).collect();
        // SAFETY: each range in `to` has at most `longest` bytes, which is the length of `copy`. The system call checks
        // the addresses in `from` and returns an error for unreadable addresses.
        let copied = unsafe {
            process_vm_readv(std::process::id() as c_int, to.as_ptr(), to.len(), from.as_ptr(), from.len(), 0)
        };
        let mut left = match usize::try_from(copied) {
            Ok(copied) => copied,
            Err(_) if std::io::Error::last_os_error().raw_os_error() == Some(BAD_ADDRESS) => 0,
            Err(_) => return None,
        };
        // The system call stops at the first place that cannot be read, and may have copied the start of that place.
        for (at, (_, len)) in chunk.iter().enumerate() {
            if left < *len {
                return Some(number * MOST + at);
            }
            left -= len;
        }
    }
    None
}

/// An address and a number of bytes.
pub(crate) type Place = (*const u8, usize);

/// Writes to the standard output. Like a GPU's driver, it ignores a failed write.
#[cfg(not(target_os = "linux"))]
pub(crate) fn print(bytes: &[u8]) {
    let _ = std::io::stdout().write_all(bytes);
}

/// Flushes C's streams and ends the process with this exit code.
#[cfg(target_os = "linux")]
pub(crate) fn exit(code: u8) -> ! {
    // SAFETY: `fflush` accepts null, which means all streams. The process ends here, so no code runs afterwards.
    unsafe {
        fflush(std::ptr::null_mut());
        _exit(code.into())
    }
}

/// Ends the process with this exit code.
#[cfg(not(target_os = "linux"))]
pub(crate) fn exit(code: u8) -> ! {
    std::process::exit(code.into())
}

/// Returns 0. Only NVIDIA's runtime library needs the number of the calling thread, and the runtime finds this driver
/// only on Linux.
#[cfg(not(target_os = "linux"))]
pub(crate) fn thread() -> u64 {
    0
}

/// Writes to C's standard output, so that the text is ordered with the program's output. Like a GPU's driver, it
/// ignores a failed write.
#[cfg(target_os = "linux")]
pub(crate) fn print(bytes: &[u8]) {
    // SAFETY: `stdout` is open for the lifetime of the process, and the pointer and length are those of a slice.
    unsafe {
        fwrite(bytes.as_ptr().cast(), 1, bytes.len(), stdout);
        fflush(stdout);
    }
}

/// Returns the number of the calling thread, as `pthread_self` does.
#[cfg(target_os = "linux")]
pub(crate) fn thread() -> u64 {
    // SAFETY: `pthread_self` has no preconditions.
    unsafe { pthread_self() as u64 }
}
