//! The types that are reduced: their elements, and the check of a result.

use std::fmt::Display;

/// An operation, as `--op` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Sum,
    Product,
    Min,
    Max,
}

pub(super) const OPS: &[&str] = &["sum", "product", "min", "max"];
pub(super) const TYPES: &[&str] = &["i32", "u32", "i64", "f32", "f64"];

impl Op {
    pub(super) fn named(name: &str) -> Self {
        let all = [Self::Sum, Self::Product, Self::Min, Self::Max];
        let place = OPS.iter().position(|own| *own == name);
        all[place.expect("the option takes no other word")]
    }

    pub(super) fn name(self) -> &'static str {
        OPS[self as usize]
    }
}

/// A type of element.
pub(super) trait Number: bytemuck::Pod + Display + Send + Sync {
    /// The type that the reference computes in: exact for integers, and double precision for floats.
    type Wide: Copy + Display + Send + Sync;

    /// Element `index` of the input: made from [`element`](super::element), in a range in which the operation depends
    /// on every element.
    fn element(index: u32, op: Op) -> Self;

    fn widen(self) -> Self::Wide;

    /// The result for no elements.
    fn identity(op: Op) -> Self::Wide;

    fn combine(op: Op, a: Self::Wide, b: Self::Wide) -> Self::Wide;

    /// The absolute value, which errors are measured by; 0 for types without rounding.
    fn magnitude(wide: Self::Wide) -> f64;

    /// Whether this equals `right`, within `error` if the type rounds.
    fn is(self, right: Self::Wide, error: f64) -> bool;

    /// Half the distance between 1 and the next number; 0 for types without rounding.
    const ROUNDOFF: f64;
}

macro_rules! integers {
    ($($type:ident: $element:expr;)*) => {$(
        impl Number for $type {
            type Wide = Self;

            fn element(index: u32, op: Op) -> Self {
                let element: Self = $element(index);
                match op {
                    // A product of even numbers soon becomes 0.
                    Op::Product => element | 1,
                    Op::Sum | Op::Min | Op::Max => element,
                }
            }

            fn widen(self) -> Self {
                self
            }

            fn identity(op: Op) -> Self {
                match op {
                    Op::Sum => 0,
                    Op::Product => 1,
                    Op::Min => Self::MAX,
                    Op::Max => Self::MIN,
                }
            }

            fn combine(op: Op, a: Self, b: Self) -> Self {
                match op {
                    Op::Sum => a.wrapping_add(b),
                    Op::Product => a.wrapping_mul(b),
                    Op::Min => a.min(b),
                    Op::Max => a.max(b),
                }
            }

            fn magnitude(_: Self) -> f64 {
                0.0
            }

            fn is(self, right: Self, _: f64) -> bool {
                self == right
            }

            const ROUNDOFF: f64 = 0.0;
        }
    )*};
}

integers! {
    i32: super::element;
    u32: |index| super::element(index).cast_unsigned();
    i64: |index: u32| i64::from(super::element(index)) << 32 | i64::from(super::element(!index).cast_unsigned());
}

/// Among the elements of a min or max of floats, one in this many is a NaN, which must be ignored.
const NAN_EVERY: u32 = 997;

/// The factors of a product are 1 or -1 with a relative deviation of up to one over this: small enough that the
/// product of the most factors stays in the range of `f32`, and large enough that a missing factor is detected.
const FACTORS: f64 = 1024.0;

macro_rules! floats {
    ($($type:ident: $summand:expr;)*) => {$(
        impl Number for $type {
            type Wide = f64;

            fn element(index: u32, op: Op) -> Self {
                // -1 to 1, of 24 bits: exact in both types.
                let element = f64::from(super::element(index) >> 8) / f64::from(1 << 23);
                match op {
                    Op::Sum => $summand(super::element(index)),
                    // Compensates the mean of the logarithm's term -x²/2, where x² is a third on average, so that the
                    // logarithm's mean is 0.
                    Op::Product => {
                        let factor = 1.0 + element / FACTORS + 1.0 / (6.0 * FACTORS * FACTORS);
                        // The lowest bit is not in `element`.
                        let is_negative = super::element(index) & 1 == 1;
                        (if is_negative { -factor } else { factor }) as $type
                    }
                    Op::Min | Op::Max if index % NAN_EVERY == 5 => Self::NAN,
                    Op::Min | Op::Max => element as $type,
                }
            }

            fn widen(self) -> f64 {
                self.into()
            }

            fn identity(op: Op) -> f64 {
                match op {
                    Op::Sum => 0.0,
                    Op::Product => 1.0,
                    Op::Min => f64::INFINITY,
                    Op::Max => f64::NEG_INFINITY,
                }
            }

            fn combine(op: Op, a: f64, b: f64) -> f64 {
                match op {
                    Op::Sum => a + b,
                    Op::Product => a * b,
                    Op::Min => a.min(b),
                    Op::Max => a.max(b),
                }
            }

            fn magnitude(wide: f64) -> f64 {
                wide.abs()
            }

            fn is(self, right: f64, error: f64) -> bool {
                let own = f64::from(self);
                // Infinities are compared first, because their difference is not a number.
                own == right || (own - right).abs() <= error
            }

            const ROUNDOFF: f64 = <$type>::EPSILON as f64 / 2.0;
        }
    )*};
}

floats! {
    // Odd multiples of 2^-6 and of 2^-32 from -1 to 1, for the ladder's documentation to count on.
    f32: |bits: i32| (2 * (bits >> 26) + 1) as f32 / 64.0;
    f64: |bits: i32| (2 * i64::from(bits) + 1) as f64 / (1u64 << 32) as f64;
}
