#![allow(clippy::unwrap_used)]

use super::*;
use crate::ladders::product::SIGNIFICAND;

fn bits_for(k: usize) -> Bits {
    Bits::of(k, MOST)
}

#[test]
fn the_number_of_bits_leaves_the_margin() {
    assert_eq!(bits_for(1), MOST);
    assert_eq!(bits_for(8192), MOST);
    assert_eq!(bits_for(1 << 14), Bits { a: 12, b: 2 });
    assert_eq!(bits_for(1 << 20), Bits { a: 10, b: 1 });
    for k in (0..31).map(|power| 1usize << power).chain([(1 << 31) - 1]) {
        let bits = bits_for(k);
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
        for (values, bits) in [(&inputs.a, inputs.bits.a), (&inputs.b[0], inputs.bits.b), (&inputs.b[1], inputs.bits.b)]
        {
            let scale = (1 << bits) as f32;
            assert!(values.iter().all(|x| x.abs() < 1.0));
            assert!(values.iter().all(|x| (x * scale).rem_euclid(2.0) == 1.0));
            for sign in [-1.0, 1.0] {
                assert!(values.iter().any(|x| x.signum() == sign));
            }
        }
    }
}

/// Returns the largest intermediate sum as a share of the exact range. Starting at each of the first `step` products,
/// one sum adds every `step`th product. This is how threads or slices of the depth divide the products.
fn largest(inputs: &Inputs, step: usize) -> f64 {
    let [m, n, k] = inputs.sides;
    let mut most = 0f64;
    for at in 0..m * n {
        let a = &inputs.a[at / n * k..][..k];
        let b = &inputs.b[1][at % n * k..][..k];
        for first in 0..step.min(k) {
            let places = (first..k).step_by(step);
            let terms = places.map(|i| f64::from(a[i]) * f64::from(b[i]));
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
fn no_sum_comes_near_the_limit_of_exact_numbers() {
    for sides in
        [[20, 30, 1000], [10, 10, 4096], [9, 8, 8192], [4, 5, 9217], [2, 3, 1 << 17], [2, 2, 1 << 20], [1, 1, 1 << 22]]
    {
        let inputs = Inputs::new(sides);
        for step in [1, 2, 4, 32] {
            let share = largest(&inputs, step);
            // A slice of the depth is a difference of two sums, so half of the range is enough for every slice.
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
        let slices = a.chunks(k.div_ceil(7)).zip(b.chunks(k.div_ceil(7)));
        let slice = |(a, b): (&[f32], &[f32])| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let slices: f32 = slices.map(slice).sum();
        let products = a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b));
        let exact: f64 = products.sum();
        let sums = [fused, backwards, slices].map(f64::from);
        assert_eq!(sums, [exact; 3], "k = {k}");
    }
}
