//! Atomics that take their ordering as an argument: `atomic_fetch_add_u32_device(ptr, ordering, val)`.
//!
//! With a constant ordering, a call compiles to one function of [`intrinsics`](super::intrinsics). `SeqCst` is a
//! sequentially consistent fence before an operation that acquires (PTX ISA §8).
//! §8).
//!
//! # Safety
//! A pointer argument must be valid for reads and writes of its type and aligned to the type's size. While threads in
//! the scope use the memory, only these atomics may access it.

#[cfg(target_arch = "nvptx64")]
use super::intrinsics;
use crate::gpu_only;
use core::sync::atomic::Ordering;
use pastey::paste;

macro_rules! fences {
    ($($scope:ident)*) => {$(paste! {
        #[doc = concat!("Executes a fence of ", stringify!($scope), " scope, unless `ordering` is `Relaxed`.")]
        #[gpu_only]
        #[inline(always)]
        pub fn [<$scope _thread_fence>](ordering: Ordering) {
            // SAFETY: a fence has no preconditions.
            unsafe {
                match ordering {
                    Ordering::Relaxed => {}
                    Ordering::SeqCst => intrinsics::[<fence_sc_ $scope>](),
                    _ => intrinsics::[<fence_acqrel_ $scope>](),
                }
            }
        }
    })*};
}

fences!(block device system);

macro_rules! loads_and_stores {
    ($($width:literal: $type:ident, $($scope:ident)*;)*) => {$($(paste! {
        #[doc = concat!("Loads ", $width, " bits in ", stringify!($scope), " scope.")]
        ///
        /// # Panics
        /// Panics if `ordering` is `Release` or `AcqRel`.
        ///
        /// # Safety
        /// See the [module](self).
        #[gpu_only]
        #[inline(always)]
        pub unsafe fn [<atomic_load_ $width _ $scope>](ptr: *mut $type, ordering: Ordering) -> $type {
            // SAFETY: by the module's contract, `ptr` is valid, aligned, and only accessed by these atomics.
            unsafe {
                match ordering {
                    Ordering::Relaxed => intrinsics::[<atomic_load_relaxed_ $width _ $scope>](ptr),
                    Ordering::Acquire => intrinsics::[<atomic_load_acquire_ $width _ $scope>](ptr),
                    Ordering::SeqCst => {
                        intrinsics::[<fence_sc_ $scope>]();
                        intrinsics::[<atomic_load_acquire_ $width _ $scope>](ptr)
                    }
                    _ => panic!("the ordering of an atomic load must be Relaxed, Acquire or SeqCst"),
                }
            }
        }

        #[doc = concat!("Stores ", $width, " bits in ", stringify!($scope), " scope.")]
        ///
        /// # Panics
        /// Panics if `ordering` is `Acquire` or `AcqRel`.
        ///
        /// # Safety
        /// See the [module](self).
        #[gpu_only]
        #[inline(always)]
        pub unsafe fn [<atomic_store_ $width _ $scope>](ptr: *mut $type, ordering: Ordering, val: $type) {
            // SAFETY: by the module's contract, `ptr` is valid, aligned, and only accessed by these atomics.
            unsafe {
                match ordering {
                    Ordering::Relaxed => intrinsics::[<atomic_store_relaxed_ $width _ $scope>](ptr, val),
                    Ordering::Release => intrinsics::[<atomic_store_release_ $width _ $scope>](ptr, val),
                    Ordering::SeqCst => {
                        intrinsics::[<fence_sc_ $scope>]();
                        intrinsics::[<atomic_store_relaxed_ $width _ $scope>](ptr, val);
                    }
                    _ => panic!("the ordering of an atomic store must be Relaxed, Release or SeqCst"),
                }
            }
        }
    })*)*};
}

loads_and_stores! {
    32: u32, block device system;
    64: u64, block device system;
}

