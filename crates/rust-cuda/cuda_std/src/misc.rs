//! Debugging and timing.

use crate::gpu_only;

/// Stops the kernel in a debugger: `brkpt` (PTX ISA §9.7.19.1). Without a debugger, the launch fails.
#[gpu_only]
#[inline(always)]
pub fn breakpoint() {
    // SAFETY: the instruction changes no memory or registers that the compiler uses.
    unsafe { core::arch::asm!("brkpt;", options(nostack)) };
}

/// Increments the profiler's counter `counter`, once per warp: `pmevent` (PTX ISA §9.7.19.3).
///
/// # Panics
/// Panics if `counter` is greater than 7.
#[gpu_only]
#[inline(always)]
pub fn profiler_counter(counter: u32) {
    // The instruction's operand must be a constant.
    macro_rules! pmevent {
        ($($n:literal)*) => {
            match counter {
                // SAFETY: the instruction changes no memory or registers that the compiler uses.
                $($n => unsafe { core::arch::asm!(concat!("pmevent ", $n, ";"), options(nostack)) },)*
                _ => panic!("the profiler counter must be 0 to 7"),
            }
        };
    }
    pmevent!(0 1 2 3 4 5 6 7);
}

/// Returns the multiprocessor's clock cycle counter: `%clock64` (PTX ISA §10). The difference between two reads by one
/// thread is the number of elapsed cycles, including cycles in which other warps ran.
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn clock() -> u64 {
    let cycles;
    // SAFETY: reading a special register has no preconditions. The `asm!` block is not `pure`, because each read
    // returns a different value.
    unsafe { core::arch::asm!("mov.u64 {}, %clock64;", out(reg64) cycles, options(nomem, nostack)) };
    cycles
}
