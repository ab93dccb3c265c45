//! The mathematical functions of `f32` and `f64` that are in `std` but not in `core`: [`GpuFloat`].
//!
//! `min`, `max`, `abs`, `clamp`, `signum` and similar methods come from `core` and do not need the trait (`f32::max`
//! becomes `max.f32`).

#[cfg(any(target_arch = "nvptx64", test))]
mod exp;

/// Math functions for `f32` and `f64` without `std`, with the same names as the methods in `std`.
///
/// # Accuracy
/// Each method belongs to one of three classes:
/// * **exact**: the correctly rounded result, in one or a few instructions;
/// * **approx**: the hardware's approximation, or a result computed from it. The relative error is at most 2^-22 (4
///   ulp) over the whole range, including subnormals. The CUDA C++ function of the same name uses the same method and
///   has a measured error of 2 ulp;
/// * **libm**: the portable code of the `libm` crate. The error is about 1 ulp, the result is the same as on the host,
///   and a call takes 50 to 1000 instructions. Functions that reduce large angles use local memory. Upstream calls
///   NVIDIA's libdevice instead, which is faster and has errors of the same order, but only comes with the CUDA
///   toolkit.
///
/// Off the GPU, all methods use libm, so the results of **approx** methods can differ there in the last bits.
///
/// If speed matters more than a few ulp, use [`exp2`](Self::exp2), which is a single instruction for `f32`.
pub trait GpuFloat: Copy + PartialOrd + private::Sealed {
    /// Returns the greatest integer that is at most `self`. Exact (`cvt.rmi`).
    #[must_use]
    fn floor(self) -> Self;
    /// Returns the least integer that is at least `self`. Exact (`cvt.rpi`).
    #[must_use]
    fn ceil(self) -> Self;
    /// Returns the nearest integer, rounding halves away from 0. Exact.
    #[must_use]
    fn round(self) -> Self;
    /// Returns the integer part, rounding toward 0. Exact (`cvt.rzi`).
    #[must_use]
    fn trunc(self) -> Self;
    /// Returns `self - self.trunc()`. Exact.
    #[must_use]
    fn fract(self) -> Self;
    /// Returns the absolute value. Exact (`abs`).
    #[must_use]
    fn abs(self) -> Self;
    /// Returns 1 or -1 with the sign of `self`, or NaN for a NaN. Exact.
    #[must_use]
    fn signum(self) -> Self;
    /// Returns the magnitude of `self` with the sign of `sign`. Exact (`copysign`).
    #[must_use]
    fn copysign(self, sign: Self) -> Self;
    /// Returns `self * a + b`, rounded once. Exact (`fma.rn`).
    #[must_use]
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// Returns the integer `n` for which `self - n * rhs` equals [`rem_euclid`](Self::rem_euclid). libm.
    #[must_use]
    fn div_euclid(self, rhs: Self) -> Self;
    /// Returns the least nonnegative remainder of `self` divided by `rhs`. libm, whose remainder is exact, unlike the
    /// PTX backend's `%`.
    #[must_use]
    fn rem_euclid(self, rhs: Self) -> Self;
    /// Returns `self` to the power `n`, by repeated multiplication. Each multiplication adds an error of about half an
    /// ulp.
    #[must_use]
    fn powi(self, n: i32) -> Self;
    /// Returns `self` to the power `n`. libm.
    #[must_use]
    fn powf(self, n: Self) -> Self;
    /// Returns the square root, or NaN below 0. Exact (`sqrt.rn`).
    #[must_use]
    fn sqrt(self) -> Self;
    /// Returns e to the power `self`. `f32`: approx (`ex2.approx` after an exact reduction); `f64`: libm.
    #[must_use]
    fn exp(self) -> Self;
    /// Returns 2 to the power `self`. `f32`: approx (`ex2.approx`); `f64`: libm.
    #[must_use]
    fn exp2(self) -> Self;
    /// Returns the natural logarithm. libm.
    #[must_use]
    fn ln(self) -> Self;
    /// Returns the logarithm to `base`: `self.ln() / base.ln()`. libm.
    #[must_use]
    fn log(self, base: Self) -> Self;
    /// Returns the logarithm to base 2. libm.
    #[must_use]
    fn log2(self) -> Self;
    /// Returns the logarithm to base 10. libm.
    #[must_use]
    fn log10(self) -> Self;
    /// Returns the cube root. libm.
    #[must_use]
    fn cbrt(self) -> Self;
    /// Returns the square root of `self² + other²`, without overflow in intermediate results. libm.
    #[must_use]
    fn hypot(self, other: Self) -> Self;
    /// Returns the sine of `self` radians. libm.
    #[must_use]
    fn sin(self) -> Self;
    /// Returns the cosine of `self` radians. libm.
    #[must_use]
    fn cos(self) -> Self;
    /// Returns the tangent of `self` radians. libm.
    #[must_use]
    fn tan(self) -> Self;
    /// Returns the arcsine, in radians. libm.
    #[must_use]
    fn asin(self) -> Self;
    /// Returns the arccosine, in radians. libm.
    #[must_use]
    fn acos(self) -> Self;
    /// Returns the arctangent, in radians. libm.
    #[must_use]
    fn atan(self) -> Self;
    /// Returns the angle of the point (`other`, `self`) in radians, from -π to π. libm.
    #[must_use]
    fn atan2(self, other: Self) -> Self;
    /// Returns the sine and cosine of `self` radians. libm.
    #[must_use]
    fn sin_cos(self) -> (Self, Self);
    /// Returns e to the power `self`, minus 1, accurate near 0. libm.
    #[must_use]
    fn exp_m1(self) -> Self;
    /// Returns the natural logarithm of 1 + `self`, accurate near 0. libm.
    #[must_use]
    fn ln_1p(self) -> Self;
    /// Returns the hyperbolic sine. libm.
    #[must_use]
    fn sinh(self) -> Self;
    /// Returns the hyperbolic cosine. libm.
    #[must_use]
    fn cosh(self) -> Self;
    /// Returns the hyperbolic tangent. libm.
    #[must_use]
    fn tanh(self) -> Self;
    /// Returns the inverse hyperbolic sine. libm.
    #[must_use]
    fn asinh(self) -> Self;
    /// Returns the inverse hyperbolic cosine. libm.
    #[must_use]
    fn acosh(self) -> Self;
    /// Returns the inverse hyperbolic tangent. libm.
    #[must_use]
    fn atanh(self) -> Self;
}

