//! `cp.async`: copies from global to shared memory that bypass the registers (compute capability 8.0 and newer).
//!
//! A thread starts a copy and continues, and the bytes arrive in shared memory later. `cp.async.commit_group` makes the
//! copies since the previous one a group, and `cp.async.wait_group` waits until all but the last few groups of this
//! thread have arrived. The copies of other threads may still be in flight then, so a barrier follows.
//!
//! (PTX ISA, "Data Movement and Conversion Instructions: cp.async".)
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use super::{Shared, Wide};

/// Starts a copy of `$bytes` bytes with a cache operator: the first `$read` bytes are read, and the others become
/// zeros.
macro_rules! start {
    ($cache:literal, $bytes:literal, $to:ident, $from:ident, $read:expr) => {
        let read: u32 = $read;
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the requirements are those of the function around this macro.
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

/// Starts a copy of 4 bytes, which become zeros unless `exists`: `cp.async.ca`, 4 bytes.
///
/// # Safety
/// The caller must ensure that `to` is the address of 4 bytes, which no thread accesses before the copy has been waited
/// for, and that `from` points to 4 bytes of global memory if `exists`. Both addresses are multiples of 4.
#[inline(always)]
pub unsafe fn copy_one(to: Shared, from: *const f32, exists: bool) {
    start!("ca", 4, to, from, if exists { 4 } else { 0 });
}

/// Starts a copy of 8 bytes, which become zeros unless `exist`: `cp.async.ca`, 8 bytes.
///
/// # Safety
/// As [`copy_one`], for 8 bytes at addresses that are multiples of 8.
#[inline(always)]
pub unsafe fn copy_two(to: Shared, from: *const Wide<f32, 2>, exist: bool) {
    start!("ca", 8, to, from, if exist { 8 } else { 0 });
}

/// Starts a copy of 16 bytes, which become zeros unless `exist`: `cp.async.cg`, which bypasses the L1 cache.
///
/// # Safety
/// As [`copy_one`], for 16 bytes at addresses that are multiples of 16.
#[inline(always)]
pub unsafe fn copy_four(to: Shared, from: *const Wide<f32, 4>, exist: bool) {
    start!("cg", 16, to, from, if exist { 16 } else { 0 });
}

/// Starts a copy of 16 bytes, of which the last become zeros: only the first `bytes`, 0 to 16, are read.
///
/// # Safety
/// As [`copy_one`], for 16 bytes of shared memory and `bytes` bytes of global memory, at addresses that are multiples
/// of 16.
#[inline(always)]
pub unsafe fn copy_up_to_four(to: Shared, from: *const Wide<f32, 4>, bytes: u32) {
    start!("cg", 16, to, from, bytes);
}

/// Makes the copies that this thread has started since the last call a group: `cp.async.commit_group`.
#[inline(always)]
pub fn commit() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the instruction accesses no memory by itself.
    unsafe {
        core::arch::asm!("cp.async.commit_group;", options(nostack, preserves_flags));
    }
}

/// Waits until all but the last `PENDING` groups of this thread have arrived: `cp.async.wait_group`.
#[inline(always)]
pub fn wait<const PENDING: u32>() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the instruction accesses no memory by itself.
    unsafe {
        core::arch::asm!(
            "cp.async.wait_group {};",
            const PENDING,
            options(nostack, preserves_flags)
        );
    }
}
