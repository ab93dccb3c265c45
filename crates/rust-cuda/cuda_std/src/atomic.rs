//! Atomic operations: loads, stores and read-modify-writes that other threads never observe partially completed.
//!
//! CUDA's atomics have a **scope**: the set of threads among which an operation is atomic and ordered.
//!
//! | scope | threads | PTX |
//! |---|---|---|
//! | `block` | of one thread block | `.cta` |
//! | `device` | of one GPU | `.gpu` |
//! | `system` | of all GPUs and the host | `.sys` |
//!
//! There are three layers, as in upstream's crate. The function names in [`intrinsics`] contain the ordering. The
//! functions in [`mid`] take the ordering as an argument, which costs nothing if the argument is constant. The types in
//! this module wrap `mid`. `core`'s integer atomics also work on the GPU, with the caveat below.
//!
//! # How they are compiled
//!
//! Read-modify-writes with block or device scope are compiled to LLVM's atomics. LLVM infers which memory a pointer
//! points to and emits `atom.shared` or `atom.global`; ptxas turns an `atom` whose result is not used into `red`. LLVM
//! 22 drops the scope, and an `atom` without a scope has device scope. A block-scope read-modify-write therefore has
//! device scope, which is stronger. In shared memory, this makes no difference. A system-scope read-modify-write uses
//! inline assembly instead (`atom.relaxed.sys`, PTX ISA §9.7.13.5), with a generic address.
//!
//! LLVM 22 also drops the *ordering* of a read-modify-write: `core`'s `fetch_add(1, AcqRel)` compiles to a relaxed
//! `atom.add` with no fence. LLVM keeps the ordering of compare-exchanges, loads and stores. All operations here are
//! therefore relaxed and get their ordering from fences of the same scope (PTX ISA §9.7.13.4). A fence before the
//! operation provides release semantics, and a fence after it provides acquire semantics. `SeqCst` adds a sequentially
//! consistent fence before the operation (PTX ISA §8, release and acquire patterns).
//!
//! Orderings and scopes require compute capability 7.0.
//!
//! # Floats
//!
//! The hardware supports addition and exchange of floats. `f32` addition in global memory flushes subnormal operands
//! and results to zero; in shared memory it does not (PTX ISA §9.7.13.5). The order in which threads add is undefined,
//! so the rounding of a sum is undefined too.

pub mod intrinsics;
pub mod mid;

#[cfg(target_arch = "nvptx64")]
mod rmw;

use core::cell::UnsafeCell;
use core::sync::atomic::Ordering;

/// Returns the ordering of a failed compare-exchange whose success ordering is `order`.
#[cfg(not(target_arch = "nvptx64"))]
fn fail_order(order: Ordering) -> Ordering {
    match order {
        Ordering::Release => Ordering::Relaxed,
        Ordering::AcqRel => Ordering::Acquire,
        other => other,
    }
}

