//! The standard library of GPU kernels: [rust-cuda]'s `cuda_std`, for rustc's own PTX backend.
//!
//! Upstream's crate works with upstream's compiler backend only. This one has the same public names
//! and signatures (of upstream's main branch, April 2026) for what it covers, and is written for the
//! target `nvptx64-nvidia-cuda` of an ordinary rustc: a kernel that compiles against this crate
//! compiles against upstream's too.
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! /// Doubles `len` floats.
//! ///
//! /// # Safety
//! /// `data` points to `len` floats in device memory that nothing else uses.
//! #[kernel]
//! pub unsafe fn double(data: *mut f32, len: u32) {
//!     let i = thread::index_1d();
//!     if i < len {
//!         // SAFETY: `i` is in bounds, and no other thread has it.
//!         unsafe { *data.add(i as usize) *= 2.0 };
//!     }
//! }
//! ```
//!
//! # Off the GPU
//!
//! On any other target everything type-checks on stable Rust, so that `cargo check`, rustdoc and
//! rust-analyzer work; what needs a GPU panics when called and names itself. Floating-point maths
//! and the atomic types work everywhere.
//!
//! # Features
//!
//! All but `vek` are on unless a crate says `default-features = false`; upstream's crate has what they add always.
//!
//! | feature | adds | costs the first device build |
//! |---|---|---|
//! | `panic-message` | message, file and line of a panic on the host; without it a panic is a `trap` | nothing; at least 24 to 35 registers in a kernel that can panic |
//! | `alloc` | `Vec`, `Box`, `String`, `format!`, and with them [`print!`]: without the feature, printing is a compile error | nothing |
//! | `glam` | `cuda_std::glam`, and the functions of [`thread`] that return its vectors | 6 s of one core |
//! | `half` | [`struct@f16`] and [`bf16`] | 8 s |
//! | `vek` | `cuda_std::vek`, which upstream advises against | 4 s |
//!
//! # Convergence
//!
//! An operation that several threads take part in (a barrier, a shuffle, a vote) may not be moved by
//! the compiler into or out of a branch that only some of them take. LLVM calls such an operation
//! *convergent*. All of them are LLVM intrinsics here, which are convergent by declaration; inline
//! assembly is not, and is used for nothing that threads do together.
//!
//! [rust-cuda]: https://github.com/Rust-GPU/rust-cuda
#![no_std]
// The list of features above has links to what they add.
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

/// Leaves a comment about a kernel's parameters in its code. `cuda_builder` takes the comment out of the code and writes
/// it next to the parameters in the PTX.
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

// Rust takes a name of the prelude and one of `core`'s or `std`'s own for ambiguous, unless both are the same macro.
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
/// `address_space`, `warp` and [`MaybeUninit`](core::mem::MaybeUninit), which shared memory needs, are not in upstream's
/// prelude: a kernel that is to compile with upstream's crate too imports them by name.
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

/// A panic ends the whole launch with an error that the host sees at its next synchronization:
/// `trap` (PTX ISA §9.7.19.4).
#[cfg(all(target_arch = "nvptx64", not(feature = "panic-message")))]
#[panic_handler]
fn panic(_info: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: `trap` has no preconditions.
    unsafe { core::arch::nvptx::trap() }
}
