//! Atomics whose names contain the ordering, type and scope: `atomic_fetch_add_relaxed_f32_device`.
//!
//! * `atomic_fetch_{op}_{ordering}_{type}_{scope}(ptr, val)` returns the previous value.
//!   * `op` is `add`, `sub`, `and`, `or`, `xor`, `exch` (store `val`), and for integers also `min` or `max`.
//!   * `ordering` is `relaxed`, `acquire`, `release` or `acqrel`.
//!   * `type` is `u32`, `i32`, `u64`, `i64`, `f32` or `f64`. On a float, `and`, `or` and `xor` operate on the bits.
//! * `atomic_fetch_cas_…(ptr, current, new)` stores `new` if the value has the bits of `current`.
//! * `atomic_load_{ordering}_{width}_{scope}(ptr)`, `atomic_store_{ordering}_{width}_{scope}(ptr, val)`
//!   for `u32` and `u64`.
//! * `fence_sc_{scope}`, `fence_acqrel_{scope}`, `membar_{scope}`.
//!
//! [The parent module](super) explains how these functions are compiled. They require a GPU of compute capability 7.0.
//!
//! # Safety
//! A pointer argument must be valid for reads and writes of its type and aligned to the type's size. While threads in
//! the scope use the memory, only these atomics may access it.

use crate::gpu_only;
use pastey::paste;

#[cfg(target_arch = "nvptx64")]
use super::rmw::{Ordered, Word};
#[cfg(target_arch = "nvptx64")]
use core::{
    arch::asm,
    sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
};

#[cfg(target_arch = "nvptx64")]
unsafe extern "unadjusted" {
    #[link_name = "llvm.nvvm.membar.cta"]
    fn llvm_membar_cta();
    #[link_name = "llvm.nvvm.membar.gl"]
    fn llvm_membar_gl();
    #[link_name = "llvm.nvvm.membar.sys"]
    fn llvm_membar_sys();
}

/// Defines GPU functions, each from its documentation, signature and body.
macro_rules! device_functions {
    ($safety:literal $([$($doc:tt)*] fn $name:ident($($arg:ident: $ty:ty),*) $(-> $result:ty)? { $($body:tt)* })*) => {$(
        #[doc = concat!($($doc)*)]
        ///
        /// # Safety
        #[doc = $safety]
        #[gpu_only]
        #[inline(always)]
        pub unsafe fn $name($($arg: $ty),*) $(-> $result)? {
            // SAFETY: a fence has no preconditions, and for a pointer the caller upholds the module's contract. A fence
            // does not wait for other threads, so the `asm!` need not be convergent.
            unsafe { $($body)* }
        }
    )*};
}

macro_rules! fences {
    ($($scope:ident, $ptx:literal, $membar:ident;)*) => {$(paste! { device_functions! {
        "A fence has no preconditions. It is `unsafe` only because upstream's function is."

        ["Executes a sequentially consistent fence of ", stringify!($scope), " scope: `fence.sc.", $ptx, "` (PTX ISA §9.7.13.4)."]
        fn [<fence_sc_ $scope>]() {
            asm!(concat!("fence.sc.", $ptx, ";"), options(nostack));
        }

        ["Executes an acquire-release fence of ", stringify!($scope), " scope: `fence.acq_rel.", $ptx, "` (PTX ISA §9.7.13.4)."]
        fn [<fence_acqrel_ $scope>]() {
            asm!(concat!("fence.acq_rel.", $ptx, ";"), options(nostack));
        }

        ["Executes the fence of older GPUs with ", stringify!($scope), " scope: `membar`. From sm_70 on it equals [`fence_sc_", stringify!($scope), "`]."]
        fn [<membar_ $scope>]() {
            $membar();
        }
    }})*};
}

fences! {
    block, "cta", llvm_membar_cta;
    device, "gpu", llvm_membar_gl;
    system, "sys", llvm_membar_sys;
}

