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
//! # What formatting costs
//!
//! Registers: a kernel that formats integers has at least 56 for each thread, and one that formats floats has 255, so
//! that a block of it has 256 threads at most. Time to load: the driver compiles Rust's formatting of floats for half a
//! minute, once. And stack: how much is known to nobody before, so that CUDA gives each thread the context's limit,
//! 1 KiB. That is enough for integers and texts; floats and `{:?}` of structs take more. Without it the launch ends with
//! `CUDA_ERROR_ILLEGAL_ADDRESS`. The host sets the limit, before it launches: `cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 8192)`, with
//! cust `CurrentContext::set_resource_limit(ResourceLimit::StackSize, 8192)`.

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

/// Reports that printing needs the feature `alloc`. On the host, `#[kernel]` uses it for kernels that print.
#[cfg(not(feature = "alloc"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __printing_needs_alloc {
    () => {
        ::core::compile_error!(
            "printing in a kernel needs cuda_std's feature `alloc`: add it to cuda_std's `features` in Cargo.toml"
        );
    };
}

/// Nothing: printing has the feature that it needs.
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
