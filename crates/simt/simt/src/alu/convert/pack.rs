//! `cvt.pack` (PTX ISA §9.7.9.22).

use crate::regs::{LANES, R32, Regs};

/// Packs the registers in `from`: the upper part, the lower part, and the register whose lowest bits are placed above
/// the two parts.
#[inline(never)]
pub(super) fn run(to: R32, from: [R32; 3], bits: u8, signed: bool, regs: &mut Regs<'_>, mask: u32) {
    let [upper, lower, rest] = from;
    let (upper, lower, rest) = (regs.get32(upper), regs.get32(lower), regs.get32(rest));
    let sign = u32::from(signed);
    let least = -(sign as i32) << (bits - 1);
    let most = (1 << (u32::from(bits) - sign)) - 1;
    let field = (1u32 << bits) - 1;
    let mut values = [0; LANES];
    for lane in 0..LANES {
        let part = |value: u32| (value as i32).clamp(least, most) as u32 & field;
        let pair = part(upper[lane]) << bits | part(lower[lane]);
        // Two 16-bit parts leave no bits for `rest`.
        let shifted_rest = u64::from(rest[lane]) << (2 * bits);
        values[lane] = pair | shifted_rest as u32;
    }
    regs.set32(to, mask, &values);
}