macro_rules! loads_and_stores {
    ($($width:literal: $type:ident, $core:ident, $($scope:ident)*;)*) => {$($(paste! { device_functions! {
        "See the [module](self)."

        ["Loads ", $width, " bits, relaxed."]
        fn [<atomic_load_relaxed_ $width _ $scope>](ptr: *const $type) -> $type {
            // `from_ptr` needs a `*mut`, but a load does not write.
            $core::from_ptr(ptr.cast_mut()).load(Relaxed)
        }

        ["Loads ", $width, " bits and acquires in ", stringify!($scope), " scope."]
        fn [<atomic_load_acquire_ $width _ $scope>](ptr: *const $type) -> $type {
            let value = [<atomic_load_relaxed_ $width _ $scope>](ptr);
            [<fence_acqrel_ $scope>]();
            value
        }

        ["Stores ", $width, " bits, relaxed."]
        fn [<atomic_store_relaxed_ $width _ $scope>](ptr: *mut $type, val: $type) {
            $core::from_ptr(ptr).store(val, Relaxed);
        }

        ["Stores ", $width, " bits and releases in ", stringify!($scope), " scope."]
        fn [<atomic_store_release_ $width _ $scope>](ptr: *mut $type, val: $type) {
            [<fence_acqrel_ $scope>]();
            [<atomic_store_relaxed_ $width _ $scope>](ptr, val);
        }
    }})*)*};
}

loads_and_stores! {
    32: u32, AtomicU32, block device system;
    64: u64, AtomicU64, block device system;
}

/// Defines the four orderings of one operation on one type in one scope. `$word` is the relaxed operation.
macro_rules! orderings {
    ($op:ident $type:ident $scope:ident = $word:path, ($($arg:ident),*), $doc:literal) => {paste! { device_functions! {
        "See the [module](self)."

        ["Relaxed: ", $doc]
        fn [<atomic_fetch_ $op _relaxed_ $type _ $scope>](ptr: *mut $type, $($arg: $type),*) -> $type {
            $word(ptr, $($arg),*)
        }

        ["Acquire: ", $doc]
        fn [<atomic_fetch_ $op _acquire_ $type _ $scope>](ptr: *mut $type, $($arg: $type),*) -> $type {
            let old = $word(ptr, $($arg),*);
            [<fence_acqrel_ $scope>]();
            old
        }

        ["Release: ", $doc]
        fn [<atomic_fetch_ $op _release_ $type _ $scope>](ptr: *mut $type, $($arg: $type),*) -> $type {
            [<fence_acqrel_ $scope>]();
            $word(ptr, $($arg),*)
        }

        ["Acquire and release: ", $doc]
        fn [<atomic_fetch_ $op _acqrel_ $type _ $scope>](ptr: *mut $type, $($arg: $type),*) -> $type {
            [<fence_acqrel_ $scope>]();
            let old = $word(ptr, $($arg),*);
            [<fence_acqrel_ $scope>]();
            old
        }
    }}};
}

macro_rules! read_modify_writes {
    ($($op:ident: $trait:ident, [$($type:ident)*], $args:tt, $doc:literal;)*) => {
        $(read_modify_writes!(@types $op $trait [$($type)*] $args $doc);)*
    };
    (@types $op:ident $trait:ident [$($type:ident)*] $args:tt $doc:literal) => {$(paste! {
        orderings!($op $type block = $trait::$op, $args, $doc);
        orderings!($op $type device = $trait::$op, $args, $doc);
        orderings!($op $type system = $trait::[<$op _system>], $args, $doc);
    })*};
}

read_modify_writes! {
    add: Word, [u32 i32 u64 i64 f32 f64], (val), "adds `val`, wrapping; returns the previous value.";
    sub: Word, [u32 i32 u64 i64 f32 f64], (val), "subtracts `val`, wrapping; returns the previous value.";
    and: Word, [u32 i32 u64 i64 f32 f64], (val), "computes the bitwise and with `val`; returns the previous value.";
    or: Word, [u32 i32 u64 i64 f32 f64], (val), "computes the bitwise or with `val`; returns the previous value.";
    xor: Word, [u32 i32 u64 i64 f32 f64], (val), "computes the bitwise exclusive or with `val`; returns the previous value.";
    exch: Word, [u32 i32 u64 i64 f32 f64], (val), "stores `val`; returns the previous value.";
    cas: Word, [u32 i32 u64 i64 f32 f64], (current, new), "stores `new` if the value has the bits of `current`; returns the previous value.";
    min: Ordered, [u32 i32 u64 i64], (val), "stores the smaller of the value and `val`; returns the previous value.";
    max: Ordered, [u32 i32 u64 i64], (val), "stores the greater of the value and `val`; returns the previous value.";
}
