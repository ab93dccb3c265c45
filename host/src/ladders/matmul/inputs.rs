//! The two factors: numbers with so few bits that no sum of their products is rounded.

use rayon::prelude::*;

use crate::ladders::reduce::element;

/// The number of bits of the elements: those of the first matrix are odd multiples of 2^-`a` in -1 to 1, and those of
/// the second of 2^-`b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bits {
    pub(super) a: u32,
    pub(super) b: u32,
}

/// The number of bits when sums are short. TF32 and bfloat16 keep 11 and 8 bits, so they round the first matrix's 12
/// bits, and a product computed with them is wrong.
const MOST: Bits = Bits { a: 12, b: 3 };

/// The bits of an f32's significand: a whole multiple of 2^-p is exact up to 2^(24 - p).
pub(super) const SIGNIFICAND: u32 = f32::MANTISSA_DIGITS;

/// The number of standard deviations of a sum of k products that fit into the range of exact numbers.
const MARGIN: u128 = 16;

impl Bits {
    /// For sums of `k` products.
    ///
    /// The mean square of either factor is below 1/3, so that the standard deviation of a sum is below
    /// √k / 3: `MARGIN` times that is at most 2^(24 - a - b).
    pub(super) fn of(k: usize) -> Self {
        let fits = |bits: Self| {
            let exact = 1u128 << (SIGNIFICAND - bits.product());
            MARGIN * MARGIN * k as u128 <= 9 * exact * exact
        };
        let mut bits = MOST;
        while !fits(bits) && bits.product() > 2 {
            if bits.b > 1 {
                bits.b -= 1;
            } else {
                bits.a -= 1;
            }
        }
        bits
    }

    /// The number of bits of a product: it is an odd multiple of 2^-`product()`, and sums are multiples of that.
    pub(super) fn product(self) -> u32 {
        self.a + self.b
    }
}

/// Two matrices to multiply.
pub(super) struct Inputs {
    /// The sizes m, n and k.
    pub(super) sides: [usize; 3],
    pub(super) bits: Bits,
    pub(super) a: Vec<f32>,
    /// Row after row, and column after column.
    pub(super) b: [Vec<f32>; 2],
}

/// A number in -1 to 1, an odd multiple of 2^-`bits`, the same on every machine.
fn number(index: u32, bits: u32) -> f32 {
    let multiple = (element(index) >> (32 - bits)) * 2 + 1;
    multiple as f32 / (1 << bits) as f32
}

impl Inputs {
    pub(super) fn new([m, n, k]: [usize; 3]) -> Self {
        let bits = Bits::of(k);
        let b = |row: usize, column: usize| number(!((row * n + column) as u32), bits.b);
        let all = |elements: usize| (0..elements).into_par_iter();
        Self {
            sides: [m, n, k],
            bits,
            a: all(m * k).map(|at| number(at as u32, bits.a)).collect(),
            b: [
                all(k * n).map(|at| b(at / n, at % n)).collect(),
                all(k * n).map(|at| b(at % k, at / k)).collect(),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn bits_are_as_many_as_leave_the_margin() {
        assert_eq!(Bits::of(1), MOST);
        assert_eq!(Bits::of(8192), MOST);
        assert_eq!(Bits::of(1 << 14), Bits { a: 12, b: 2 });
        assert_eq!(Bits::of(1 << 20), Bits { a: 10, b: 1 });
        for k in (0..31).map(|power| 1usize << power).chain([(1 << 31) - 1]) {
            let bits = Bits::of(k);
            let deviation = (k as f64).sqrt() / 3.0;
            let exact = 2f64.powi(24 - bits.product() as i32);
            assert!(exact >= 16.0 * deviation, "{k}: {bits:?}");
            assert!(bits.b >= 1 && bits.a >= 5, "{k}: {bits:?}");
        }
    }

    #[test]
    fn elements_are_odd_multiples_of_either_sign() {
        for k in [7, 1 << 18] {
            let inputs = Inputs::new([2, 3, k]);
            for (values, bits) in [
                (&inputs.a, inputs.bits.a),
                (&inputs.b[0], inputs.bits.b),
                (&inputs.b[1], inputs.bits.b),
            ] {
                let scale = (1 << bits) as f32;
                assert!(values.iter().all(|x| x.abs() < 1.0));
                assert!(values.iter().all(|x| (x * scale).rem_euclid(2.0) == 1.0));
                for sign in [-1.0, 1.0] {
                    assert!(values.iter().any(|x| x.signum() == sign));
                }
            }
        }
    }

    /// The largest intermediate sum, as a share of the exact range, when every `step`th product is summed up, starting
    /// at each of the first `step`, as threads or slices of the depth divide the products.
    fn largest(inputs: &Inputs, step: usize) -> f64 {
        let [m, n, k] = inputs.sides;
        let mut most = 0f64;
        for at in 0..m * n {
            let (a, b) = (
                &inputs.a[at / n * k..][..k],
                &inputs.b[1][at % n * k..][..k],
            );
            for first in 0..step.min(k) {
                let terms = (first..k)
                    .step_by(step)
                    .map(|i| f64::from(a[i]) * f64::from(b[i]));
                let sums = terms.scan(0.0, |sum: &mut f64, term| {
                    *sum += term;
                    Some(sum.abs())
                });
                most = sums.fold(most, f64::max);
            }
        }
        most / 2f64.powi((SIGNIFICAND - inputs.bits.product()) as i32)
    }

    #[test]
    fn no_sum_comes_near_what_is_rounded() {
        for sides in [
            [20, 30, 1000],
            [10, 10, 4096],
            [9, 8, 8192],
            [4, 5, 9217],
            [2, 3, 1 << 17],
            [2, 2, 1 << 20],
            [1, 1, 1 << 22],
        ] {
            let inputs = Inputs::new(sides);
            for step in [1, 2, 4, 32] {
                let share = largest(&inputs, step);
                // A slice of the depth is a difference of two sums: half of the range is room for all.
                assert!(share < 0.5, "{sides:?} by {step}: {share}");
            }
        }
    }

    #[test]
    fn single_precision_gives_one_sum_in_any_order() {
        for k in [100, 8192, 1 << 18] {
            let inputs = Inputs::new([1, 1, k]);
            let (a, b) = (&inputs.a, &inputs.b[0]);
            let fused = (0..k).fold(0f32, |sum, i| a[i].mul_add(b[i], sum));
            let backwards = (0..k).rev().fold(0f32, |sum, i| sum + a[i] * b[i]);
            let slices: f32 = a
                .chunks(k.div_ceil(7))
                .zip(b.chunks(k.div_ceil(7)))
                .map(|(a, b)| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>())
                .sum();
            let exact: f64 = a
                .iter()
                .zip(b)
                .map(|(&a, &b)| f64::from(a) * f64::from(b))
                .sum();
            assert_eq!(
                [fused, backwards, slices].map(f64::from),
                [exact; 3],
                "k = {k}"
            );
        }
    }
}
