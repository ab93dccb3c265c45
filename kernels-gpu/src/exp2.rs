//! The exponential that `softmax` and `attention` share.

/// Returns 2 to the power `x`, with an error of at most 2 units in the last place. Results below 2^-126 are 0. (PTX
/// ISA, "ex2".)
///
/// Without `.ftz`, `ex2.approx` takes four machine instructions, because results below 2^-126 need a scaled argument.
#[inline(always)]
pub(crate) fn exp2(x: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let power;
        // SAFETY: the instruction accesses no memory.
        unsafe {
            core::arch::asm!("ex2.approx.ftz.f32 {}, {};", out(reg32) power, in(reg32) x,
                options(pure, nomem, nostack, preserves_flags));
        }
        power
    }
    #[cfg(not(target_arch = "nvptx64"))]
    x
}
