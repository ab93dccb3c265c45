//! Debugging and timing.

use crate::gpu_only;

/// Stops the kernel in a debugger: `brkpt` (PTX ISA §9.7.19.1). Without one the launch fails.
#[gpu_only]
#[inline(always)]
pub fn breakpoint() {
    // SAFETY: the instruction changes nothing that the compiler knows of.
    unsafe { core::arch::asm!("brkpt;", options(nostack)) };
}

/// Counts up the profiler's counter `counter`, once for each warp: `pmevent` (PTX ISA §9.7.19.3).
///
/// # Panics
/// If `counter` is above 7.
#[gpu_only]
#[inline(always)]
pub fn profiler_counter(counter: u32) {
    // The instruction takes a constant.
    macro_rules! pmevent {
        ($($n:literal)*) => {
            match counter {
                // SAFETY: the instruction changes nothing that the compiler knows of.
                $($n => unsafe { core::arch::asm!(concat!("pmevent ", $n, ";"), options(nostack)) },)*
                _ => panic!("a profiler counter is 0 to 7"),
            }
        };
    }
    pmevent!(0 1 2 3 4 5 6 7);
}

/// The multiprocessor's count of clock cycles: `%clock64` (PTX ISA §10). Differences between two
/// reads by one thread are cycles that passed, other warps' included.
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn clock() -> u64 {
    let cycles;
    // SAFETY: reading a special register has no preconditions. Not `pure`: each read differs.
    unsafe { core::arch::asm!("mov.u64 {}, %clock64;", out(reg64) cycles, options(nomem, nostack)) };
    cycles
}
