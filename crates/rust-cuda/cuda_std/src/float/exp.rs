//! The exponential function, computed from the hardware's 2^x.

use super::basic;

/// Returns e^x, computed with an approximation of 2^f for f in [-1/2, 1/2].
///
/// x = n ln 2 + r with an integer n, so e^x = 2^n 2^(r log2 e). ln 2 is split into two parts. The first part ends with
/// zero bits, so its product with n is exact and r retains full precision.
#[inline(always)]
pub(super) fn exp_from_exp2(x: f32, exp2: impl Fn(f32) -> f32) -> f32 {
    const LN_2_HIGH: f32 = 0.693_145_75;
    const LN_2_LOW: f32 = 1.428_606_8e-6;
    /// Adding and then subtracting this value rounds a float below 2^22 to the nearest integer.
    const ROUND: f32 = 12_582_912.0;

    // Beyond these bounds the result is infinity or 0. A NaN stays NaN.
    let x = if x > 89.0 { 89.0 } else { x };
    let x = if x < -104.0 { -104.0 } else { x };
    let shifted = basic::f32::mul_add(x, core::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = basic::f32::mul_add(n, -LN_2_LOW, basic::f32::mul_add(n, -LN_2_HIGH, x));
    // The low bits of the sum already hold the integer. For a NaN, `n` is meaningless and `r` is NaN.
    let n = shifted.to_bits().wrapping_sub(ROUND.to_bits()) as i32;
    // 2^n is applied as two factors, because n can exceed the exponents of normal floats. Only the last product rounds.
    let half = n >> 1;
    let power = |n: i32| f32::from_bits((n.wrapping_add(127) as u32) << 23);
    exp2(r * core::f32::consts::LOG2_E) * power(half) * power(n.wrapping_sub(half))
}

#[cfg(test)]
mod tests {
    use super::exp_from_exp2;

    #[test]
    fn exp_from_exp2_adds_little_to_the_error_of_exp2() {
        let allowed = libm::exp2(-22.5);
        // Emulates ex2.approx with the largest error that the ISA allows, in both directions.
        for error in [1.0 - allowed, 1.0, 1.0 + allowed] {
            let exp2 = |f: f32| (libm::exp2(f64::from(f)) * error) as f32;
            let mut bits = 0_u32;
            while f32::from_bits(bits) < 104.0 {
                for x in [f32::from_bits(bits), -f32::from_bits(bits)] {
                    let (found, right) = (exp_from_exp2(x, exp2), libm::exp(f64::from(x)));
                    if right > f64::from(f32::MAX) {
                        assert_eq!(found, f32::INFINITY, "exp({x:e})");
                        continue;
                    }
                    // Half the spacing of subnormals: the rounding error of the last product.
                    let tolerance = right * libm::exp2(-22.0) + libm::exp2(-150.0);
                    let deviation = (f64::from(found) - right).abs();
                    assert!(deviation <= tolerance, "exp({x:e}) = {found:e}, not {right:e}");
                }
                bits += 4099;
            }
        }
    }

    #[test]
    fn exp_from_exp2_has_the_right_ends() {
        let exp = |x| exp_from_exp2(x, libm::exp2f);
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(-0.0), 1.0);
        assert_eq!(exp(f32::INFINITY), f32::INFINITY);
        assert_eq!(exp(f32::MAX), f32::INFINITY);
        assert_eq!(exp(f32::NEG_INFINITY), 0.0);
        assert_eq!(exp(f32::MIN), 0.0);
        assert!(exp(f32::NAN).is_nan());
    }
}
