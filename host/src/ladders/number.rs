//! Element types and operations of reductions and scans, with error bounds for their results.

use std::cmp::Ordering;
use std::fmt::Display;
use std::ops::{Add as _, Mul as _};

use ranks::{ElementType, Operation};

use crate::data::element;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Sum,
    Product,
    Min,
    Max,
}

pub(super) const OPS: &[&str] = &["sum", "product", "min", "max"];

impl Op {
    pub(super) fn named(name: &str) -> Self {
        let all = [Self::Sum, Self::Product, Self::Min, Self::Max];
        let place = OPS.iter().position(|word| *word == name);
        all[place.expect("the option accepts only these words")]
    }

    /// Returns the same operation for devices that combine their results.
    pub(super) fn device_operation(self) -> Operation {
        match self {
            Self::Sum => Operation::Sum,
            Self::Product => Operation::Product,
            Self::Min => Operation::Min,
            Self::Max => Operation::Max,
        }
    }

    pub(super) fn name(self) -> &'static str {
        OPS[self as usize]
    }
}

pub(super) trait Number: bytemuck::Pod + Display + Send + Sync {
    /// The type in which the reference computes: exact for integers, and double precision for floats.
    type Wide: Wide + From<Self>;

    /// This type's identifier for devices that combine their results.
    const ELEMENT: ElementType;

    /// The unit roundoff, half the distance between 1 and the next number; 0 for types without rounding.
    const ROUNDOFF: f64;

    /// Values at the limits of the type.
    const SPECIAL: [Self; 5];

    /// Returns element `index` of the input. The element is computed from [`element`], in a range in which the result
    /// depends on every element. Sums of floats are exact, as the ladder `reduce` documents.
    fn element(index: u32, op: Op) -> Self;

    /// Returns element `index` of an input of floats that are uniform from -1 to 1, with 24 random bits. Sums of these
    /// floats are rounded. Integers cover their full range.
    fn uniform(index: u32) -> Self;

    /// Compares two elements in a total order, even for floats.
    fn order(&self, other: &Self) -> Ordering;
}

/// A type in which the reference computes.
pub(super) trait Wide: bytemuck::Pod + Display + Send + Sync {
    /// Returns the result for no elements.
    fn identity(op: Op) -> Self;

    fn combine(op: Op, a: Self, b: Self) -> Self;

    /// Returns the distance between two numbers. Unequal integers are infinitely far apart. The distance between two
    /// NaNs is 0, and the distance between a NaN and a number is NaN.
    fn distance(self, other: Self) -> f64;
}

macro_rules! wide {
    ($($type:ident: $add:ident, $mul:ident, $least:ident, $greatest:ident, $distance:expr;)*) => {$(
        impl Wide for $type {
            fn identity(op: Op) -> Self {
                match op {
                    Op::Sum => Self::from(0u8),
                    Op::Product => Self::from(1u8),
                    Op::Min => Self::$greatest,
                    Op::Max => Self::$least,
                }
            }

            fn combine(op: Op, a: Self, b: Self) -> Self {
                match op {
                    Op::Sum => a.$add(b),
                    Op::Product => a.$mul(b),
                    Op::Min => a.min(b),
                    Op::Max => a.max(b),
                }
            }

            fn distance(self, other: Self) -> f64 {
                // Equal infinities need this test, because their difference is NaN.
                if self == other { 0.0 } else { $distance(self, other) }
            }
        }
    )*};
}

wide! {
    i32: wrapping_add, wrapping_mul, MIN, MAX, |_, _| f64::INFINITY;
    u32: wrapping_add, wrapping_mul, MIN, MAX, |_, _| f64::INFINITY;
    i64: wrapping_add, wrapping_mul, MIN, MAX, |_, _| f64::INFINITY;
    f64: add, mul, NEG_INFINITY, INFINITY, |a: f64, b: f64| if a.is_nan() && b.is_nan() { 0.0 } else { (a - b).abs() };
}

