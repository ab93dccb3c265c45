//! `atomic`: every operation, type, scope and ordering, and the atomic types.

use core::sync::atomic::Ordering;
use cuda_std::atomic::{AtomicF32, AtomicF64, BlockAtomicF32, BlockAtomicF64, SystemAtomicF32, SystemAtomicF64};
use cuda_std::atomic::{intrinsics, mid};
use cuda_std::prelude::*;
use cuda_std::shared_array;
use pastey::paste;

/// Defines a kernel for each operation and type, which uses all scopes and orderings.
macro_rules! operations {
    ($($op:ident: $($type:ident)*;)*) => {$($(paste! {
        #[kernel]
        pub unsafe fn [<atomic_ $op _ $type>](p: *mut $type, val: $type) {
            unsafe {
                let mut old = mid::[<atomic_fetch_ $op _ $type _device>](p, Ordering::Relaxed, val);
                old = mid::[<atomic_fetch_ $op _ $type _device>](p, Ordering::Acquire, old);
                old = mid::[<atomic_fetch_ $op _ $type _block>](p, Ordering::Release, old);
                old = mid::[<atomic_fetch_ $op _ $type _system>](p, Ordering::AcqRel, old);
                old = mid::[<atomic_fetch_ $op _ $type _system>](p, Ordering::SeqCst, old);
                mid::[<atomic_fetch_ $op _ $type _device>](p, Ordering::Relaxed, old);
            }
        }

        #[kernel]
        pub unsafe fn [<atomic_shared_ $op _ $type>](out: *mut $type, val: $type) {
            let p = shared_array![$type; 1];
            unsafe {
                let old = mid::[<atomic_fetch_ $op _ $type _block>](p, Ordering::Relaxed, val);
                *out = mid::[<atomic_fetch_ $op _ $type _device>](p, Ordering::Relaxed, old);
            }
        }
    })*)*};
}

operations! {
    add: u32 i32 u64 i64 f32 f64;
    sub: u32 i32 u64 i64 f32 f64;
    and: u32 i32 u64 i64 f32 f64;
    or: u32 i32 u64 i64 f32 f64;
    xor: u32 i32 u64 i64 f32 f64;
    exch: u32 i32 u64 i64 f32 f64;
    min: u32 i32 u64 i64;
    max: u32 i32 u64 i64;
}

macro_rules! compare_and_swaps {
    ($($type:ident)*) => {$(paste! {
        #[kernel]
        pub unsafe fn [<atomic_cas_ $type>](p: *mut $type, current: $type, new: $type) {
            let s = shared_array![$type; 1];
            unsafe {
                let mut old = intrinsics::[<atomic_fetch_cas_relaxed_ $type _device>](p, current, new);
                old = intrinsics::[<atomic_fetch_cas_acqrel_ $type _block>](s, old, new);
                *p = intrinsics::[<atomic_fetch_cas_release_ $type _system>](p, old, new);
            }
        }
    })*};
}

compare_and_swaps!(u32 i32 u64 i64 f32 f64);

macro_rules! loads_and_stores {
    ($($width:literal: $type:ident, $($scope:ident)*;)*) => {$($(paste! {
        #[kernel]
        pub unsafe fn [<atomic_load_store_ $width _ $scope>](from: *mut $type, to: *mut $type) {
            use Ordering::{Acquire, Relaxed, Release, SeqCst};
            unsafe {
                for (load, store) in [(Relaxed, Relaxed), (Acquire, Release), (SeqCst, SeqCst)] {
                    let value = mid::[<atomic_load_ $width _ $scope>](from, load);
                    mid::[<atomic_store_ $width _ $scope>](to, store, value);
                }
                mid::[<$scope _thread_fence>](AcqRel);
                intrinsics::[<membar_ $scope>]();
            }
        }
    })*)*};
}

use Ordering::AcqRel;

loads_and_stores! {
    32: u32, block device system;
    64: u64, block device system;
}

#[kernel]
pub unsafe fn atomic_types(
    a: *const AtomicF32,
    b: *const AtomicF64,
    c: *const BlockAtomicF32,
    d: *const BlockAtomicF64,
    e: *const SystemAtomicF32,
    f: *const SystemAtomicF64,
) {
    unsafe {
        (*a).fetch_add(1.5, Ordering::Relaxed);
        (*b).fetch_sub((*b).load(Ordering::Acquire), Ordering::Relaxed);
        (*c).fetch_xor(2.5, Ordering::Relaxed);
        (*d).fetch_and(2.5, Ordering::Relaxed);
        (*e).fetch_add(1.5, Ordering::Relaxed);
        (*f).store(3.5, Ordering::Release);
    }
}
