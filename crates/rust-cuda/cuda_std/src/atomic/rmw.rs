//! Relaxed read-modify-writes for each type, on which the other layers are built.
//!
//! Functions with plain names have at least device scope and use LLVM's atomics. Functions whose names end in `_system`
//! use inline assembly. The [module's documentation](super) explains why.

use core::arch::asm;
use core::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed};

#[allow(improper_ctypes)]
unsafe extern "unadjusted" {
    // LLVM has removed these two intrinsics but still replaces calls to them with `atomicrmw fadd`, which Rust cannot
    // express otherwise.
    #[link_name = "llvm.nvvm.atomic.load.add.f32.p0"]
    fn llvm_atomic_add_f32(ptr: *mut f32, val: f32) -> f32;
    #[link_name = "llvm.nvvm.atomic.load.add.f64.p0"]
    fn llvm_atomic_add_f64(ptr: *mut f64, val: f64) -> f64;
}

/// A type that the hardware's atomics support. All functions return the previous value.
///
/// For every function, `ptr` must be valid for reads and writes and aligned to the size of `Self`. During the call,
/// other threads must only access it with atomics.
pub(super) trait Word: Copy {
    unsafe fn add(ptr: *mut Self, val: Self) -> Self;
    unsafe fn sub(ptr: *mut Self, val: Self) -> Self;
    unsafe fn and(ptr: *mut Self, val: Self) -> Self;
    unsafe fn or(ptr: *mut Self, val: Self) -> Self;
    unsafe fn xor(ptr: *mut Self, val: Self) -> Self;
    unsafe fn exch(ptr: *mut Self, val: Self) -> Self;
    /// Stores `new` if the value has the bits of `current`.
    unsafe fn cas(ptr: *mut Self, current: Self, new: Self) -> Self;

    unsafe fn add_system(ptr: *mut Self, val: Self) -> Self;
    unsafe fn sub_system(ptr: *mut Self, val: Self) -> Self;
    unsafe fn and_system(ptr: *mut Self, val: Self) -> Self;
    unsafe fn or_system(ptr: *mut Self, val: Self) -> Self;
    unsafe fn xor_system(ptr: *mut Self, val: Self) -> Self;
    unsafe fn exch_system(ptr: *mut Self, val: Self) -> Self;
    unsafe fn cas_system(ptr: *mut Self, current: Self, new: Self) -> Self;
}

/// A type that the hardware can compare.
pub(super) trait Ordered: Word {
    unsafe fn min(ptr: *mut Self, val: Self) -> Self;
    unsafe fn max(ptr: *mut Self, val: Self) -> Self;
    unsafe fn min_system(ptr: *mut Self, val: Self) -> Self;
    unsafe fn max_system(ptr: *mut Self, val: Self) -> Self;
}

/// Executes `atom.relaxed.sys.<op>.<type>` on a register of the given class. `<op>` and `<type>` are spelled as in PTX.
macro_rules! atom_system {
    ($op:expr, $class:ident, $ptr:expr, $val:expr) => {{
        let old;
        asm!(
            concat!("atom.relaxed.sys.", $op, " {old}, [{ptr}], {val};"),
            old = out($class) old,
            ptr = in(reg64) $ptr,
            val = in($class) $val,
            options(nostack),
        );
        old
    }};
}

/// Defines functions of `Word` that call a method of `core`'s atomic.
macro_rules! by_core {
    ($core:ident: $($name:ident = $method:ident),*) => {$(
        #[inline(always)]
        unsafe fn $name(ptr: *mut Self, val: Self) -> Self {
            // SAFETY: by the trait's contract, `ptr` is valid, aligned, and only accessed by atomics.
            unsafe { $core::from_ptr(ptr) }.$method(val, Relaxed)
        }
    )*};
}

/// Defines functions of `Word` that consist of one system-scope `atom`.
macro_rules! by_asm {
    ($class:ident: $($name:ident = $op:expr),*) => {$(
        #[inline(always)]
        unsafe fn $name(ptr: *mut Self, val: Self) -> Self {
            // SAFETY: by the trait's contract, `ptr` is valid, aligned, and only accessed by atomics.
            unsafe { atom_system!($op, $class, ptr, val) }
        }
    )*};
}