macro_rules! integers {
    ($($type:ident $name:ident: $element:expr;)*) => {$(
        impl Number for $type {
            type Wide = Self;

            const ELEMENT: ElementType = ElementType::$name;

            const ROUNDOFF: f64 = 0.0;

            fn element(index: u32, op: Op) -> Self {
                let element: Self = $element(index);
                // The product of even numbers would soon become 0.
                if op == Op::Product { element | 1 } else { element }
            }

            const SPECIAL: [Self; 5] = [Self::MIN, Self::MAX, 1, !0, 0];

            fn uniform(index: u32) -> Self {
                $element(index)
            }

            fn order(&self, other: &Self) -> Ordering {
                self.cmp(other)
            }
        }
    )*};
}

integers! {
    i32 I32: element;
    u32 U32: |index| element(index).cast_unsigned();
    i64 I64: |index: u32| i64::from(element(index)) << 32 | i64::from(element(!index).cast_unsigned());
}

/// In a min or max of floats, one of every `NAN_EVERY` elements is a NaN, which the operation must ignore.
pub(super) const NAN_EVERY: u32 = 997;

/// The factors of a product are 1 or -1 with a relative deviation of at most 1 / `FACTORS`. The deviation is small
/// enough to keep even the longest product in the range of `f32`, and large enough to detect a missing factor.
const FACTORS: f64 = 1024.0;

macro_rules! floats {
    ($($type:ident $name:ident: $summand:expr;)*) => {$(
        impl Number for $type {
            type Wide = f64;

            const ELEMENT: ElementType = ElementType::$name;

            const ROUNDOFF: f64 = <$type>::EPSILON as f64 / 2.0;

            fn element(index: u32, op: Op) -> Self {
                let bits = element(index);
                let element = f64::from(Self::uniform(index));
                match op {
                    Op::Sum => $summand(bits),
                    // The logarithm of a factor contains the term -x²/2, and the mean of x² is 1/3. The last summand
                    // cancels the mean of this term, so that the mean of the logarithm is 0.
                    Op::Product => {
                        let factor = 1.0 + element / FACTORS + 1.0 / (6.0 * FACTORS * FACTORS);
                        // `element` does not use the lowest bit.
                        (if bits & 1 == 1 { -factor } else { factor }) as $type
                    }
                    Op::Min | Op::Max if index % NAN_EVERY == 5 => Self::NAN,
                    Op::Min | Op::Max => Self::uniform(index),
                }
            }

            const SPECIAL: [Self; 5] = [-0.0, 0.0, Self::NEG_INFINITY, Self::INFINITY, Self::NAN];

            fn uniform(index: u32) -> Self {
                // Both types represent 24 bits exactly.
                (f64::from(element(index) >> 8) / f64::from(1 << 23)) as Self
            }

            fn order(&self, other: &Self) -> Ordering {
                self.total_cmp(other)
            }
        }
    )*};
}

floats! {
    // Odd multiples of 2^-6 and of 2^-32 from -1 to 1, as the ladder's documentation says.
    f32 F32: |bits: i32| (2 * (bits >> 26) + 1) as f32 / 64.0;
    f64 F64: |bits: i32| (2 * i64::from(bits) + 1) as f64 / (1u64 << 32) as f64;
}

/// Returns a bound on the sum of the relative errors of `operations` multiplications: the lesser of Higham's γ and a
/// bound for errors that are nearly unbiased. The ladder `reduce` documents this bound.
pub(super) fn gamma(operations: u64, roundoff: f64) -> f64 {
    const LAMBDA: f64 = 8.0;
    const BIAS: f64 = 1.0 / 32.0;
    let operations = operations as f64;
    let worst = operations * roundoff;
    let usual = (LAMBDA * operations.sqrt() + BIAS * operations) * roundoff;
    match worst < 0.5 {
        true => (worst / (1.0 - worst)).min(usual.exp_m1()),
        false => usual.exp_m1(),
    }
}
