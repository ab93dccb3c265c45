//! `cp.async`: copies from global to shared memory that bypass the registers (compute capability 8.0 and newer).
//!
//! A thread starts a copy and continues, and the bytes arrive in shared memory later. `cp.async.commit_group` forms a
//! group of the copies since the previous `commit_group`. `cp.async.wait_group` waits until all groups of this thread
//! have arrived, except for a given number of the last groups. The copies of other threads may still be in flight, so a
//! barrier must follow. (PTX ISA, "Data Movement and Conversion Instructions: cp.async".)
//!
//! LLVM has intrinsics for these instructions. The intrinsics take pointers with an address space, which Rust cannot
//! express, so each function here is one instruction in `asm!`. On targets other than a GPU, the functions do nothing.

use crate::wide::Wide;

/// An address in shared memory in the form that instructions need: a 32-bit offset in the shared window.
#[derive(Clone, Copy)]
pub struct Shared(pub(crate) u32);

impl Shared {
    /// Converts a pointer to shared memory to an address.
    #[inline(always)]
    #[must_use]
    pub fn of<T>(pointer: *const T) -> Self {
        Self(crate::inline::shared_address(pointer))
    }

    /// Returns the address that is `bytes` higher.
    #[inline(always)]
    #[must_use]
    pub fn byte_add(self, bytes: u32) -> Self {
        Self(self.0.wrapping_add(bytes))
    }
}

/// Starts a `$bytes`-byte copy with a cache operator. The copy reads the first `$read` bytes and sets the remaining
/// bytes to zero.
macro_rules! start {
    ($cache:literal, $bytes:literal, $to:ident, $from:ident, $read:expr) => {
        let read: u32 = $read;
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the function that uses this macro has the same requirements as the instruction.
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

/// Starts a 4-byte copy (`cp.async.ca`). If `exists` is false, the copied bytes are zeros.
///
/// # Safety
/// The caller must ensure that `to` is the address of 4 bytes that no thread accesses before this thread has waited for
/// the copy. If `exists`, `from` must point to 4 bytes of global memory. Both addresses must be multiples of 4.
#[inline(always)]
pub unsafe fn copy_one(to: Shared, from: *const f32, exists: bool) {
    start!("ca", 4, to, from, if exists { 4 } else { 0 });
}

/// Starts a 16-byte copy (`cp.async.cg`, which bypasses the L1 cache). If `exist` is false, the copied bytes are zeros.
///
/// # Safety
/// The requirements of [`copy_one`] apply, for 16 bytes at addresses that are multiples of 16.
#[inline(always)]
pub unsafe fn copy_four(to: Shared, from: *const Wide<f32, 4>, exist: bool) {
    start!("cg", 16, to, from, if exist { 16 } else { 0 });
}

/// Groups the copies that this thread has started since the last call: `cp.async.commit_group`.
#[inline(always)]
pub fn commit() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the instruction itself accesses no memory.
    unsafe {
        core::arch::asm!("cp.async.commit_group;", options(nostack, preserves_flags));
    }
}

/// Waits until all groups of this thread except the last `PENDING` have arrived: `cp.async.wait_group`.
#[inline(always)]
pub fn wait<const PENDING: u32>() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the instruction itself accesses no memory.
    unsafe {
        core::arch::asm!(
            "cp.async.wait_group {};",
            const PENDING,
            options(nostack, preserves_flags)
        );
    }
}
