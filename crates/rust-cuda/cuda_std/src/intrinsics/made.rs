//! Functions that neither the hardware nor `libm` provides.

use crate::GpuFloat;
use core::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, PI};

/// Returns the sine and cosine of π times `x`. The reduction of `x` is exact.
pub(super) fn sin_cos_pi(x: f64) -> (f64, f64) {
    // Splits the angle into quarter turns. Multiples of a full turn do not change the result.
    let turns = x - 2.0 * GpuFloat::trunc(x * 0.5);
    let quarters = GpuFloat::round(2.0 * turns);
    let (sin, cos) = GpuFloat::sin_cos((turns - 0.5 * quarters) * PI);
    match quarters as i32 & 3 {
        0 => (sin, cos),
        1 => (cos, -sin),
        2 => (-sin, -cos),
        _ => (-cos, sin),
    }
}

/// Returns e^(x²) erfc(x).
pub(super) fn erfcx(x: f64) -> f64 {
    if x < 20.0 {
        let square = x * x;
        // The rounding error of the square.
        let rest = GpuFloat::mul_add(x, x, -square);
        return GpuFloat::exp(square) * (1.0 + rest) * libm::erfc(x);
    }
    // The asymptotic series, whose eighth term is below 2^-53.
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..9 {
        term *= -f64::from(2 * k - 1) / (2.0 * x * x);
        sum += term;
    }
    sum * (0.5 * FRAC_2_SQRT_PI) / x
}

/// Returns the cumulative distribution function of the standard normal distribution at `x`.
pub(super) fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

/// Returns the `x` for which erfc(x) is `y`.
pub(super) fn erfc_inv(y: f64) -> f64 {
    match y {
        _ if y <= 0.5 => erfc_inv_tail(y),
        _ if y >= 1.5 => -erfc_inv_tail(2.0 - y),
        _ => erf_inv_center(1.0 - y),
    }
}

/// Returns the `x` for which erf(x) is `y`.
pub(super) fn erf_inv(y: f64) -> f64 {
    if y.abs() < 0.5 { erf_inv_center(y) } else { GpuFloat::copysign(erfc_inv_tail(1.0 - y.abs()), y) }
}

fn erfc_inv_tail(y: f64) -> f64 {
    if y == 0.0 {
        return f64::INFINITY;
    }
    // Abramowitz and Stegun 26.2.22, with an error below 0.003. For `y` below 0, the logarithm is NaN.
    let t = GpuFloat::sqrt(-2.0 * GpuFloat::ln(0.5 * y));
    let start = FRAC_1_SQRT_2 * (t - (2.30753 + t * 0.27061) / (1.0 + t * (0.99229 + t * 0.04481)));
    halley(start, |x| y - libm::erfc(x))
}

fn erf_inv_center(y: f64) -> f64 {
    let start = y / FRAC_2_SQRT_PI;
    halley(start * (1.0 + start * start / 3.0), |x| libm::erf(x) - y)
}

/// Takes three steps of Halley's method to find the zero of a function with the same derivative as erf. Each step
/// triples the number of correct digits.
fn halley(mut x: f64, error: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..3 {
        let step = error(x) / (FRAC_2_SQRT_PI * GpuFloat::exp(-x * x));
        x -= step / (1.0 + x * step);
    }
    x
}
