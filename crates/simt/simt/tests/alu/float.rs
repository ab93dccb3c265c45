//! Tests that the GPU recording cannot cover: packed pairs, which need sm_100, give the same results as two single
//! numbers, and the error of an approximation is within its bound.

use proptest::prelude::*;

use super::registers::State;

/// Returns a strategy for 32 singles as bits, with small exponents, infinities and NaN more often than by chance. The
/// strategy is on the heap, because a strategy for an array of strategies overflows a test's stack.
fn lanes() -> impl Strategy<Value = [u32; 32]> {
    let single = prop_oneof![
        4 => any::<u32>(),
        1 => any::<u32>().prop_map(|bits| bits & 0x80ff_ffff),
        1 => any::<u32>().prop_map(|bits| bits | 0x7f80_0000),
        2 => (-100i32..100).prop_map(|value| (value as f32 / 4.0).to_bits()),
    ];
    prop::collection::vec(single, 32).prop_map(|values| values.try_into().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn pairs_match_single_numbers(a in lanes(), b in lanes(), c in lanes(), ftz in any::<bool>()) {
        let both = |low: [u32; 32], high: [u32; 32]| {
            std::array::from_fn(|lane| u64::from(high[lane]) << 32 | u64::from(low[lane]))
        };
        let state = State::new().set_lanes("%f1", a.map(u64::from)).set_lanes("%f2", b.map(u64::from));
        let state = state.set_lanes("%f3", c.map(u64::from)).set_lanes("%rd1", both(a, b));
        let state = state.set_lanes("%rd2", both(b, c)).set_lanes("%rd3", both(c, a));
        let operations = ["add", "sub", "mul", "fma.rn"].into_iter().enumerate();
        let body = operations.map(|(at, name)| {
            let name = if ftz { format!("{name}.ftz") } else { name.to_owned() };
            let third = if at == 3 { ", % 3" } else { "" };
            let one = |ty: &str, file: &str| format!("{name}.{ty} % {}, % 1, % 2{third};", 4 + at).replace("% ", file);
            one("f32", "%f") + &one("f32x2", "%rd")
        });
        let state = state.run(&body.collect::<String>());
        for at in 4..8 {
            let (single, pair) = (state.lanes(&format!("%f{at}")), state.lanes(&format!("%rd{at}")));
            for lane in 0..32 {
                prop_assert_eq!(single[lane], pair[lane] & 0xffff_ffff, "operation {} of lane {}", at, lane);
            }
        }
    }

    #[test]
    fn a_hyperbolic_tangent_is_within_the_isa_s_error(a in prop::array::uniform32(-6.0f32..6.0)) {
        let state = State::new().set_lanes("%f1", a.map(|a| u64::from(a.to_bits()))).run("tanh.approx.f32 %f7, %f1;");
        let found = state.lanes("%f7").map(|bits| f64::from(f32::from_bits(bits as u32)));
        for (x, found) in a.map(f64::from).into_iter().zip(found) {
            prop_assert!((found - x.tanh()).abs() <= 2f64.powi(-11) * x.tanh().abs());
        }
    }
}
