//! The operations of a reduction and of a scan, and the types of their elements.
//!
//! `reduce_any`, `scan_look_back_warp` and `scan_pipelined` work with any operation that is associative and commutative.
//!
//! | operation | identity | integers | floats |
//! |---|---|---|---|
//! | sum | 0 | wraps | rounds, in an order that depends on the rung; -0 and +0 are equal |
//! | product | 1 | wraps | rounds likewise |
//! | min | the greatest value, +∞ | | ignores NaN; -0 and +0 are equal |
//! | max | the least value, -∞ | | ignores NaN; -0 and +0 are equal |
//!
//! The identity is the result of no elements, and for min and max also of elements that are all NaN. Sum and product of
//! floats are associative only up to rounding, so two rungs may differ in the last digits. An infinity or a NaN among the
//! elements may be the result of a sum or a product.
//!
//! A scan applies this to each prefix. A prefix of nothing but NaN has the identity as its min and max, and a later NaN
//! leaves the min and max before it unchanged. The sum and the product of every prefix from the first NaN on are NaN.

use core::array;

use cuda_std::warp::WarpShuffleValue;

/// `N` neighboring elements, aligned for an access of 16 bytes (PTX ISA, "Vectors").
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub(crate) struct Wide<T, const N: usize>(pub(crate) [T; N]);

/// Elements of a thread of `reduce_any`.
pub const ITEMS: usize = 8;

/// An associative and commutative operation.
pub trait Operation<T> {
    /// The neutral element: `combine(IDENTITY, a)` is `a`.
    const IDENTITY: T;

    /// The operation. A scan passes the earlier elements as `a`, except where pairs of lanes exchange sums (`sum_warp`).
    fn combine(a: T, b: T) -> T;

    /// Returns `before` from `all = combine(before, last)` and `last`, if that is exact for all values.
    #[inline(always)]
    fn undo(_all: T, _last: T) -> Option<T> {
        None
    }
}

/// A type of element. Its operations are total: nothing overflows and nothing panics.
pub trait Element: Copy + WarpShuffleValue {
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The least element of the type.
    const LEAST: Self;
    /// The greatest element of the type.
    const GREATEST: Self;

    /// The sum; that of integers wraps.
    fn plus(self, other: Self) -> Self;
    /// The summand that gives `self` together with `other`. `None` for floats, whose difference is rounded.
    fn minus(self, other: Self) -> Option<Self>;
    /// The product; that of integers wraps.
    fn times(self, other: Self) -> Self;
    /// The lesser of two elements; of a NaN and a number, the number.
    fn lesser(self, other: Self) -> Self;
    /// The greater of two elements; of a NaN and a number, the number.
    fn greater(self, other: Self) -> Self;

    /// The element's bits, in the low end of a word.
    fn to_word(self) -> u64;
    /// The element with these bits.
    fn from_word(word: u64) -> Self;

    /// Loads [`ITEMS`] elements, 16 bytes at a time: the vector with index `vector` from `data` on, the vector `stride`
    /// vectors further, and so on.
    ///
    /// # Safety
    /// These elements are in bounds, no thread writes them, and `data` is a multiple of 16.
    unsafe fn load_wide(data: *const Self, vector: usize, stride: usize) -> [Self; ITEMS];
}

macro_rules! elements {
    ($($type:ident: $zero:literal, $one:literal, $least:expr, $greatest:expr, $plus:expr, $minus:expr, $times:expr,
        $to_word:expr, $from_word:expr;)*) => {$(
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
            fn minus(self, other: Self) -> Option<Self> {
                $minus(self, other)
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

            #[inline(always)]
            fn to_word(self) -> u64 {
                $to_word(self)
            }

            #[inline(always)]
            fn from_word(word: u64) -> Self {
                $from_word(word)
            }

            #[inline(always)]
            unsafe fn load_wide(data: *const Self, vector: usize, stride: usize) -> [Self; ITEMS] {
                const WIDTH: usize = 16 / size_of::<$type>();
                let first = data.wrapping_add(vector * WIDTH);
                let loaded: [[Self; WIDTH]; ITEMS / WIDTH] = array::from_fn(|k| {
                    // SAFETY: the vector is in bounds, and at a multiple of 16 bytes as `data` is.
                    unsafe { *first.wrapping_add(k * stride * WIDTH).cast::<Wide<Self, WIDTH>>() }.0
                });
                array::from_fn(|k| loaded[k / WIDTH][k % WIDTH])
            }
        }
    )*};
}

elements! {
    i32: 0, 1, i32::MIN, i32::MAX, i32::wrapping_add, |a: i32, b| Some(a.wrapping_sub(b)), i32::wrapping_mul,
        |a: i32| a.cast_unsigned().into(), |word| word as i32;
    u32: 0, 1, u32::MIN, u32::MAX, u32::wrapping_add, |a: u32, b| Some(a.wrapping_sub(b)), u32::wrapping_mul,
        u64::from, |word| word as u32;
    i64: 0, 1, i64::MIN, i64::MAX, i64::wrapping_add, |a: i64, b| Some(a.wrapping_sub(b)), i64::wrapping_mul,
        i64::cast_unsigned, u64::cast_signed;
    f32: 0.0, 1.0, f32::NEG_INFINITY, f32::INFINITY, |a, b| a + b, |_, _| None, |a, b| a * b,
        |a: f32| a.to_bits().into(), |word| f32::from_bits(word as u32);
    f64: 0.0, 1.0, f64::NEG_INFINITY, f64::INFINITY, |a, b| a + b, |_, _| None, |a, b| a * b,
        f64::to_bits, f64::from_bits;
}

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident = $identity:ident, $combine:ident $(, $undo:ident)?;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl<T: Element> Operation<T> for $name {
            const IDENTITY: T = T::$identity;

            #[inline(always)]
            fn combine(a: T, b: T) -> T {
                a.$combine(b)
            }

            $(
                #[inline(always)]
                fn undo(all: T, last: T) -> Option<T> {
                    all.$undo(last)
                }
            )?
        }
    )*};
}

operations! {
    /// Addition.
    Sum = ZERO, plus, minus;
    /// Multiplication.
    Product = ONE, times;
    /// The least element.
    Min = GREATEST, lesser;
    /// The greatest element.
    Max = LEAST, greater;
}

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

    fn is_undone<T: Element + PartialEq + core::fmt::Debug>(values: &[T]) {
        for &before in values {
            assert_eq!(T::from_word(before.to_word()), before);
            for &last in values {
                assert_eq!(<Sum as Operation<T>>::undo(before.plus(last), last), Some(before));
                assert_eq!(<Max as Operation<T>>::undo(before.greater(last), last), None);
            }
        }
    }

    #[test]
    fn sums_of_integers_are_undone_and_sums_of_floats_are_not() {
        is_undone(&[i32::MIN, -1, 0, 7, i32::MAX]);
        is_undone(&[0, 1, u32::MAX]);
        is_undone(&[i64::MIN, -1, 0, 1 << 40, i64::MAX]);
        assert_eq!(<Sum as Operation<f32>>::undo(3.0, 2.0), None);
        assert_eq!(f32::from_word((-1.5_f32).to_word()), -1.5);
        assert_eq!(f64::from_word((-1.5_f64).to_word()), -1.5);
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
