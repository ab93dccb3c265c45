//! Hints:
//!
//! 1. The instruction has one result and three inputs. The last input is the number to which the products are added.
//! 2. Declare the result as a variable without a value. The operand `out(reg32)` writes to the variable.
//! 3. `core::arch::asm!("dp4a.u32.u32 {}, {}, {}, {};", out(reg32) sum, in(reg32) x, in(reg32) y, in(reg32) 0);`
//!
//! `options(pure, nomem, nostack)` tells the compiler that the block only computes its result from its inputs. The
//! compiler may then move the block, or remove it if the result is not used.

use cuda_std::prelude::*;

/// # Safety
/// `a`, `b` and `output` point to a word for each thread of the grid.
#[kernel]
pub unsafe fn inline_ptx(a: *const u32, b: *const u32, output: *mut u32) {
    let i = thread::index_1d() as usize;
    // SAFETY: the arrays have a word for each thread, and each thread writes a separate word.
    unsafe {
        let (x, y) = (*a.add(i), *b.add(i));
        let sum: u32;
        core::arch::asm!(
            "dp4a.u32.u32 {}, {}, {}, {};",
            out(reg32) sum,
            in(reg32) x,
            in(reg32) y,
            in(reg32) 0,
            options(pure, nomem, nostack)
        );
        *output.add(i) = sum;
    }
}
