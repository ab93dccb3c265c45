//! `libcuda.so.1`: all symbols that the CUDA driver exports. Each function jumps to the one in simt's driver. The
//! variables, which debuggers read and write, stay zero without a debugger.
//!
//! A program that links to the driver or opens it finds this library instead if `LD_LIBRARY_PATH` says so.

#![cfg(target_os = "linux")]

mod profile;

use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

macro_rules! count {
    ($($number:literal $name:ident,)*) => {
        [$($number),*].len()
    };
}
const COUNT: usize = driver::for_each_symbol!(count);

/// The addresses that the exported functions jump to.
static TARGETS: [AtomicPtr<()>; COUNT] = [const { AtomicPtr::new(std::ptr::null_mut()) }; COUNT];

macro_rules! export {
    ($($number:literal $name:ident,)*) => {
        /// Fills in the targets, and begins the report if the program requests one.
        extern "C" fn fill() {
            for (name, target) in [$(stringify!($name)),*].into_iter().zip(&TARGETS) {
                if let Some(function) = driver::function(name) {
                    target.store(function.0.cast_mut(), Ordering::Relaxed);
                }
            }
            profile::begin();
        }

        $(
            /// The driver's function with this name.
            #[allow(non_snake_case, reason = "the driver's name")]
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            extern "C" fn $name() {
                jump!($number)
            }
        )*
    };
}

#[cfg(target_arch = "x86_64")]
macro_rules! jump {
    ($number:literal) => {
        // The jump leaves the arguments in place. The targets are filled in when the library is loaded, before any
        // call.
        core::arch::naked_asm!(
            "jmp qword ptr [rip + {targets} + 8 * {number}]",
            targets = sym TARGETS,
            number = const $number,
        )
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! jump {
    ($number:literal) => {
        // As on x86-64. Calls between libraries may change register x16.
        core::arch::naked_asm!(
            "adrp x16, {targets}",
            "add x16, x16, :lo12:{targets}",
            "ldr x16, [x16, #8 * {number}]",
            "br x16",
            targets = sym TARGETS,
            number = const $number,
        )
    };
}

driver::for_each_symbol!(export);

macro_rules! variables {
    ($($bytes:literal $name:ident,)*) => {
        $(
            /// The driver's variable with this name.
            #[allow(non_upper_case_globals, reason = "the driver's name")]
            #[unsafe(no_mangle)]
            static $name: [AtomicU32; $bytes / 4] = [const { AtomicU32::new(0) }; $bytes / 4];
        )*
    };
}
driver::for_each_variable!(variables);

/// Marks this library for programs of this project, which check that it is not the driver of a GPU.
#[unsafe(no_mangle)]
extern "C" fn ladder_simt_driver() {}

/// The function that the system's loader calls when it loads the library.
#[used]
// SAFETY: `.init_array` holds addresses of functions without arguments, such as this one.
#[unsafe(link_section = ".init_array")]
static FILL: extern "C" fn() = fill;