macro_rules! read_modify_writes {
    ($($op:ident: [$($type:ident)*], $doc:literal;)*) => {$($(
        read_modify_writes!(@one $op $type block $doc);
        read_modify_writes!(@one $op $type device $doc);
        read_modify_writes!(@one $op $type system $doc);
    )*)*};
    (@one $op:ident $type:ident $scope:ident $doc:literal) => {paste! {
        #[doc = $doc]
        ///
        /// # Safety
        /// See the [module](self).
        #[gpu_only]
        #[inline(always)]
        pub unsafe fn [<atomic_fetch_ $op _ $type _ $scope>](ptr: *mut $type, ordering: Ordering, val: $type) -> $type {
            // SAFETY: by the module's contract, `ptr` is valid, aligned, and only accessed by these atomics.
            unsafe {
                match ordering {
                    Ordering::Relaxed => intrinsics::[<atomic_fetch_ $op _relaxed_ $type _ $scope>](ptr, val),
                    Ordering::Acquire => intrinsics::[<atomic_fetch_ $op _acquire_ $type _ $scope>](ptr, val),
                    Ordering::Release => intrinsics::[<atomic_fetch_ $op _release_ $type _ $scope>](ptr, val),
                    Ordering::AcqRel => intrinsics::[<atomic_fetch_ $op _acqrel_ $type _ $scope>](ptr, val),
                    // `SeqCst`, and any ordering that Rust might add: no ordering is stronger than `SeqCst`.
                    _ => {
                        intrinsics::[<fence_sc_ $scope>]();
                        intrinsics::[<atomic_fetch_ $op _acquire_ $type _ $scope>](ptr, val)
                    }
                }
            }
        }
    }};
}

read_modify_writes! {
    add: [u32 i32 u64 i64 f32 f64], "Adds `val`, wrapping; returns the previous value.";
    sub: [u32 i32 u64 i64 f32 f64], "Subtracts `val`, wrapping; returns the previous value.";
    and: [u32 i32 u64 i64 f32 f64], "Computes the bitwise and with `val`; returns the previous value.";
    or: [u32 i32 u64 i64 f32 f64], "Computes the bitwise or with `val`; returns the previous value.";
    xor: [u32 i32 u64 i64 f32 f64], "Computes the bitwise exclusive or with `val`; returns the previous value.";
    min: [u32 i32 u64 i64], "Stores the smaller of the value and `val`; returns the previous value.";
    max: [u32 i32 u64 i64], "Stores the greater of the value and `val`; returns the previous value.";
    exch: [u32 i32 u64 i64 f32 f64], "Stores `val`; returns the previous value.";
}

macro_rules! compare_and_swaps {
    ($type:ident: $($scope:ident)*) => {$(paste! {
        #[doc = concat!("Stores `new` in ", stringify!($scope), " scope if the value has the bits of `current`; returns the previous value.")]
        ///
        /// # Safety
        /// See the [module](self).
        #[gpu_only]
        #[inline(always)]
        pub unsafe fn [<atomic_compare_and_swap_ $type _ $scope>](ptr: *mut $type, current: $type, new: $type, ordering: Ordering) -> $type {
            // SAFETY: by the module's contract, `ptr` is valid, aligned, and only accessed by these atomics.
            unsafe {
                match ordering {
                    Ordering::Relaxed => intrinsics::[<atomic_fetch_cas_relaxed_ $type _ $scope>](ptr, current, new),
                    Ordering::Acquire => intrinsics::[<atomic_fetch_cas_acquire_ $type _ $scope>](ptr, current, new),
                    Ordering::Release => intrinsics::[<atomic_fetch_cas_release_ $type _ $scope>](ptr, current, new),
                    Ordering::AcqRel => intrinsics::[<atomic_fetch_cas_acqrel_ $type _ $scope>](ptr, current, new),
                    _ => {
                        intrinsics::[<fence_sc_ $scope>]();
                        intrinsics::[<atomic_fetch_cas_acquire_ $type _ $scope>](ptr, current, new)
                    }
                }
            }
        }
    })*};
}

compare_and_swaps!(u32: block device system);
compare_and_swaps!(i32: block device system);
compare_and_swaps!(u64: block device system);
compare_and_swaps!(i64: block device system);
compare_and_swaps!(f32: block device system);
compare_and_swaps!(f64: block device system);
