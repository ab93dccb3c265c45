//! Video instructions: sums, differences and comparisons of parts of registers (PTX ISA §9.7.17, §9.7.18).

use super::lanes::each;
use crate::regs::{R32, Regs};

/// One instruction: what it computes of `a` and `b`, and what becomes of the result together with `c`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Video {
    pub(crate) op: VideoOp,
    /// How many numbers a register holds: 1, 2 or 4.
    pub(crate) parts: u8,
    /// Whether the result, `a` and `b` are signed, and whether `a`, `b` and `c` are negated: a bit each.
    pub(crate) signed: u8,
    /// Whether the result is clamped to its type.
    pub(crate) saturates: bool,
    pub(crate) then: ThirdOperand,
    /// The part that is written, as [`part`] has it; of several, a bit for each that is.
    pub(crate) mask: u8,
    /// For each number of `a`, then of `b`, the part that it is taken from: a digit of four bits each. That of a single
    /// number is as [`part`] has it, those of several are counted through `a` and `b`.
    pub(crate) select: [u16; 2],
    pub(crate) to: u16,
    pub(crate) from: [u16; 3],
}

const _: () = assert!(size_of::<Video>() <= 20);

/// The operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the opcodes")]
pub enum VideoOp {
    Add,
    Sub,
    AbsDiff,
    Average,
    Min,
    Max,
    /// To the left, and whether distances wrap at 32.
    Shl(bool),
    Shr(bool),
    /// Shifted down so far at last; and whether 1 is added before.
    Mad(u8, bool),
    /// Whether it holds where the first is less, equal or greater: a bit each.
    Compare(u8),
}

/// The use of `c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThirdOperand {
    /// It gives the parts that are not written.
    Merge,
    /// The result, or the sum of several, is added to it.
    Add,
    /// The lesser of both.
    Min,
    /// The greater of both.
    Max,
}

/// The bits of a part of a register, and where it begins: 0 is the whole, 1 to 4 are the bytes, 5 and 6 the halves.
const fn part(select: u16) -> (u32, u32) {
    match select {
        1..=4 => (8, (select as u32 - 1) * 8),
        5 | 6 => (16, (select as u32 - 5) * 16),
        _ => (32, 0),
    }
}

/// So many bits from `at` on, extended.
fn take(value: u64, bits: u32, at: u32, signed: bool) -> i64 {
    let shift = 64 - bits;
    let up = value >> at << shift;
    match signed {
        true => up.cast_signed() >> shift,
        false => (up >> shift).cast_signed(),
    }
}

/// Clamped to so many bits.
fn clamp(value: i128, bits: u32, signed: bool) -> i128 {
    match signed {
        true => value.clamp(-1 << (bits - 1), (1 << (bits - 1)) - 1),
        false => value.clamp(0, (1 << bits) - 1),
    }
}

impl Video {
    fn is_signed(&self, operand: u8) -> bool {
        self.signed >> operand & 1 != 0
    }

    /// The operation on two numbers.
    fn compute(&self, a: i64, b: i64) -> i128 {
        let (a, b) = (i128::from(a), i128::from(b));
        let distance = |wraps: bool| if wraps { b & 31 } else { b.min(32) };
        match self.op {
            VideoOp::Add => a + b,
            VideoOp::Sub => a - b,
            VideoOp::AbsDiff => (a - b).abs(),
            // Rounded up, away from zero where it is negative.
            VideoOp::Average => (a + b + i128::from(a + b >= 0)) >> 1,
            VideoOp::Min => a.min(b),
            VideoOp::Max => a.max(b),
            VideoOp::Shl(wraps) => a << distance(wraps),
            VideoOp::Shr(wraps) => a >> distance(wraps),
            VideoOp::Compare(holds) => i128::from(holds >> (a.cmp(&b) as i8 + 1) & 1),
            VideoOp::Mad(..) => 0,
        }
    }

