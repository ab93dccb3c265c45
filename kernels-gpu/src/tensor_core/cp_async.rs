//! `cp.async`: copies from global to shared memory that bypass the registers (compute capability 8.0 and newer).
//!
//! A thread starts a copy and continues, and the bytes arrive in shared memory later. `cp.async.commit_group` forms a
//! group from the copies since the previous commit. `cp.async.wait_group` waits until all of this thread's groups have
//! arrived, except for a given number of the most recent groups. The copies of other threads may still be in flight, so
//! a barrier must follow.
//!
//! (PTX ISA, "Data Movement and Conversion Instructions: cp.async".)
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use super::{Shared, Wide};

/// Starts a `$bytes`-byte copy with a cache operator: the first `$read` bytes are read, and the remaining bytes become
/// zeros.
macro_rules! start {
    ($cache:literal, $bytes:literal, $to:ident, $from:ident, $read:expr) => {
        let read: u32 = $read;
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the function that uses this macro has the requirements of the instruction.
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
/// The caller must ensure that `to` is the address of 4 bytes that no thread accesses before a wait for the copy. If
/// `exists`, `from` must point to 4 bytes of global memory. Both addresses are multiples of 4.
#[inline(always)]
pub unsafe fn copy_one(to: Shared, from: *const f32, exists: bool) {
    start!("ca", 4, to, from, if exists { 4 } else { 0 });
}

/// Starts an 8-byte copy (`cp.async.ca`). If `exist` is false, the copied bytes are zeros.
///
/// # Safety
/// See [`copy_one`], for 8 bytes at addresses that are multiples of 8.
#[inline(always)]
pub unsafe fn copy_two(to: Shared, from: *const Wide<f32, 2>, exist: bool) {
    start!("ca", 8, to, from, if exist { 8 } else { 0 });
}

/// Starts a 16-byte copy (`cp.async.cg`, which bypasses the L1 cache). If `exist` is false, the copied bytes are zeros.
///
/// # Safety
/// See [`copy_one`], for 16 bytes at addresses that are multiples of 16.
#[inline(always)]
pub unsafe fn copy_four(to: Shared, from: *const Wide<f32, 4>, exist: bool) {
    start!("cg", 16, to, from, if exist { 16 } else { 0 });
}

/// Starts a 16-byte copy that reads only the first `bytes` bytes, 0 to 16. The remaining bytes become zeros.
///
/// # Safety
/// See [`copy_one`], for 16 bytes of shared memory and `bytes` bytes of global memory, at addresses that are multiples
/// of 16.
#[inline(always)]
pub unsafe fn copy_up_to_four(to: Shared, from: *const Wide<f32, 4>, bytes: u32) {
    start!("cg", 16, to, from, bytes);
}

/// Forms a group from the copies that this thread has started since the last call: `cp.async.commit_group`.
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
