//! The standard library of GPU kernels: [rust-cuda]'s `cuda_std` for rustc's PTX backend.
//!
//! Upstream's crate only works with upstream's compiler backend. This crate covers a part of upstream's API, with the
//! same public names and signatures (as of upstream's main branch in April 2026). This crate is written for the target
//! `nvptx64-nvidia-cuda` of an ordinary rustc. A kernel that compiles against this crate also compiles against
//! upstream's.
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! /// Doubles `len` floats.
//! ///
//! /// # Safety
//! /// The caller must ensure that `data` points to `len` floats in device memory that nothing else uses.
//! #[kernel]
//! pub unsafe fn double(data: *mut f32, len: u32) {
//!     let i = thread::index_1d();
//!     if i < len {
//!         // SAFETY: `i < len`, so `i` is in bounds, and each thread has a different `i`.
//!         unsafe { *data.add(i as usize) *= 2.0 };
//!     }
//! }
//! ```
//!
//! # Off the GPU
//!
//! On any target other than the GPU, all items type-check on stable Rust, so that `cargo check`, rustdoc and
//! rust-analyzer work. On such a target, a function that needs a GPU panics with a message that names the function.
//! Floating-point math and the atomic types work everywhere.
//!
//! # Features
//!
//! All features except `vek` are enabled by default. In upstream's crate, they are always included.
//!
//! | feature | adds | cost in the first device build |
//! |---|---|---|
//! | `panic-message` | message, file and line of a panic on the host; without it, a panic is a `trap` | no build time; at least 24 to 35 registers in a kernel that can panic |
//! | `alloc` | `Vec`, `Box`, `String`, `format!` and [`print!`]; without the feature, printing is a compile error | none |
//! | `glam` | `cuda_std::glam`, and the functions of [`thread`] that return its vectors | 6 s on one core |
//! | `half` | [`struct@f16`] and [`bf16`] | 8 s |
//! | `vek` | `cuda_std::vek`, which upstream discourages | 4 s |
//!
//! # Convergence
//!
//! Several threads take part in an operation such as a barrier, a shuffle or a vote. The compiler must not move such an
//! operation into or out of a branch that only some of the threads take. LLVM calls such an operation *convergent*. In
//! this crate, all such operations are LLVM intrinsics, which are declared convergent. Inline assembly is not
//! convergent, so it is not used for collective operations.
//!
//! [rust-cuda]: https://github.com/Rust-GPU/rust-cuda
#![no_std]
// The feature table above links to items that only exist if the feature is enabled.
#![cfg_attr(not(feature = "half"), allow(rustdoc::broken_intra_doc_links))]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(
        abi_unadjusted,
        alloc_error_handler,
        allow_internal_unstable,
        asm_experimental_arch,
        core_float_math,
        linkage,
        link_llvm_intrinsics,
        stdarch_nvptx
    ),
    allow(internal_features)
)]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

/// Emits a comment about a kernel's parameters into the kernel's code. `cuda_builder` removes the comment and writes it
/// next to the parameters in the PTX.
#[cfg(target_arch = "nvptx64")]
#[doc(hidden)]
#[macro_export]
#[allow_internal_unstable(asm_experimental_arch)]
macro_rules! __parameters {
    ($($text:tt)*) => {
        // SAFETY: a comment has no effect.
        unsafe { ::core::arch::asm!($($text)*, options(nomem, nostack, preserves_flags)) }
    };
}

pub mod atomic;
mod builtins;
pub mod cfg;
pub mod float;
mod float_ext;
pub mod intrinsics;
pub mod io;
pub mod mem;
pub mod misc;
#[cfg(all(target_arch = "nvptx64", feature = "panic-message"))]
#[doc(hidden)]
pub mod panic;
pub mod ptr;
pub mod shared;
pub mod thread;
pub mod warp;

// Rust reports a name as ambiguous if both the prelude and `core` or `std` define it, unless both definitions are the
// same macro.
pub use core::{assert_eq, assert_ne};
pub use cuda_std_macros::{address_space, externally_visible, gpu_only, kernel};
pub use float::GpuFloat;
pub use float_ext::FloatExt;
#[cfg(feature = "glam")]
pub use glam;
#[cfg(feature = "half")]
pub use half::{self, bf16, f16};
#[cfg(not(target_arch = "nvptx64"))]
pub use std::{print, println};
#[cfg(feature = "vek")]
pub use vek;

/// The names that most kernels use. `use cuda_std::prelude::*;`
///
/// `address_space`, `warp` and [`MaybeUninit`](core::mem::MaybeUninit), which are needed for shared memory, are not in
/// upstream's prelude. A kernel that must also compile with upstream's crate imports them by name.
pub mod prelude {
    #[cfg(feature = "half")]
    pub use crate::f16;
    pub use crate::{address_space, assert_eq, assert_ne, kernel, print, println, thread, warp};
    #[cfg(feature = "alloc")]
    pub use alloc::{
        borrow::ToOwned,
        boxed::Box,
        format,
        rc::Rc,
        string::{String, ToString},
        vec::Vec,
    };
    pub use core::mem::MaybeUninit;
}

/// Ends the whole launch with `trap` (PTX ISA §9.7.19.4). The host receives the error at its next synchronization.
#[cfg(all(target_arch = "nvptx64", not(feature = "panic-message")))]
#[panic_handler]
fn panic(_info: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: `trap` has no preconditions.
    unsafe { core::arch::nvptx::trap() }
}
