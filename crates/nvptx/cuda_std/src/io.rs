//! Text from kernels to the host: [`print!`](crate::print) and [`println!`](crate::println).
//!
//! Threads print into a buffer of the context's, 1 MiB by default, which the driver empties into the process's standard
//! output at the next synchronization; what has no room overwrites the oldest text ("CUDA C++ Programming Guide",
//! "Formatted Output"). What one call prints stays together, up to the first zero byte in it. Off the GPU they are `std`'s.
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! let (lane, share) = (3, 12.5);
//! println!("lane {lane} has {share}%");
//! ```
//!
//! Rust's formatting takes registers: a kernel that prints integers has at least 56 for each thread, and one that prints
//! floats with `{}` has 255, so that a block of it cannot have more than 256 threads.

#[cfg(target_arch = "nvptx64")]
unsafe extern "C" {
    // The driver's functions, which every module may call.

    /// Prints by a C format, with the arguments one behind the other in memory.
    #[doc(hidden)]
    pub fn vprintf(format: *const u8, valist: *const core::ffi::c_void) -> i32;

    /// Ends the launch with an assertion that has failed. All three texts end with a zero.
    #[doc(hidden)]
    pub fn __assertfail(message: *const u8, file: *const u8, line: u32, function: *const u8, char_size: usize);
}

/// Prints; what [`print!`](crate::print) expands to.
#[doc(hidden)]
#[cfg(all(target_arch = "nvptx64", feature = "alloc"))]
#[inline(never)]
pub fn print(text: core::fmt::Arguments<'_>) {
    let mut text = alloc::fmt::format(text);
    text.push('\0');
    // The text is no format: a `%` in it means nothing.
    let arguments = [text.as_ptr()];
    // SAFETY: both texts end with a zero, and the format takes the one pointer.
    unsafe { vprintf(c"%s".as_ptr().cast(), arguments.as_ptr().cast()) };
}

/// Prints to the host's standard output, as `std::print!` does; see [`io`](crate::io).
#[cfg(target_arch = "nvptx64")]
#[macro_export]
macro_rules! print {
    ($($arg:tt)*) => { $crate::io::print(::core::format_args!($($arg)*)) };
}

/// Prints a line to the host's standard output, as `std::println!` does; see [`io`](crate::io).
#[cfg(target_arch = "nvptx64")]
#[macro_export]
macro_rules! println {
    () => { $crate::print!("\n") };
    ($($arg:tt)*) => { $crate::print!("{}\n", ::core::format_args!($($arg)*)) };
}