mod private {
    /// Limits the trait to `f32` and `f64`, so that methods can be added later.
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// Functions that have the same names on the GPU and on the host, but different implementations.
#[cfg(target_arch = "nvptx64")]
mod basic {
    /// Defines functions that call `core`'s math functions, which are LLVM intrinsics.
    macro_rules! core_math {
        ($($type:ident),*) => {$(
            pub(super) mod $type {
                pub(in super::super) use core::$type::math::{ceil, floor, mul_add, round, sqrt, trunc};
            }
        )*};
    }
    core_math!(f32, f64);

    unsafe extern "unadjusted" {
        #[link_name = "llvm.nvvm.ex2.approx.f32"]
        safe fn llvm_ex2_approx(x: f32) -> f32;
    }

    /// Returns 2^x with `ex2.approx.f32` (PTX ISA §9.7.3.21), whose relative error is at most 2^-22.5.
    #[inline(always)]
    pub(super) fn exp2_f32(x: f32) -> f32 {
        llvm_ex2_approx(x)
    }

    #[inline(always)]
    pub(super) fn exp_f32(x: f32) -> f32 {
        super::exp::exp_from_exp2(x, exp2_f32)
    }
}

#[cfg(not(target_arch = "nvptx64"))]
mod basic {
    pub(super) use libm::{exp2f as exp2_f32, expf as exp_f32};

    pub(super) mod f32 {
        pub(in super::super) use libm::{
            ceilf as ceil, floorf as floor, fmaf as mul_add, roundf as round, sqrtf as sqrt, truncf as trunc,
        };
    }

