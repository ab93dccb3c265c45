//! Compares results with expected values.

use std::fmt::Debug;

use bytemuck::Pod;

/// A result type that a test can compare.
pub trait Number: Pod + Debug {
    /// Returns whether a result matches the expected value. `tolerance` applies only to floats, and NaN matches NaN.
    fn is_near(self, expected: Self, tolerance: f64) -> bool;
}

macro_rules! integers {
    ($($ty:ty)*) => {$(
        impl Number for $ty {
            fn is_near(self, expected: Self, _: f64) -> bool {
                self == expected
            }
        }
    )*};
}

integers!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

macro_rules! floats {
    ($($ty:ty)*) => {$(
        impl Number for $ty {
            fn is_near(self, expected: Self, tolerance: f64) -> bool {
                let difference = (f64::from(self) - f64::from(expected)).abs();
                let near = difference <= tolerance * f64::from(expected).abs().max(1.0);
                self == expected || near || self.is_nan() && expected.is_nan()
            }
        }
    )*};
}

floats!(f32 f64);

impl<T: Number, const N: usize> Number for [T; N]
where
    [T; N]: Pod,
{
    fn is_near(self, expected: Self, tolerance: f64) -> bool {
        self.iter().zip(expected).all(|(found, expected)| found.is_near(expected, tolerance))
    }
}
