//! The operations of a reduction and of a scan, and the types of their elements.
//!
//! `reduce_any`, `scan_look_back_warp` and `scan_pipelined` work with any operation that is associative and
//! commutative.
//!
//! | operation | identity | integers | floats |
//! |---|---|---|---|
//! | sum | 0 | wraps | rounds, in an order that depends on the rung; -0 and +0 are equal |
//! | product | 1 | wraps | rounds likewise |
//! | min | the greatest value, +∞ | | ignores NaN; -0 and +0 are equal |
//! | max | the least value, -∞ | | ignores NaN; -0 and +0 are equal |
//!
//! The identity is the result for an empty input. For min and max, it is also the result if all elements are NaN. The
//! sum and the product of floats are associative only up to rounding, so two rungs may differ in the last digits. If an
//! element is an infinity or a NaN, the sum or the product may also be an infinity or a NaN.
//!
//! A scan applies these rules to each prefix. The min and the max of a prefix that contains only NaN are the identity.
//! A later NaN leaves the min and max unchanged. The sum and the product of every prefix from the first NaN on are NaN.

use core::array;

use cuda_std::warp::WarpShuffleValue;

/// `N` neighboring elements, aligned for a 16-byte access (PTX ISA, "Vectors").
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub(crate) struct Wide<T, const N: usize>(pub(crate) [T; N]);

/// The number of elements per thread in `reduce_any`.
pub const ITEMS: usize = 8;

/// An associative and commutative operation.
pub trait Operation<T> {
    /// The neutral element: `combine(IDENTITY, a)` is `a`.
    const IDENTITY: T;

    /// Combines two values. A scan passes the earlier elements as `a`, except when pairs of lanes exchange sums
    /// (`sum_warp`).
    fn combine(a: T, b: T) -> T;

    /// Computes `before` from `all = combine(before, last)` and `last`. Returns `None` if the result could be inexact.
    #[inline(always)]
    fn undo(_all: T, _last: T) -> Option<T> {
        None
    }
}

/// An element type. Its operations are total: they neither overflow nor panic.
pub trait Element: Copy + WarpShuffleValue {
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The least element of the type.
    const LEAST: Self;
    /// The greatest element of the type.
    const GREATEST: Self;

    /// Returns the sum, which wraps for integers.
    fn plus(self, other: Self) -> Self;
    /// Returns the value whose sum with `other` is `self`, or `None` for floats, because their difference is rounded.
    fn minus(self, other: Self) -> Option<Self>;
    /// Returns the product, which wraps for integers.
    fn times(self, other: Self) -> Self;
    /// Returns the lesser of two elements. If exactly one of them is a NaN, returns the number.
    fn lesser(self, other: Self) -> Self;
    /// Returns the greater of two elements. If exactly one of them is a NaN, returns the number.
    fn greater(self, other: Self) -> Self;

    /// Returns a word with the element's bits in its low end.
    fn to_word(self) -> u64;
    /// Returns the element whose bits are in the low end of the word.
    fn from_word(word: u64) -> Self;

    /// Loads [`ITEMS`] elements, 16 bytes at a time: the vectors at the indices `vector`, `vector + stride` and so on,
    /// relative to `data`.
    ///
    /// # Safety
    /// All loaded elements are in bounds, no thread writes them, and `data` is aligned to 16 bytes.
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
                    // SAFETY: the vector is in bounds. Its address is a multiple of 16 bytes, because `data` is aligned
                    // to 16 bytes and each vector is 16 bytes.
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