macro_rules! integer {
    ($($type:ident: $core:ident, $class:ident, $bits:literal, $add:literal, $min:literal, $max:literal;)*) => {$(
        impl Word for $type {
            by_core!($core: add = fetch_add, sub = fetch_sub, and = fetch_and, or = fetch_or, xor = fetch_xor, exch = swap);
            by_asm!($class:
                add_system = $add,
                and_system = concat!("and.", $bits),
                or_system = concat!("or.", $bits),
                xor_system = concat!("xor.", $bits),
                exch_system = concat!("exch.", $bits)
            );

            #[inline(always)]
            unsafe fn sub_system(ptr: *mut Self, val: Self) -> Self {
                // SAFETY: by the trait's contract, `ptr` is valid, aligned, and only accessed by atomics.
                unsafe { Self::add_system(ptr, val.wrapping_neg()) }
            }

            #[inline(always)]
            unsafe fn cas(ptr: *mut Self, current: Self, new: Self) -> Self {
                // SAFETY: by the trait's contract, `ptr` is valid, aligned, and only accessed by atomics.
                match unsafe { $core::from_ptr(ptr) }.compare_exchange(current, new, Relaxed, Relaxed) {
                    Ok(old) | Err(old) => old,
                }
            }

            /// LLVM 22 keeps the scope of a compare-exchange, and `core`'s compare-exchange has system scope.
            #[inline(always)]
            unsafe fn cas_system(ptr: *mut Self, current: Self, new: Self) -> Self {
                // SAFETY: by the trait's contract, `ptr` is valid, aligned, and only accessed by atomics.
                unsafe { Self::cas(ptr, current, new) }
            }
        }

        impl Ordered for $type {
            by_core!($core: min = fetch_min, max = fetch_max);
            by_asm!($class: min_system = $min, max_system = $max);
        }
    )*};
}

integer! {
    u32: AtomicU32, reg32, "b32", "add.u32", "min.u32", "max.u32";
    i32: AtomicI32, reg32, "b32", "add.s32", "min.s32", "max.s32";
    u64: AtomicU64, reg64, "b64", "add.u64", "min.u64", "max.u64";
    // PTX has no add.s64. In two's complement, add.u64 yields the same bits.
    i64: AtomicI64, reg64, "b64", "add.u64", "min.s64", "max.s64";
}

/// Defines bitwise operations on a float as operations on the integer of the same size.
macro_rules! by_bits {
    ($type:ident as $bits:ident: $($name:ident),*) => {$(
        #[inline(always)]
        unsafe fn $name(ptr: *mut Self, val: Self) -> Self {
            // SAFETY: by the trait's contract, `ptr` is valid, aligned, and only accessed by atomics.
            $type::from_bits(unsafe { $bits::$name(ptr.cast(), val.to_bits()) })
        }
    )*};
}

macro_rules! float {
    ($($type:ident as $bits:ident: $add:ident, $class:ident, $system_add:literal;)*) => {$(
        impl Word for $type {
            by_bits!($type as $bits: and, or, xor, exch, and_system, or_system, xor_system, exch_system);

            #[inline(always)]
            unsafe fn add(ptr: *mut Self, val: Self) -> Self {
                // SAFETY: by the trait's contract, `ptr` is valid, aligned, and only accessed by atomics.
                unsafe { $add(ptr, val) }
            }

            #[inline(always)]
            unsafe fn sub(ptr: *mut Self, val: Self) -> Self {
                // SAFETY: by the trait's contract, `ptr` is valid, aligned, and only accessed by atomics.
                unsafe { $add(ptr, -val) }
            }

            #[inline(always)]
            unsafe fn add_system(ptr: *mut Self, val: Self) -> Self {
                // SAFETY: by the trait's contract, `ptr` is valid, aligned, and only accessed by atomics.
                let old: $bits = unsafe { atom_system!($system_add, $class, ptr, val.to_bits()) };
                $type::from_bits(old)
            }

            #[inline(always)]
            unsafe fn sub_system(ptr: *mut Self, val: Self) -> Self {
                // SAFETY: by the trait's contract, `ptr` is valid, aligned, and only accessed by atomics.
                unsafe { Self::add_system(ptr, -val) }
            }

            #[inline(always)]
            unsafe fn cas(ptr: *mut Self, current: Self, new: Self) -> Self {
                // SAFETY: by the trait's contract, `ptr` is valid, aligned, and only accessed by atomics.
                $type::from_bits(unsafe { $bits::cas(ptr.cast(), current.to_bits(), new.to_bits()) })
            }

            #[inline(always)]
            unsafe fn cas_system(ptr: *mut Self, current: Self, new: Self) -> Self {
                // SAFETY: by the trait's contract, `ptr` is valid, aligned, and only accessed by atomics.
                unsafe { Self::cas(ptr, current, new) }
            }
        }
    )*};
}

float! {
    f32 as u32: llvm_atomic_add_f32, reg32, "add.f32";
    f64 as u64: llvm_atomic_add_f64, reg64, "add.f64";
}
