//! `setmaxnreg`: warp groups release registers, and others acquire them.
//!
//! A block starts with the same number of registers for each thread. A warp group that only starts copies releases most
//! of them, and the warp groups that multiply acquire them.
//!
//! (PTX ISA, "Miscellaneous Instructions: setmaxnreg".)

/// Releases all but `REGISTERS` registers of each thread (`setmaxnreg.dec`).
///
/// # Safety
/// The caller must ensure that all threads of the warp group call it, and that they have at least `REGISTERS`
/// registers.
#[inline(always)]
pub unsafe fn decrease<const REGISTERS: u32>() {
    const { assert!(is_valid(REGISTERS), "a multiple of 8 from 24 to 256") };
    ptx!("setmaxnreg.dec.sync.aligned.u32 {};", const REGISTERS, options(nostack, preserves_flags));
}

/// Waits until each thread can have `REGISTERS` registers (`setmaxnreg.inc`).
///
/// # Safety
/// The caller must ensure that all threads of the warp group call it, that they have at most `REGISTERS` registers, and
/// that the block's other warp groups release as many as they lack.
#[inline(always)]
pub unsafe fn increase<const REGISTERS: u32>() {
    const { assert!(is_valid(REGISTERS), "a multiple of 8 from 24 to 256") };
    ptx!("setmaxnreg.inc.sync.aligned.u32 {};", const REGISTERS, options(nostack, preserves_flags));
}

/// Whether the instruction accepts this number of registers.
const fn is_valid(registers: u32) -> bool {
    registers >= 24 && registers <= 256 && registers.is_multiple_of(8)
}
