//! What is reduced: an operation over a type of element.
//!
//! The textbook says that a sum stands for any operation that is associative and commutative. Here it
//! does: the bodies of the rungs in shared memory, by shuffles and with a grid's stride are generic over
//! both.
//!
//! | operation | identity | integers | floats |
//! |---|---|---|---|
//! | sum | 0 | wraps | rounds, in an order of its own in each rung |
//! | product | 1 | wraps | the same |
//! | min | the greatest, +∞ | | a NaN is ignored; -0 and +0 are the same |
//! | max | the least, -∞ | | the same |
//!
//! The identity is what no elements give; nothing but NaNs give it too, for min and max. Sum and product of
//! floats are associative only up to rounding, so two rungs may differ in the last digits, and an
//! infinity or a NaN among the elements is among the results.

use cuda_std::warp::WarpShuffleValue;

/// An associative and commutative operation.
pub trait Operation<T> {
    /// What changes nothing: `combine(IDENTITY, a)` is `a`.
    const IDENTITY: T;

    /// The operation.
    fn combine(a: T, b: T) -> T;
}

/// A type of element. Its operations are total: nothing overflows and nothing panics.
pub trait Element: Copy + WarpShuffleValue {
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// Nothing is less.
    const LEAST: Self;
    /// Nothing is greater.
    const GREATEST: Self;

    /// The sum; that of integers wraps.
    fn plus(self, other: Self) -> Self;
    /// The product; that of integers wraps.
    fn times(self, other: Self) -> Self;
    /// The lesser; the other one of a NaN.
    fn lesser(self, other: Self) -> Self;
    /// The greater; the other one of a NaN.
    fn greater(self, other: Self) -> Self;
}

macro_rules! elements {
    ($($type:ident: $zero:literal, $one:literal, $least:expr, $greatest:expr, $plus:expr, $times:expr;)*) => {$(
        impl Element for $type {
            const ZERO: Self = $zero;
            const ONE: Self = $one;
            const LEAST: Self = $least;
            const GREATEST: Self = $greatest;

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                $plus(self, other)
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                $times(self, other)
            }

            #[inline(always)]
            fn lesser(self, other: Self) -> Self {
                self.min(other)
            }

            #[inline(always)]
            fn greater(self, other: Self) -> Self {
                self.max(other)
            }
        }
    )*};
}

elements! {
    i32: 0, 1, i32::MIN, i32::MAX, i32::wrapping_add, i32::wrapping_mul;
    u32: 0, 1, u32::MIN, u32::MAX, u32::wrapping_add, u32::wrapping_mul;
    i64: 0, 1, i64::MIN, i64::MAX, i64::wrapping_add, i64::wrapping_mul;
    f32: 0.0, 1.0, f32::NEG_INFINITY, f32::INFINITY, |a, b| a + b, |a, b| a * b;
    f64: 0.0, 1.0, f64::NEG_INFINITY, f64::INFINITY, |a, b| a + b, |a, b| a * b;
}

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident = $identity:ident, $combine:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl<T: Element> Operation<T> for $name {
            const IDENTITY: T = T::$identity;

            #[inline(always)]
            fn combine(a: T, b: T) -> T {
                a.$combine(b)
            }
        }
    )*};
}

operations! {
    /// Addition.
    Sum = ZERO, plus;
    /// Multiplication.
    Product = ONE, times;
    /// The least element.
    Min = GREATEST, lesser;
    /// The greatest element.
    Max = LEAST, greater;
}

/// Writes a rung's kernels for every operation and type but the sum of `i32`, which the rung writes itself,
/// for each block: `name_max_f32_128` and so on, with blocks of 128 threads.
///
/// `body` is generic over the element, the operation and the block, and takes shared memory of `len`
/// elements first.
macro_rules! every_operation {
    ($name:ident; shared [$len:expr]; $body:ident) => {
        every_operation!(@types $name [$len] $body Sum sum [u32 i64 f32 f64]);
        every_operation!(@types $name [$len] $body Product product [i32 u32 i64 f32 f64]);
        every_operation!(@types $name [$len] $body Min min [i32 u32 i64 f32 f64]);
        every_operation!(@types $name [$len] $body Max max [i32 u32 i64 f32 f64]);
    };
    (@types $name:ident [$len:expr] $body:ident $operation:ident $word:ident [$($type:ident)*]) => {$(
        ::pastey::paste! {
            entries! {
                #[doc = concat!("The ", stringify!($word), " of `", stringify!($type), "`.")]
                ///
                /// # Safety
                /// As [`reduce`](crate::reduce) says.
                [<$name _ $word _ $type>](input: *const $type, output: *mut $type, n: u32) for BLOCK in [128];
                shared tile: [$type; $len];
                // SAFETY: the body's contract is the kernel's.
                => unsafe { $body::<$type, $crate::reduce::operation::$operation, BLOCK>(tile, input, output, n) }
            }
        }
    )*};
}
pub(super) use every_operation;

#[cfg(test)]
mod tests {
    use super::*;

    fn identity_of<O: Operation<T>, T: Element + PartialEq + core::fmt::Debug>(values: &[T]) {
        for &value in values {
            assert_eq!(O::combine(O::IDENTITY, value), value);
            assert_eq!(O::combine(value, O::IDENTITY), value);
        }
    }

    fn identities<T: Element + PartialEq + core::fmt::Debug>(values: &[T]) {
        identity_of::<Sum, T>(values);
        identity_of::<Product, T>(values);
        identity_of::<Min, T>(values);
        identity_of::<Max, T>(values);
    }

    #[test]
    fn identities_change_nothing() {
        identities(&[i32::MIN, -1, 0, 7, i32::MAX]);
        identities(&[0, 1, u32::MAX]);
        identities(&[i64::MIN, -1, 0, i64::MAX]);
        identities(&[f32::NEG_INFINITY, -1.5, 0.0, 1e-40, f32::INFINITY]);
        identities(&[f64::NEG_INFINITY, -1.5, 0.0, f64::MAX, f64::INFINITY]);
    }

    #[test]
    fn integers_wrap_and_nans_are_ignored_by_min_and_max_alone() {
        assert_eq!(<Sum as Operation<i32>>::combine(i32::MAX, 1), i32::MIN);
        assert_eq!(<Product as Operation<u32>>::combine(1 << 31, 2), 0);
        assert_eq!(<Min as Operation<f32>>::combine(f32::NAN, 3.0), 3.0);
        assert_eq!(<Max as Operation<f64>>::combine(3.0, f64::NAN), 3.0);
        assert!(<Sum as Operation<f32>>::combine(f32::NAN, 3.0).is_nan());
        assert!(<Product as Operation<f64>>::combine(0.0, f64::INFINITY).is_nan());
    }
}