macro_rules! atomic_float {
    ($(
        $(#[$doc:meta])*
        $atomic:ident: $float:ident as $core:ident $width:literal, $scope:ident $(, $unsafety:ident)?;
    )*) => {$(pastey::paste! {
        $(#[$doc])*
        ///
        /// The type has the size and alignment of the float. Off the GPU, each read-modify-write is a compare-exchange
        /// loop on `core`'s integer atomic.
        #[repr(transparent)]
        pub struct $atomic {
            value: UnsafeCell<$float>,
        }

        // SAFETY: every access through a shared reference is atomic.
        unsafe impl Sync for $atomic {}

        impl $atomic {
            /// Creates an atomic that holds `v`.
            pub const fn new(v: $float) -> Self {
                Self { value: UnsafeCell::new(v) }
            }

            /// Consumes the atomic and returns its value.
            pub fn into_inner(self) -> $float {
                self.value.into_inner()
            }

            #[cfg(not(target_arch = "nvptx64"))]
            fn bits(&self) -> &core::sync::atomic::$core {
                // SAFETY: the float has the integer's size and alignment, and all accesses are atomic while `self` is
                // borrowed.
                unsafe { core::sync::atomic::$core::from_ptr(self.value.get().cast()) }
            }

            #[cfg(not(target_arch = "nvptx64"))]
            fn update(&self, order: Ordering, operation: impl Fn($float) -> $float) -> $float {
                let mut old = self.bits().load(Ordering::Relaxed);
                loop {
                    let new = operation($float::from_bits(old)).to_bits();
                    match self.bits().compare_exchange_weak(old, new, order, fail_order(order)) {
                        Ok(old) => return $float::from_bits(old),
                        Err(current) => old = current,
                    }
                }
            }

            atomic_float!(@fetch $float $scope [$($unsafety)?]
                add "Adds `val`" |old, val| old + val;
                sub "Subtracts `val`, by adding `-val`," |old, val| old - val;
                and "Computes the bitwise and with `val`" |old, val| $float::from_bits(old.to_bits() & val.to_bits());
                or "Computes the bitwise or with `val`" |old, val| $float::from_bits(old.to_bits() | val.to_bits());
                xor "Computes the bitwise exclusive or with `val`" |old, val| $float::from_bits(old.to_bits() ^ val.to_bits());
            );

            /// Loads the value.
            ///
            /// # Panics
            /// Panics if `order` is `Release` or `AcqRel`.
            #[doc = atomic_float!(@safety $scope)]
            #[inline(always)]
            pub $($unsafety)? fn load(&self, order: Ordering) -> $float {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the pointer comes from `self.value`, so it is valid and aligned.
                let bits = unsafe { mid::[<atomic_load_ $width _ $scope>](self.value.get().cast(), order) };
                #[cfg(not(target_arch = "nvptx64"))]
                let bits = self.bits().load(order);
                $float::from_bits(bits)
            }

            /// Stores `val`.
            ///
            /// # Panics
            /// Panics if `order` is `Acquire` or `AcqRel`.
            #[doc = atomic_float!(@safety $scope)]
            #[inline(always)]
            pub $($unsafety)? fn store(&self, val: $float, order: Ordering) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the pointer comes from `self.value`, so it is valid and aligned.
                unsafe {
                    mid::[<atomic_store_ $width _ $scope>](self.value.get().cast(), order, val.to_bits());
                }
                #[cfg(not(target_arch = "nvptx64"))]
                self.bits().store(val.to_bits(), order);
            }
        }
    })*};

    (@fetch $float:ident $scope:ident $unsafety:tt $($op:ident $doc:literal |$old:ident, $val:ident| $host:expr;)*) => {
        $(atomic_float!(@one $float $scope $unsafety $op $doc |$old, $val| $host);)*
    };

    (@one $float:ident $scope:ident [$($unsafety:ident)?] $op:ident $doc:literal |$old:ident, $val:ident| $host:expr) => {
        pastey::paste! {
            #[doc = concat!($doc, " and returns the previous value.")]
            #[doc = atomic_float!(@safety $scope)]
            #[inline(always)]
            pub $($unsafety)? fn [<fetch_ $op>](&self, val: $float, order: Ordering) -> $float {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the pointer comes from `self.value`, so it is valid and aligned.
                let old = unsafe { mid::[<atomic_fetch_ $op _ $float _ $scope>](self.value.get(), order, val) };
                #[cfg(not(target_arch = "nvptx64"))]
                let old = {
                    let $val = val;
                    self.update(order, |$old| $host)
                };
                old
            }
        }
    };

    (@safety block) => { "\n# Safety\nAll threads that use the atomic at the same time must belong to one block." };
    (@safety $scope:ident) => { "" };
}

atomic_float! {
    /// An `f32` that the threads of one device share.
    AtomicF32: f32 as AtomicU32 32, device;
    /// An `f64` that the threads of one device share.
    AtomicF64: f64 as AtomicU64 64, device;
    /// An `f32` that the threads of one block share.
    BlockAtomicF32: f32 as AtomicU32 32, block, unsafe;
    /// An `f64` that the threads of one block share.
    BlockAtomicF64: f64 as AtomicU64 64, block, unsafe;
    /// An `f32` that the threads of all devices and of the host share.
    SystemAtomicF32: f32 as AtomicU32 32, system;
    /// An `f64` that the threads of all devices and of the host share.
    SystemAtomicF64: f64 as AtomicU64 64, system;
}
