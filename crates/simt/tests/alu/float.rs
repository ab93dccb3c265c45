//! What the recording of a GPU cannot show: that both ways to compute agree, and the distance from the true values.

use proptest::prelude::*;

use super::exact::{Format, Rounding, div, fma, sqrt};
use super::registers::State;

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
        let state = State::new().set_lanes("%f1", a.map(u64::from)).set_lanes("%f2", b.map(u64::from));
        let both = |low: [u32; 32], high: [u32; 32]| {
            std::array::from_fn(|lane| u64::from(high[lane]) << 32 | u64::from(low[lane]))
        };
        let state = state.set_lanes("%f3", c.map(u64::from)).set_lanes("%rd1", both(a, b));
        let state = state.set_lanes("%rd2", both(b, c)).set_lanes("%rd3", both(c, a));
        let flushed = if ftz { ".ftz" } else { "" };
        let state = state.run(&format!(
            "add{flushed}.f32 %f4, %f1, %f2; sub{flushed}.f32 %f5, %f1, %f2; mul{flushed}.f32 %f6, %f1, %f2;\n\
             fma.rn{flushed}.f32 %f7, %f1, %f2, %f3; div.rn{flushed}.f32 %f8, %f1, %f2; sqrt.rn{flushed}.f32 %f9, %f1;\n\
             add{flushed}.f32x2 %rd4, %rd1, %rd2; sub{flushed}.f32x2 %rd5, %rd1, %rd2;\n\
             mul{flushed}.f32x2 %rd6, %rd1, %rd2; fma.rn{flushed}.f32x2 %rd7, %rd1, %rd2, %rd3;"
        ));
        let flush = |bits: u32| if ftz && bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits };
        for lane in 0..32 {
            let [x, y, z] = [a, b, c].map(|values| f64::from(f32::from_bits(flush(values[lane]))));
            let product_zero = if x.is_sign_negative() == y.is_sign_negative() { 0.0 } else { -0.0 };
            let to = (Format::F32, Rounding::Nearest);
            for (at, exact) in [
                fma(x, 1.0, y, to.0, to.1),
                fma(x, 1.0, -y, to.0, to.1),
                fma(x, y, product_zero, to.0, to.1),
                fma(x, y, z, to.0, to.1),
                div(x, y, to.0, to.1),
                sqrt(x, to.0, to.1),
            ]
            .into_iter()
            .enumerate()
            {
                let fast = state.lanes(&format!("%f{}", 4 + at))[lane];
                prop_assert_eq!(fast, u64::from(flush(exact as u32)), "operation {} of {} {} {}", at, x, y, z);
                // Pairs take the general way.
                if at < 4 {
                    let pair = state.lanes(&format!("%rd{}", 4 + at))[lane];
                    prop_assert_eq!(fast, pair & 0xffff_ffff, "operation {} of {} {} {}", at, x, y, z);
                }
            }
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
