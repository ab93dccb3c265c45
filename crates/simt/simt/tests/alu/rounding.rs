//! Compares exact arithmetic and rounding with another implementation.

use proptest::prelude::*;
use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use super::exact::{Format, Rounding, add_to_odd, div, fma, sqrt};

const MODES: [(Rounding, Round); 5] = [
    (Rounding::Nearest, Round::NearestTiesToEven),
    (Rounding::Away, Round::NearestTiesToAway),
    (Rounding::Zero, Round::TowardZero),
    (Rounding::Down, Round::TowardNegative),
    (Rounding::Up, Round::TowardPositive),
];

/// Returns a strategy for the bits of a format; fields near their limits occur more often than by chance.
fn bits(exponent: u32, mantissa: u32) -> impl Strategy<Value = u64> {
    let last = (1u64 << exponent) - 1;
    let middle = last / 2;
    let ones = (1u64 << mantissa) - 1;
    let field =
        prop_oneof![Just(0), Just(1), Just(last), Just(last - 1), 0..=last, middle - 4..=middle + 4, 0..=60.min(last),];
    let fraction = prop_oneof![
        Just(0),
        Just(1),
        Just(ones),
        Just(ones / 2 + 1),
        0..=ones,
        (0..mantissa).prop_map(|bit| 1u64 << bit),
        (0..mantissa).prop_map(move |bit| ones << bit & ones),
    ];
    (any::<bool>(), field, fraction).prop_map(move |(sign, field, fraction)| {
        u64::from(sign) << (exponent + mantissa) | field << mantissa | fraction
    })
}

/// Returns `bits`, with every NaN replaced by the canonical NaN.
fn canonical(bits: u128, format: Format) -> u64 {
    let bits = bits as u64;
    if bits & !format.sign() > format.infinity() { format.nan() } else { bits }
}

/// Operands of a narrow format go through doubles, which represent all of them exactly.
fn check<F: Float + FloatConvert<Double>>(format: Format, a: u64, b: u64, c: u64) -> Result<(), TestCaseError> {
    let [x, y, z] = [a, b, c].map(|bits| F::from_bits(u128::from(bits)));
    let double = |value: F| f64::from_bits(value.convert(&mut false).value.to_bits() as u64);
    let (a, b, c) = (double(x), double(y), double(z));
    for (mode, round) in MODES {
        let expected = canonical(x.mul_add_r(y, z, round).value.to_bits(), format);
        prop_assert_eq!(fma(a, b, c, format, mode), expected, "fma {} {} {} {:?}", a, b, c, mode);
        let expected = canonical(x.add_r(y, round).value.to_bits(), format);
        prop_assert_eq!(fma(a, 1.0, b, format, mode), expected, "add {} {} {:?}", a, b, mode);
        let expected = canonical(x.div_r(y, round).value.to_bits(), format);
        prop_assert_eq!(div(a, b, format, mode), expected, "div {} {} {:?}", a, b, mode);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn doubles_match_apfloat(a in bits(11, 52), b in bits(11, 52), c in bits(11, 52)) {
        check::<Double>(Format::F64, a, b, c)?;
    }

    #[test]
    fn canceling_doubles_match_apfloat(a in bits(11, 52), b in bits(11, 52), nudge in -3i64..4) {
        // c is about −a × b, so most leading bits cancel.
        let product = -(f64::from_bits(a) * f64::from_bits(b));
        let c = (product.to_bits() as i64).wrapping_add(nudge) as u64;
        check::<Double>(Format::F64, a, b, c)?;
    }

    #[test]
    fn singles_match_apfloat(a in bits(8, 23), b in bits(8, 23), c in bits(8, 23)) {
        check::<Single>(Format::F32, a, b, c)?;
    }

    #[test]
    fn halves_match_apfloat(a in bits(5, 10), b in bits(5, 10), c in bits(5, 10)) {
        check::<Half>(Format::F16, a, b, c)?;
        // Instructions compute the result this way.
        let [x, y, z] = [a, b, c].map(|bits| Half::from_bits(u128::from(bits)));
        let double = |value: Half| half::f16::from_bits(value.to_bits() as u16).to_f64();
        let sum = add_to_odd(double(x) * double(y), double(z));
        let expected = canonical(x.mul_add(y, z).value.to_bits(), Format::F16);
        prop_assert_eq!(Format::F16.round(sum, Rounding::Nearest), expected);
    }

    #[test]
    fn brain_floats_match_apfloat(a in bits(8, 7), b in bits(8, 7), c in bits(8, 7)) {
        check::<BFloat>(Format::Bf16, a, b, c)?;
        let [x, y, z] = [a, b, c].map(|bits| BFloat::from_bits(u128::from(bits)));
        let double = |value: BFloat| half::bf16::from_bits(value.to_bits() as u16).to_f64();
        let sum = add_to_odd(double(x) * double(y), double(z));
        let expected = canonical(x.mul_add(y, z).value.to_bits(), Format::Bf16);
        prop_assert_eq!(Format::Bf16.round(sum, Rounding::Nearest), expected);
    }

    #[test]
    fn narrowed_doubles_match_apfloat(a in bits(11, 52)) {
        let value = f64::from_bits(a);
        let exact = Double::from_bits(u128::from(a));
        for (mode, round) in MODES {
            let half: Half = exact.convert_r(round, &mut false).value;
            prop_assert_eq!(Format::F16.round(value, mode), canonical(half.to_bits(), Format::F16));
            let brain: BFloat = exact.convert_r(round, &mut false).value;
            prop_assert_eq!(Format::Bf16.round(value, mode), canonical(brain.to_bits(), Format::Bf16));
            let single: Single = exact.convert_r(round, &mut false).value;
            prop_assert_eq!(Format::F32.round(value, mode), canonical(single.to_bits(), Format::F32));
        }
    }

    #[test]
    fn roots_are_between_their_neighbors(a in bits(11, 52)) {
        let a = f64::from_bits(a).abs();
        prop_assume!(a.is_finite() && a > 0.0);
        let root = |mode| f64::from_bits(sqrt(a, Format::F64, mode));
        prop_assert_eq!(root(Rounding::Nearest), a.sqrt());
        let (down, up) = (root(Rounding::Down), root(Rounding::Up));
        prop_assert_eq!(root(Rounding::Zero), down);
        // The exact sign of r × r − a, scaled where underflow would lose it.
        let scale = if a < 1e-200 { 2f64.powi(300) } else { 1.0 };
        let (down, up, a) = (down * scale, up * scale, a * scale * scale);
        let error = |root: f64| f64::from_bits(fma(root, root, -a, Format::F64, Rounding::Zero));
        prop_assert!(error(down) <= 0.0 && error(up) >= 0.0, "{} {} {}", a, down, up);
        prop_assert!(up == down && error(up) == 0.0 || up / scale == (down / scale).next_up());
    }

    #[test]
    fn roots_of_singles_are_between_their_neighbors(a in bits(8, 23)) {
        let a = f64::from(f32::from_bits(a as u32).abs());
        prop_assume!(a.is_finite() && a > 0.0);
        let root = |mode| f32::from_bits(sqrt(a, Format::F32, mode) as u32);
        prop_assert_eq!(root(Rounding::Nearest), (a as f32).sqrt());
        let (down, up) = (root(Rounding::Down), root(Rounding::Up));
        // The square of a single is exact as a double.
        prop_assert!(f64::from(down).powi(2) <= a && f64::from(up).powi(2) >= a);
        prop_assert!(up == down && f64::from(up).powi(2) == a || up == down.next_up());
    }
}