    pub(super) mod f64 {
        pub(in super::super) use libm::{ceil, floor, fma as mul_add, round, sqrt, trunc};
    }
}

/// Defines methods that apply one function to `self`.
macro_rules! unary {
    ($($method:ident = $function:path;)*) => {$(
        #[inline(always)]
        fn $method(self) -> Self {
            $function(self)
        }
    )*};
}

macro_rules! binary {
    ($($method:ident = $function:path;)*) => {$(
        #[inline(always)]
        fn $method(self, other: Self) -> Self {
            $function(self, other)
        }
    )*};
}

macro_rules! gpu_float {
    ($type:ident: $fmod:path, $sincos:path, { $($one:tt)* }, { $($two:tt)* }) => {
        impl GpuFloat for $type {
            unary! {
                floor = basic::$type::floor;
                ceil = basic::$type::ceil;
                round = basic::$type::round;
                trunc = basic::$type::trunc;
                sqrt = basic::$type::sqrt;
                // The paths resolve to `core`'s inherent methods, which take precedence over the trait's methods.
                abs = $type::abs;
                signum = $type::signum;
                $($one)*
            }

            binary! {
                copysign = $type::copysign;
                $($two)*
            }

            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                basic::$type::mul_add(self, a, b)
            }

            #[inline(always)]
            fn fract(self) -> Self {
                self - basic::$type::trunc(self)
            }

            #[inline]
            fn div_euclid(self, rhs: Self) -> Self {
                let quotient = basic::$type::trunc(self / rhs);
                if $fmod(self, rhs) < 0.0 {
                    if rhs > 0.0 { quotient - 1.0 } else { quotient + 1.0 }
                } else {
                    quotient
                }
            }

            #[inline]
            fn rem_euclid(self, rhs: Self) -> Self {
                let remainder = $fmod(self, rhs);
                if remainder < 0.0 { remainder + rhs.abs() } else { remainder }
            }

            #[inline]
            fn powi(self, n: i32) -> Self {
                let (mut square, mut left, mut power) = (self, n.unsigned_abs(), 1.0);
                loop {
                    if left & 1 == 1 {
                        power *= square;
                    }
                    left >>= 1;
                    if left == 0 {
                        break;
                    }
                    square *= square;
                }
                if n < 0 { 1.0 / power } else { power }
            }

            #[inline]
            fn log(self, base: Self) -> Self {
                GpuFloat::ln(self) / GpuFloat::ln(base)
            }

            #[inline]
            fn sin_cos(self) -> (Self, Self) {
                $sincos(self)
            }
        }
    };
}

/// Implements the trait for both types from one list of methods, each with its functions for `f32` and `f64`.
macro_rules! gpu_floats {
    (
        unary { $($one:ident = $one32:path, $one64:path;)* }
        binary { $($two:ident = $two32:path, $two64:path;)* }
    ) => {
        gpu_float!(f32: libm::fmodf, libm::sincosf, { $($one = $one32;)* }, { $($two = $two32;)* });
        gpu_float!(f64: libm::fmod, libm::sincos, { $($one = $one64;)* }, { $($two = $two64;)* });
    };
}

gpu_floats! {
    unary {
        exp = basic::exp_f32, libm::exp;
        exp2 = basic::exp2_f32, libm::exp2;
        ln = libm::logf, libm::log;
        log2 = libm::log2f, libm::log2;
        log10 = libm::log10f, libm::log10;
        cbrt = libm::cbrtf, libm::cbrt;
        sin = libm::sinf, libm::sin;
        cos = libm::cosf, libm::cos;
        tan = libm::tanf, libm::tan;
        asin = libm::asinf, libm::asin;
        acos = libm::acosf, libm::acos;
        atan = libm::atanf, libm::atan;
        exp_m1 = libm::expm1f, libm::expm1;
        ln_1p = libm::log1pf, libm::log1p;
        sinh = libm::sinhf, libm::sinh;
        cosh = libm::coshf, libm::cosh;
        tanh = libm::tanhf, libm::tanh;
        asinh = libm::asinhf, libm::asinh;
        acosh = libm::acoshf, libm::acosh;
        atanh = libm::atanhf, libm::atanh;
    }
    binary {
        powf = libm::powf, libm::pow;
        hypot = libm::hypotf, libm::hypot;
        atan2 = libm::atan2f, libm::atan2;
    }
}

#[cfg(test)]
mod tests;
