//! Printing from kernels to the host: [`print!`](crate::print) and [`println!`](crate::println).
//!
//! Threads print into a buffer of the context, 1 MiB by default. The driver copies the buffer to the process's standard
//! output at the next synchronization. When the buffer is full, new text overwrites the oldest text ("CUDA C++
//! Programming Guide", "Formatted Output"). The text of one call stays together and ends at its first zero byte. Off
//! the GPU, the macros are the same as in `std`.
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! let (lane, share) = (3, 12.5);
//! println!("lane {lane} has {share}%");
//! ```
//!
//! # The cost of formatting
//!
//! * Registers: a kernel that formats integers uses at least 56 registers per thread. A kernel that formats floats uses
//!   255, which limits its blocks to 256 threads.
//! * Load time: the driver takes half a minute, once, to compile Rust's formatting of floats.
//! * Stack: the compiler cannot compute the stack size, so CUDA gives each thread the context's limit, 1 KiB. This is
//!   enough for integers and strings. Floats and `{:?}` of structs need more. If the stack is too small, the launch
//!   fails with `CUDA_ERROR_ILLEGAL_ADDRESS`. The host can raise the limit before the launch:
//!   `cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 8192)`, or with cust
//!   `CurrentContext::set_resource_limit(ResourceLimit::StackSize, 8192)`.

#[cfg(target_arch = "nvptx64")]
unsafe extern "C" {
    // Functions of the driver that every module can call.

    /// Prints with a C format string. The arguments are stored contiguously in memory.
    #[doc(hidden)]
    pub fn vprintf(format: *const u8, valist: *const core::ffi::c_void) -> i32;

    /// Ends the launch with a failed assertion. All three strings must end with a zero byte.
    #[doc(hidden)]
    pub fn __assertfail(message: *const u8, file: *const u8, line: u32, function: *const u8, char_size: usize);
}

/// Prints its arguments; [`print!`](crate::print) expands to this function.
#[doc(hidden)]
#[cfg(all(target_arch = "nvptx64", feature = "alloc"))]
#[inline(never)]
pub fn print(text: core::fmt::Arguments<'_>) {
    let mut text = alloc::fmt::format(text);
    text.push('\0');
    // The text is passed as an argument instead of as the format string, so a `%` in it is printed unchanged.
    let arguments = [text.as_ptr()];
    // SAFETY: both strings end with a zero byte, and the format consumes exactly one pointer.
    unsafe { vprintf(c"%s".as_ptr().cast(), arguments.as_ptr().cast()) };
}

/// Prints to the host's standard output, as `std::print!` does; see [`io`](crate::io).
#[cfg(all(target_arch = "nvptx64", feature = "alloc"))]
#[macro_export]
macro_rules! print {
    ($($arg:tt)*) => { $crate::io::print(::core::format_args!($($arg)*)) };
}

/// Prints a line to the host's standard output, as `std::println!` does; see [`io`](crate::io).
#[cfg(all(target_arch = "nvptx64", feature = "alloc"))]
#[macro_export]
macro_rules! println {
    () => { $crate::print!("\n") };
    ($($arg:tt)*) => { $crate::print!("{}\n", ::core::format_args!($($arg)*)) };
}

/// Reports that printing needs the feature `alloc`. On the host, `#[kernel]` uses this macro for kernels that print.
#[cfg(not(feature = "alloc"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __printing_needs_alloc {
    () => {
        ::core::compile_error!(
            "printing in a kernel needs cuda_std's feature `alloc`: add it to the `features` of cuda_std in Cargo.toml"
        );
    };
}

/// Expands to nothing, because the feature `alloc` is enabled.
#[cfg(feature = "alloc")]
#[doc(hidden)]
#[macro_export]
macro_rules! __printing_needs_alloc {
    () => {};
}

/// Reports that printing needs the feature `alloc`.
#[cfg(all(target_arch = "nvptx64", not(feature = "alloc")))]
#[macro_export]
macro_rules! print {
    ($($arg:tt)*) => {
        $crate::__printing_needs_alloc!()
    };
}

/// Reports that printing needs the feature `alloc`.
#[cfg(all(target_arch = "nvptx64", not(feature = "alloc")))]
#[macro_export]
macro_rules! println {
    ($($arg:tt)*) => {
        $crate::__printing_needs_alloc!()
    };
}
