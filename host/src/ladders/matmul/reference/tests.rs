#![allow(clippy::unwrap_used)]

use super::*;

const METHODS: [Method; 2] = [Method::Whole, Method::Sums];

const SHAPES: [[usize; 3]; 6] = [[1, 1, 1], [9, 300, 70], [16, 257, 3], [2, 1, 1000], [1, 513, 2], [33, 40, 1]];

/// Returns the output of a correct kernel: summed in single precision, from the last product to the first.
fn right(inputs: &Inputs) -> Vec<f32> {
    let [m, n, k] = inputs.sides;
    let element = |row: usize, column: usize| {
        (0..k).rev().fold(0f32, |sum, i| inputs.a[row * k + i].mul_add(inputs.b[0][i * n + column], sum))
    };
    (0..m * n).map(|at| element(at / n, at % n)).collect()
}

/// Checks that both methods find the same wrong element, and returns this element.
fn wrong(inputs: &Inputs, found: &[f32]) -> Option<WrongElement> {
    let [whole, sums] = METHODS.map(|method| Reference::new(method, inputs).first_wrong(inputs, found));
    assert_eq!(whole, sums);
    whole
}

#[test]
fn both_methods_accept_a_right_product() {
    for sides in SHAPES {
        let inputs = Inputs::new(sides);
        let mut found = right(&inputs);
        assert_eq!(wrong(&inputs, &found), None, "{sides:?}");
        for value in found.iter_mut().filter(|value| **value == 0.0) {
            *value = -0.0;
        }
        assert_eq!(wrong(&inputs, &found), None, "{sides:?}");
    }
}

#[test]
fn a_wrong_element_is_found_at_any_place() {
    for sides in SHAPES {
        let inputs = Inputs::new(sides);
        let right = right(&inputs);
        let unit = 1.0 / (1 << inputs.bits.product()) as f32;
        for at in [0, right.len() / 2, right.len() - 1] {
            for value in [
                right[at].next_up(),
                right[at].next_down(),
                right[at] + unit,
                right[at] - unit,
                right[at] + 2f32.powi(24) * unit,
                2f32.powi(31) * unit,
                f32::from_ne_bytes([engine::problem::POISON; 4]),
                f32::MIN_POSITIVE,
                f32::MAX,
                f32::NAN,
                f32::INFINITY,
                f32::NEG_INFINITY,
            ] {
                let mut found = right.clone();
                found[at] = value;
                // Another wrong element follows, and must not be reported.
                if let Some(last) = found.last_mut() {
                    *last += if at + 1 == right.len() { 0.0 } else { 1.0 };
                }
                let expected = WrongElement { at, right: right[at] };
                let named = wrong(&inputs, &found);
                assert_eq!(named, Some(expected), "{sides:?}: {value:e} at {at}");
            }
        }
    }
}

#[test]
fn swapped_elements_are_found() {
    for sides in [[9, 300, 70], [16, 257, 3], [33, 40, 1]] {
        let inputs = Inputs::new(sides);
        let right = right(&inputs);
        let n = sides[1];
        // Swaps elements within a row, within a column, and whole rows.
        let other = |at: usize, step: usize| {
            let others = (at + step..right.len()).step_by(step);
            others.clone().find(|&other| right[other] != right[at]).unwrap()
        };
        for at in [0, n + 3, right.len() / 2] {
            for with in [other(at, 1), other(at, n)] {
                let mut found = right.clone();
                found.swap(at, with);
                assert_eq!(wrong(&inputs, &found).unwrap().at, at, "{sides:?}: {with}");
            }
        }
        let mut found = right.clone();
        found.rotate_left(n);
        let first = (0..right.len()).find(|&at| found[at] != right[at]);
        assert_eq!(wrong(&inputs, &found).map(|wrong| wrong.at), first);
    }
}

#[test]
fn a_product_that_lost_precision_is_found() {
    let mut inputs = Inputs::new([20, 20, 64]);
    let references = METHODS.map(|method| Reference::new(method, &inputs));
    // Rounds to the 11 bits of TF32's significand.
    for a in &mut inputs.a {
        *a = f32::from_bits((a.to_bits() + (1 << 12)) & !((1 << 13) - 1));
    }
    let rounded = right(&inputs);
    let inputs = Inputs::new([20, 20, 64]);
    for reference in &references {
        assert!(reference.first_wrong(&inputs, &rounded).is_some());
    }
}

#[test]
fn only_large_products_are_checked_by_sums() {
    assert_eq!(Method::of([1024; 3]), Method::Whole);
    assert_eq!(Method::of([1024, 1025, 1024]), Method::Sums);
    assert_eq!(Method::of([1, 1, (1 << 31) - 1]), Method::Sums);
    assert_eq!(Method::of([1 << 30, 1, 1]), Method::Whole);
}