    /// `vmad`: whole registers are signed, whatever the type. So are they in the code that ptxas makes for sm_90.
    fn mad(&self, [a, b, c]: [u32; 3], shift: u8, plus_one: bool) -> u32 {
        let number = |value: u32, operand: u8, select: u16| {
            let (bits, at) = part(select);
            let value = take(value.into(), bits, at, bits == 32 || self.is_signed(operand));
            i128::from(if self.is_signed(operand + 2) { -value } else { value })
        };
        let [first, second] = self.select;
        let sum = number(a, 1, first) * number(b, 2, second) + number(c, 3, 0) + i128::from(plus_one);
        (sum >> shift) as u32
    }

    /// The instruction on one number of each register, as the code computes it that ptxas makes for sm_90: see
    /// [`Self::clamped`] and `wide`, and the upper half takes the upper half of the result.
    fn single(&self, a: u32, b: u32, c: u32) -> u32 {
        if let VideoOp::Mad(shift, plus_one) = self.op {
            return self.mad([a, b, c], shift, plus_one);
        }
        let source = |value: u32, operand: u8| {
            let (bits, at) = part(self.select[operand as usize - 1]);
            take(value.into(), bits, at, self.is_signed(operand))
        };
        let signed = self.is_signed(0);
        let (bits, at) = part(self.mask.into());
        let exact = self.compute(source(a, 1), source(b, 2));
        let result = if self.saturates { self.clamped(exact, bits) } else { exact };
        // Sums and differences are cut to 32 bits before they are compared, others to 64.
        let is_cut =
            matches!(self.op, VideoOp::Add | VideoOp::Sub) || self.saturates && matches!(self.op, VideoOp::Shr(_));
        let wide = if is_cut { i64::from(result as i32) } else { result as i64 };
        let own = take(c.into(), 32, 0, signed);
        // A negative one is above all unsigned ones.
        let is_less = wide < own && (signed || wide >= 0);
        let result = result as u32;
        match self.then {
            ThirdOperand::Add => result.wrapping_add(c),
            ThirdOperand::Min if is_less => result,
            ThirdOperand::Max if !is_less => result,
            ThirdOperand::Min | ThirdOperand::Max => c,
            ThirdOperand::Merge if bits == 32 => result,
            ThirdOperand::Merge => {
                let ones = ((1 << bits) - 1) << at;
                let placed = if (bits, at) == (16, 16) { result } else { result << at };
                placed & ones | c & !ones
            }
        }
    }

    /// A result with `.sat` that fills so many bits. In fewer than 32 a negative one counts as too large; in 32 unsigned
    /// ones only negative results are clamped.
    fn clamped(&self, result: i128, bits: u32) -> i128 {
        let signed = self.is_signed(0);
        let most = (1 << (bits - u32::from(signed))) - 1;
        match bits {
            32 if signed => clamp(result, bits, signed),
            32 => result.max(0),
            _ if result < 0 => most,
            _ => result.min(most),
        }
    }

    fn several(&self, a: u32, b: u32, c: u32) -> u32 {
        let bits = 32 / u32::from(self.parts);
        let both = u64::from(a) | u64::from(b) << 32;
        let mut merged = c;
        let mut sum = c;
        for index in (0..u32::from(self.parts)).filter(|index| self.mask >> index & 1 != 0) {
            let source = |operand: u8| {
                let place = self.select[operand as usize - 1] >> (index * 4) & 15;
                take(both, bits, u32::from(place) * bits, self.is_signed(operand))
            };
            let signed = self.is_signed(0);
            let result = self.compute(source(1), source(2));
            let result = match self.saturates {
                true => clamp(result, bits, signed),
                false => result,
            } as u32;
            let ones = ((1 << bits) - 1) << (index * bits);
            merged = merged & !ones | result << (index * bits) & ones;
            sum = sum.wrapping_add(result);
        }
        if self.then == ThirdOperand::Merge { merged } else { sum }
    }

    /// Runs it on the lanes of `mask`.
    #[inline(never)]
    pub(crate) fn execute(&self, regs: &mut Regs<'_>, mask: u32) {
        let [a, b, c] = self.from.map(|number| *regs.get32(R32(number.into())));
        let values = match self.parts {
            1 => each(|lane| self.single(a[lane], b[lane], c[lane])),
            _ => each(|lane| self.several(a[lane], b[lane], c[lane])),
        };
        regs.set32(R32(self.to.into()), mask, &values);
    }
}
