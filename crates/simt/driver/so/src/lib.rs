//! `libcuda.so.1`: all that the CUDA driver exports. Each function is a jump to the simulated driver's; the variables, which
//! debuggers read and write, stay zero without one.
//!
//! A program that is linked to the driver, or opens it, finds this library instead where `LD_LIBRARY_PATH` says so.

#![cfg(target_os = "linux")]

mod profile;

use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

macro_rules! count {
    ($($number:literal $name:ident,)*) => {
        [$($number),*].len()
    };
}
const COUNT: usize = driver::for_each_symbol!(count);

/// Where the functions are that the exported ones jump to.
static TARGETS: [AtomicPtr<()>; COUNT] = [const { AtomicPtr::new(std::ptr::null_mut()) }; COUNT];

macro_rules! export {
    ($($number:literal $name:ident,)*) => {
        /// Fills in the targets, and begins the report of a program that asks for one.
        extern "C" fn fill() {
            for (name, target) in [$(stringify!($name)),*].into_iter().zip(&TARGETS) {
                if let Some(function) = driver::function(name) {
                    target.store(function.0.cast_mut(), Ordering::Relaxed);
                }
            }
            profile::begin();
        }

        $(
            /// The driver's function of this name.
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
        // The arguments stay where they are. No function is called before the library is loaded, and so the targets filled in.
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
        // As on x86-64; x16 is the register that calls between libraries may change.
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
            /// The driver's variable of this name.
            #[allow(non_upper_case_globals, reason = "the driver's name")]
            #[unsafe(no_mangle)]
            static $name: [AtomicU32; $bytes / 4] = [const { AtomicU32::new(0) }; $bytes / 4];
        )*
    };
}
driver::for_each_variable!(variables);

/// Tells programs of this project that this is not the driver of a GPU.
#[unsafe(no_mangle)]
extern "C" fn ladder_simulated_driver() {}

/// The system's loader calls it when it loads the library.
#[used]
// SAFETY: the section holds the addresses of functions without arguments.
#[unsafe(link_section = ".init_array")]
static FILL: extern "C" fn() = fill;
