//! What the recording of a GPU cannot show: that both ways to compute agree, and the distance from the true values.
#![allow(clippy::unwrap_used)]

mod atomic;

use proptest::prelude::*;

use crate::tests::State;

fn f(value: f32) -> u64 {
    u64::from(value.to_bits())
}

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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn general_and_fast_agree_to_nearest(
        a in lanes(),
        b in lanes(),
        c in lanes(),
        ftz in any::<bool>(),
    ) {
        use crate::alu::modifiers::Modifiers;
        use super::{Fast, Float, FloatOp, General, exact::Rounding};
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
            let from = [0, 1, 2];
            Float { op: FloatOp::Fast32(fast, ftz), to: 3, from }.execute(&mut regs, ALL);
            Float { op: FloatOp::General32(general, rounding, modifiers), to: 4, from }.execute(&mut regs, ALL);
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
}
