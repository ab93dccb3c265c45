//! Registers that warp groups hand to each other (`setmaxnreg`; PTX ISA, "Miscellaneous Instructions").
//!
//! A block starts with the same number of registers for each thread. A warp group that only starts copies gives most of
//! its own back, and those that multiply take them.

/// Gives back all but `REGISTERS` registers of a thread (`setmaxnreg.dec`).
///
/// # Safety
/// All threads of the warp group come, and have more registers; the number is a multiple of 8 between 24 and 256.
#[inline(always)]
pub unsafe fn keep<const REGISTERS: u32>() {
    const { assert!(REGISTERS >= 24 && REGISTERS <= 256 && REGISTERS.is_multiple_of(8), "a multiple of 8 from 24 to 256") };
    ptx!("setmaxnreg.dec.sync.aligned.u32 {};", const REGISTERS, options(nostack, preserves_flags));
}

/// Waits until a thread can have `REGISTERS` registers (`setmaxnreg.inc`).
///
/// # Safety
/// As for [`keep`], but that the threads have fewer; the block's other warp groups give back what is wanted.
#[inline(always)]
pub unsafe fn take<const REGISTERS: u32>() {
    const { assert!(REGISTERS >= 24 && REGISTERS <= 256 && REGISTERS.is_multiple_of(8), "a multiple of 8 from 24 to 256") };
    ptx!("setmaxnreg.inc.sync.aligned.u32 {};", const REGISTERS, options(nostack, preserves_flags));
}
