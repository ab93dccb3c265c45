//! Inline PTX: an instruction that Rust has no name for.
//!
//! `core::arch::asm!` puts PTX into a kernel. `{}` stands for a register, and the operands follow the text: `out(reg32)
//! sum` is a 32-bit result, `in(reg32) x` is a 32-bit input. This line computes a sum:
//!
//!     asm!("add.u32 {}, {}, {};", out(reg32) sum, in(reg32) x, in(reg32) y);
//!
//! The words of `a` and `b` hold 4 bytes each. The kernel multiplies them byte by byte and sums the 4 products. The PTX
//! instruction `dp4a.u32.u32 d, a, b, c;` does all of this: `d` becomes the sum of `c` and the 4 products (PTX ISA,
//! "dp4a"). Use this instruction.

use cuda_std::prelude::*;

/// # Safety
/// `a`, `b` and `output` point to a word for each thread of the grid.
#[kernel]
pub unsafe fn inline_ptx(a: *const u32, b: *const u32, output: *mut u32) {
    let i = thread::index_1d() as usize;
    // SAFETY: the arrays have a word for each thread, and each thread writes a separate word.
    unsafe {
        let (x, y) = (*a.add(i), *b.add(i));
        // TODO: use one instruction.
        let mut sum = 0;
        for k in 0..4 {
            sum += (x >> (8 * k) & 0xff) * (y >> (8 * k) & 0xff);
        }
        *output.add(i) = sum;
    }
}
