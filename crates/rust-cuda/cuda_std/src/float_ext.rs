//! [`FloatExt`]: libdevice's further functions, as methods.

use crate::intrinsics as raw;

mod private {
    /// Only `f32` and `f64`: the trait may grow.
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

macro_rules! float_ext {
    ($($(#[$doc:meta])* $method:ident($($arg:ident)?) = $name64:ident, $name32:ident;)*) => {
        /// Further functions of `f32` and `f64`: those of [`intrinsics`](crate::intrinsics), which says how accurate
        /// they are.
        pub trait FloatExt: Sized + private::Sealed {
            $(
                $(#[$doc])*
                #[must_use]
                fn $method(self $(, $arg: i32)?) -> Self;
            )*
            /// The fraction, 0 or of 0.5 to 1, and the exponent of 2 whose product is `self`.
            #[must_use]
            fn frexp(self) -> (Self, i32);
            /// The exponent of 2 of the leading digit.
            #[must_use]
            fn unbiased_exp(self) -> i32;
            /// `self`, but at least 0 and at most 1.
            #[must_use]
            fn saturate(self) -> Self;
            /// The sine and cosine of π times `self`.
            #[must_use]
            fn sincospi(self) -> (Self, Self);
        }

        float_ext!(@ f64: libm::frexp, ilogb; $($method($($arg)?) = $name64;)*);
        float_ext!(@ f32: libm::frexpf, ilogbf; $($method($($arg)?) = $name32;)*);
    };
    (@ $ty:ident: $frexp:path, $ilogb:ident; $($method:ident $args:tt = $name:ident;)*) => {
        impl FloatExt for $ty {
            $(float_ext!(@method $method $args $name);)*

            #[inline]
            fn frexp(self) -> (Self, i32) {
                $frexp(self)
            }

            #[inline]
            fn unbiased_exp(self) -> i32 {
                // SAFETY: a function of numbers.
                unsafe { raw::$ilogb(self) }
            }

            #[inline]
            fn saturate(self) -> Self {
                Self::min(1.0, self.max(0.0))
            }

            #[inline]
            fn sincospi(self) -> (Self, Self) {
                (self.sinpi(), self.cospi())
            }
        }
    };
    // libdevice has the order first.
    (@method $method:ident (order) $name:ident) => {
        #[inline]
        fn $method(self, order: i32) -> Self {
            // SAFETY: a function of numbers.
            unsafe { raw::$name(order, self) }
        }
    };
    (@method $method:ident ($($arg:ident)?) $name:ident) => {
        #[inline]
        fn $method(self $(, $arg: i32)?) -> Self {
            // SAFETY: a function of numbers.
            unsafe { raw::$name(self $(, $arg)?) }
        }
    };
}

float_ext! {
    /// The cosine of π times `self`.
    cospi() = cospi, cospif;
    /// The sine of π times `self`.
    sinpi() = sinpi, sinpif;
    /// The error function.
    error_function() = erf, erff;
    /// 1 minus the error function.
    complementary_error_function() = erfc, erfcf;
    /// The inverse of [`complementary_error_function`](Self::complementary_error_function), for 0 to 2.
    inv_complementary_error_function() = erfcinv, erfcinvf;
    /// e to the square of `self`, times [`complementary_error_function`](Self::complementary_error_function).
    scaled_complementary_error_function() = erfcx, erfcxf;
    /// The Bessel function of the first kind of order 0.
    j0() = j0, j0f;
    /// The Bessel function of the first kind of order 1.
    j1() = j1, j1f;
    /// The Bessel function of the first kind.
    jn(order) = jn, jnf;
    /// The Bessel function of the second kind of order 0.
    y0() = y0, y0f;
    /// The Bessel function of the second kind of order 1.
    y1() = y1, y1f;
    /// The Bessel function of the second kind.
    yn(order) = yn, ynf;
    /// `self` times 2 to the power `exp`.
    ldexp(exp) = ldexp, ldexpf;
    /// `self` times 2 to the power `exp`.
    scale_by_n(exp) = scalbn, scalbnf;
    /// The natural logarithm of the gamma function's absolute value.
    log_gamma() = lgamma, lgammaf;
    /// The gamma function.
    gamma() = tgamma, tgammaf;
    /// The natural logarithm of 1 plus `self`.
    log1p() = log1p, log1pf;
    /// The standard normal distribution's share below `self`.
    norm_cdf() = normcdf, normcdff;
    /// The inverse of [`norm_cdf`](Self::norm_cdf), for 0 to 1.
    inv_norm_cdf() = normcdfinv, normcdfinvf;
    /// The reciprocal of the cube root.
    rcbrt() = rcbrt, rcbrtf;
}
