//! [`FloatExt`]: further functions of libdevice as methods.

use crate::intrinsics as raw;

mod private {
    /// Limits the trait to `f32` and `f64`, so that methods can be added later.
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

macro_rules! float_ext {
    ($($(#[$doc:meta])* $method:ident($($arg:ident)?) = $name64:ident, $name32:ident;)*) => {
        /// Further functions of `f32` and `f64`. They come from [`intrinsics`](crate::intrinsics), whose documentation
        /// states their accuracy.
        pub trait FloatExt: Sized + private::Sealed {
            $(
                $(#[$doc])*
                #[must_use]
                fn $method(self $(, $arg: i32)?) -> Self;
            )*
            /// Splits `self` into a fraction, which is 0 or in [0.5, 1), and a base-2 exponent.
            #[must_use]
            fn frexp(self) -> (Self, i32);
            /// Returns the base-2 exponent of the leading digit.
            #[must_use]
            fn unbiased_exp(self) -> i32;
            /// Returns `self` clamped to the range from 0 to 1.
            #[must_use]
            fn saturate(self) -> Self;
            /// Returns the sine and cosine of π times `self`.
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
                // SAFETY: the function only takes numbers, so it has no preconditions.
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
    // libdevice's function takes the order as its first argument.
    (@method $method:ident (order) $name:ident) => {
        #[inline]
        fn $method(self, order: i32) -> Self {
            // SAFETY: the function only takes numbers, so it has no preconditions.
            unsafe { raw::$name(order, self) }
        }
    };
    (@method $method:ident ($($arg:ident)?) $name:ident) => {
        #[inline]
        fn $method(self $(, $arg: i32)?) -> Self {
            // SAFETY: the function only takes numbers, so it has no preconditions.
            unsafe { raw::$name(self $(, $arg)?) }
        }
    };
}

float_ext! {
    /// Returns the cosine of π times `self`.
    cospi() = cospi, cospif;
    /// Returns the sine of π times `self`.
    sinpi() = sinpi, sinpif;
    /// Returns the error function of `self`.
    error_function() = erf, erff;
    /// Returns 1 minus the error function of `self`.
    complementary_error_function() = erfc, erfcf;
    /// Returns the inverse of [`complementary_error_function`](Self::complementary_error_function), defined from 0 to
    /// 2.
    inv_complementary_error_function() = erfcinv, erfcinvf;
    /// Returns e to the power `self²`, times [`complementary_error_function`](Self::complementary_error_function).
    scaled_complementary_error_function() = erfcx, erfcxf;
    /// Returns the Bessel function of the first kind of order 0.
    j0() = j0, j0f;
    /// Returns the Bessel function of the first kind of order 1.
    j1() = j1, j1f;
    /// Returns the Bessel function of the first kind of the given order.
    jn(order) = jn, jnf;
    /// Returns the Bessel function of the second kind of order 0.
    y0() = y0, y0f;
    /// Returns the Bessel function of the second kind of order 1.
    y1() = y1, y1f;
    /// Returns the Bessel function of the second kind of the given order.
    yn(order) = yn, ynf;
    /// Returns `self` times 2 to the power `exp`.
    ldexp(exp) = ldexp, ldexpf;
    /// Returns `self` times 2 to the power `exp`.
    scale_by_n(exp) = scalbn, scalbnf;
    /// Returns the natural logarithm of the absolute value of the gamma function.
    log_gamma() = lgamma, lgammaf;
    /// Returns the gamma function of `self`.
    gamma() = tgamma, tgammaf;
    /// Returns the natural logarithm of 1 plus `self`.
    log1p() = log1p, log1pf;
    /// Returns the cumulative distribution function of the standard normal distribution.
    norm_cdf() = normcdf, normcdff;
    /// Returns the inverse of [`norm_cdf`](Self::norm_cdf), defined from 0 to 1.
    inv_norm_cdf() = normcdfinv, normcdfinvf;
    /// Returns the reciprocal of the cube root.
    rcbrt() = rcbrt, rcbrtf;
}
