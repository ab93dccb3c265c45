//! Video instructions: sums, differences and comparisons of parts of registers (PTX ISA §9.7.17, §9.7.18).

use super::lanes::each;
use crate::regs::{R32, Regs};

/// One instruction: an operation on `a` and `b`, and the way in which its result is combined with `c`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Video {
    pub(crate) op: VideoOp,
    /// How many numbers a register holds: 1, 2 or 4.
    pub(crate) parts: u8,
    /// Six flags, one bit each: whether the result, `a` and `b` are signed, then whether `a`, `b` and `c` are negated.
    pub(crate) signed: u8,
    /// Whether the result is clamped to its type.
    pub(crate) saturates: bool,
    pub(crate) third: ThirdOperand,
    /// The parts of the destination that are written. A scalar instruction encodes its single part as in [`part`]; a
    /// SIMD instruction has one bit per part.
    pub(crate) mask: u8,
    /// For each number of `a`, then of `b`: the source part, in four bits. A scalar instruction encodes the part as in
    /// [`part`]; a SIMD instruction numbers the parts of `a` and `b` consecutively.
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
    /// Shift left. The flag states whether the distance wraps at 32.
    Shl(bool),
    Shr(bool),
    /// Multiply and add: the distance of the final right shift, and whether 1 is added before the shift.
    Mad(u8, bool),
    /// Comparison: one bit each for less, equal and greater. A bit is set if the comparison is true in its case.
    Compare(u8),
}

/// How `c` is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThirdOperand {
    /// `c` supplies the parts that are not written.
    Merge,
    /// The result is added to `c`; a SIMD instruction adds the sum of its results.
    Add,
    /// The lesser of the result and `c`.
    Min,
    /// The greater of the result and `c`.
    Max,
}

/// Returns the number of bits of a part, and the part's first bit. Part 0 is the whole register; parts 1 to 4 are the
/// bytes; parts 5 and 6 are the halves.
const fn part(select: u16) -> (u32, u32) {
    match select {
        1..=4 => (8, (select as u32 - 1) * 8),
        5 | 6 => (16, (select as u32 - 5) * 16),
        _ => (32, 0),
    }
}

/// Returns `bits` bits from bit `at` on, sign- or zero-extended.
fn take(value: u64, bits: u32, at: u32, signed: bool) -> i64 {
    let shift = 64 - bits;
    let up = value >> at << shift;
    match signed {
        true => up.cast_signed() >> shift,
        false => (up >> shift).cast_signed(),
    }
}

/// Clamps to the range of a `bits`-bit integer.
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

    /// Computes the operation on two numbers.
    fn compute(&self, a: i64, b: i64) -> i128 {
        let (a, b) = (i128::from(a), i128::from(b));
        let distance = |wraps: bool| if wraps { b & 31 } else { b.min(32) };
        match self.op {
            VideoOp::Add => a + b,
            VideoOp::Sub => a - b,
            VideoOp::AbsDiff => (a - b).abs(),
            // The average is rounded up or, if it is negative, down (away from zero).
            VideoOp::Average => (a + b + i128::from(a + b >= 0)) >> 1,
            VideoOp::Min => a.min(b),
            VideoOp::Max => a.max(b),
            VideoOp::Shl(wraps) => a << distance(wraps),
            VideoOp::Shr(wraps) => a >> distance(wraps),
            VideoOp::Compare(holds) => i128::from(holds >> (a.cmp(&b) as i8 + 1) & 1),
            VideoOp::Mad(..) => 0,
        }
    }

    /// `vmad`: whole registers are signed regardless of their type, as in the code that ptxas emits for sm_90.
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

    /// Computes a scalar instruction for one lane, exactly like the code that ptxas emits for sm_90: see
    /// [`Self::clamped`] and `wide`. If the upper half of the destination is written, it receives the upper half of the
    /// result.
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
        // Before the comparison with `c`, sums and differences are truncated to 32 bits, and other results to 64 bits.
        let is_cut =
            matches!(self.op, VideoOp::Add | VideoOp::Sub) || self.saturates && matches!(self.op, VideoOp::Shr(_));
        let wide = if is_cut { i64::from(result as i32) } else { result as i64 };
        let third = take(c.into(), 32, 0, signed);
        // A negative result counts as greater than every unsigned number.
        let is_less = wide < third && (signed || wide >= 0);
        let result = result as u32;
        match self.third {
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

    /// Clamps a result to `bits` bits, for instructions with `.sat`. With fewer than 32 bits, a negative result counts
    /// as too large. With 32 unsigned bits, only negative results are clamped.
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

    fn simd(&self, a: u32, b: u32, c: u32) -> u32 {
        let bits = 32 / u32::from(self.parts);
        let sources = u64::from(a) | u64::from(b) << 32;
        let mut merged = c;
        let mut sum = c;
        for index in (0..u32::from(self.parts)).filter(|index| self.mask >> index & 1 != 0) {
            let source = |operand: u8| {
                let place = self.select[operand as usize - 1] >> (index * 4) & 15;
                take(sources, bits, u32::from(place) * bits, self.is_signed(operand))
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
        if self.third == ThirdOperand::Merge { merged } else { sum }
    }

    /// Runs the instruction on the lanes of `mask`.
    #[inline(never)]
    pub(crate) fn execute(&self, regs: &mut Regs<'_>, mask: u32) {
        let [a, b, c] = self.from.map(|number| *regs.get32(R32(number.into())));
        let values = match self.parts {
            1 => each(|lane| self.single(a[lane], b[lane], c[lane])),
            _ => each(|lane| self.simd(a[lane], b[lane], c[lane])),
        };
        regs.set32(R32(self.to.into()), mask, &values);
    }
}
