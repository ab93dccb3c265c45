//! Copies from global to shared memory that pass by the registers (compute capability 8.0 and newer).
//!
//! A thread starts a copy and goes on; the bytes arrive in shared memory by themselves. Copies are gathered
//! into groups, and a thread waits until all but its last few groups have arrived. That a thread's own copies
//! have arrived says nothing of the others': a barrier follows. (PTX ISA, "Data Movement and Conversion
//! Instructions: cp.async".)
//!
//! LLVM has intrinsics for it that take pointers with an address space, for which Rust has no words, so these are
//! `asm!`, each a single instruction. On anything but a GPU they do nothing.

use crate::wide::Wide;

/// The number by which `cp.async` knows a place in shared memory: its offset in the shared window.
#[derive(Clone, Copy)]
pub struct Shared(pub(crate) u32);

impl Shared {
    /// The offset of a pointer to shared memory.
    ///
    /// `cuda_builder` makes a cast of this instruction, so that the compiler sees through it.
    #[inline(always)]
    #[must_use]
    pub fn of<T>(pointer: *const T) -> Self {
        let address: u64;
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the conversion of an address accesses nothing.
        unsafe {
            core::arch::asm!(
                "cvta.to.shared.u64 {}, {};",
                out(reg64) address,
                in(reg64) pointer,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            address = pointer as u64;
        }
        // The window has 32 bits (PTX ISA, "Generic Addressing").
        Self(address as u32)
    }

    /// The bytes from another offset to this one, which is not before it.
    #[inline(always)]
    #[must_use]
    pub fn offset_from(self, other: Self) -> u32 {
        self.0.wrapping_sub(other.0)
    }

    /// The first multiple of `bytes`, a power of two, from here on.
    #[inline(always)]
    #[must_use]
    pub fn aligned_to(self, bytes: u32) -> Self {
        Self((self.0 + bytes - 1) & !(bytes - 1))
    }

    /// The offset `bytes` further on.
    #[inline(always)]
    #[must_use]
    pub fn byte_add(self, bytes: u32) -> Self {
        Self(self.0.wrapping_add(bytes))
    }
}

/// Starts a copy to so many bytes, with a cache operator: the first `read` bytes are read, and the others are zeros.
macro_rules! start {
    ($cache:literal, $bytes:literal, $to:ident, $from:ident, $read:expr) => {
        let read: u32 = $read;
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: as the caller promises.
        unsafe {
            core::arch::asm!(
                concat!("cp.async.", $cache, ".shared.global [{}], [{}], ", $bytes, ", {};"),
                in(reg32) $to.0,
                in(reg64) $from,
                in(reg32) read,
                options(nostack, preserves_flags)
            );
        }
        #[cfg(not(target_arch = "nvptx64"))]
        let _ = ($to, $from, read);
    };
}

/// Starts a copy of one 32-bit float, or of a zero unless `exists`.
///
/// # Safety
/// `to` is 4 bytes of this block's shared memory, which no thread accesses before the copy has been waited for. If
/// `exists`, `from` points to a float in global memory.
#[inline(always)]
pub unsafe fn copy_one(to: Shared, from: *const f32, exists: bool) {
    start!("ca", 4, to, from, if exists { 4 } else { 0 });
}

/// Starts a copy of two floats, or of zeros unless `exist`.
///
/// # Safety
/// The caller guarantees what [`copy_one`] asks for, of 8 bytes on both sides, at addresses that are multiples of 8.
#[inline(always)]
pub unsafe fn copy_two(to: Shared, from: *const Wide<f32, 2>, exist: bool) {
    start!("ca", 8, to, from, if exist { 8 } else { 0 });
}

/// Starts a copy of four floats, or of zeros unless `exist`. They pass by the L1 cache.
///
/// # Safety
/// The caller guarantees what [`copy_one`] asks for, of 16 bytes on both sides, at addresses that are multiples of 16.
#[inline(always)]
pub unsafe fn copy_four(to: Shared, from: *const Wide<f32, 4>, exist: bool) {
    start!("cg", 16, to, from, if exist { 16 } else { 0 });
}

/// Starts a copy of so many bytes, 0 to 16, and of zeros up to 16.
///
/// # Safety
/// The caller guarantees what [`copy_one`] asks for, of 16 bytes of shared memory and so many of global memory, at addresses
/// that are multiples of 16.
#[inline(always)]
pub unsafe fn copy_up_to_four(to: Shared, from: *const Wide<f32, 4>, bytes: u32) {
    start!("cg", 16, to, from, bytes);
}

/// Ends a group of copies: those that this thread has started since it ended the last group.
#[inline(always)]
pub fn commit() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it accesses nothing by itself.
    unsafe {
        core::arch::asm!("cp.async.commit_group;", options(nostack, preserves_flags));
    }
}

/// Waits until all but the last `PENDING` groups of this thread have arrived.
#[inline(always)]
pub fn wait<const PENDING: u32>() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it accesses nothing by itself.
    unsafe {
        core::arch::asm!(
            "cp.async.wait_group {};",
            const PENDING,
            options(nostack, preserves_flags)
        );
    }
}
