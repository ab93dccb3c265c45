//! Random values against Rust's own arithmetic.

use proptest::prelude::*;

use super::{NAN, d, f, f32};
use crate::tests::State;

/// Bits of singles: any, and more often small exponents, infinities and NaN than by chance.
fn single() -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => any::<u32>(),
        1 => any::<u32>().prop_map(|bits| bits & 0x80ff_ffff),
        1 => any::<u32>().prop_map(|bits| bits | 0x7f80_0000),
        2 => (-100i32..100).prop_map(|value| (value as f32 / 4.0).to_bits()),
    ]
}

/// 32 of them. On the heap, for a generator of an array of generators overflows a test's stack.
fn lanes() -> impl Strategy<Value = [u32; 32]> {
    prop::collection::vec(single(), 32).prop_map(|values| values.try_into().unwrap())
}

fn canonical(value: f32) -> u64 {
    if value.is_nan() { NAN } else { f(value) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn to_nearest_is_the_host_s_arithmetic(
        a in lanes(),
        b in lanes(),
        c in lanes(),
    ) {
        let state = State::new()
            .set_lanes("%f1", a.map(u64::from))
            .set_lanes("%f2", b.map(u64::from))
            .set_lanes("%f3", c.map(u64::from))
            .set_lanes("%fd1", a.map(|a| d(f64::from(f32::from_bits(a)) * 1.1)))
            .set_lanes("%fd2", b.map(|b| d(f64::from(f32::from_bits(b)) / 0.7)))
            .run("add.f32 %f4, %f1, %f2; sub.rn.f32 %f5, %f1, %f2; mul.f32 %f6, %f1, %f2;\n\
                  fma.rn.f32 %f7, %f1, %f2, %f3; div.rn.f32 %f8, %f1, %f2; sqrt.rn.f32 %f9, %f1;\n\
                  add.f64 %fd3, %fd1, %fd2; mul.f64 %fd4, %fd1, %fd2; div.rn.f64 %fd5, %fd1, %fd2;\n\
                  fma.rn.f64 %fd6, %fd1, %fd2, %fd1; sub.f64 %fd7, %fd1, %fd2; sqrt.rn.f64 %fd8, %fd1;");
        for lane in 0..32 {
            let [a, b, c] = [a, b, c].map(|bits| f32::from_bits(bits[lane]));
            let singles = [a + b, a - b, a * b, a.mul_add(b, c), a / b, a.sqrt()];
            for (value, name) in singles.into_iter().zip(["%f4", "%f5", "%f6", "%f7", "%f8", "%f9"]) {
                prop_assert_eq!(state.lanes(name)[lane], canonical(value), "{} {} {} {}", name, a, b, c);
            }
            let (a, b) = (f64::from(a) * 1.1, f64::from(b) / 0.7);
            let doubles = [a + b, a * b, a / b, a.mul_add(b, a), a - b, a.sqrt()];
            for (value, name) in doubles.into_iter().zip(["%fd3", "%fd4", "%fd5", "%fd6", "%fd7", "%fd8"]) {
                let found = f64::from_bits(state.lanes(name)[lane]);
                prop_assert!(found == value || found.is_nan() && value.is_nan(), "{} {} {}", name, a, b);
            }
        }
    }

    #[test]
    fn general_and_fast_agree_to_nearest(
        a in lanes(),
        b in lanes(),
        c in lanes(),
        ftz in any::<bool>(),
    ) {
        use crate::alu::modifiers::Modifiers;
        use super::super::{Fast, Float, General, exact::Rounding};
        use crate::regs::R32;
        use crate::regs::{ALL, Regs};
        let rounding = Rounding::Nearest;
        let modifiers = if ftz { Modifiers::FTZ } else { Modifiers::NONE };
        for (fast, general) in [
            (Fast::Add, General::Add),
            (Fast::Sub, General::Sub),
            (Fast::Mul, General::Mul),
            (Fast::Fma, General::Fma),
            (Fast::Div, General::Div),
            (Fast::Sqrt, General::Sqrt),
        ] {
            let mut r32 = [a, b, c, [0; 32], [0; 32]];
            let mut regs = Regs { r32: &mut r32, r64: &mut [], preds: &mut [] };
            let from = [R32(0), R32(1), R32(2)];
            Float::Fast32 { op: fast, ftz, to: R32(3), from }.execute(&mut regs, ALL);
            Float::General32 { op: general, rounding, modifiers, to: R32(4), from }.execute(&mut regs, ALL);
            prop_assert_eq!(r32[3], r32[4], "{:?}", fast);
        }
    }

    #[test]
    fn approximations_are_within_the_isa_s_error(a in prop::array::uniform32(-6.0f32..6.0)) {
        let state = State::new().set_lanes("%f1", a.map(f)).set_lanes("%f2", a.map(|a| f(a.exp2()))).run(
            "ex2.approx.f32 %f3, %f1; lg2.approx.f32 %f4, %f2; sin.approx.f32 %f5, %f1;\n\
             cos.approx.f32 %f6, %f1; tanh.approx.f32 %f7, %f1; rcp.approx.f32 %f8, %f1;\n\
             sqrt.approx.f32 %f9, %f2; rsqrt.approx.f32 %f10, %f2;",
        );
        let get = |name: &str, lane: usize| f64::from(f32::from_bits(state.lanes(name)[lane] as u32));
        for lane in 0..32 {
            let (x, y) = (get("%f1", lane), get("%f2", lane));
            prop_assert!((get("%f3", lane) / x.exp2() - 1.0).abs() < 2f64.powi(-22));
            prop_assert!((get("%f4", lane) - y.log2()).abs() < 2f64.powi(-22) * y.log2().abs().max(1.0));
            prop_assert!((get("%f5", lane) - x.sin()).abs() < 2f64.powi(-20));
            prop_assert!((get("%f6", lane) - x.cos()).abs() < 2f64.powi(-20));
            prop_assert!((get("%f7", lane) - x.tanh()).abs() <= 2f64.powi(-11) * x.tanh().abs());
            prop_assert!((get("%f8", lane) * x - 1.0).abs() < 2f64.powi(-23));
            prop_assert!((get("%f9", lane) / y.sqrt() - 1.0).abs() < 2f64.powi(-23));
            prop_assert!((get("%f10", lane) * y.sqrt() - 1.0).abs() < 2f64.powi(-22));
        }
    }

    #[test]
    fn min_and_max_are_the_host_s(a in single(), b in single()) {
        let (x, y) = (f32::from_bits(a), f32::from_bits(b));
        prop_assume!(x != y);
        prop_assert_eq!(f32("min.f32", &[a.into(), b.into()]), canonical(x.min(y)));
        prop_assert_eq!(f32("max.f32", &[a.into(), b.into()]), canonical(x.max(y)));
    }
}
