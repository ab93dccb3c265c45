//! Each instruction on values worked out from the ISA's text.
#![allow(clippy::unwrap_used)]

mod half;
mod random;
mod refusals;

use crate::tests::{State, eval};

const NAN: u64 = 0x7fff_ffff;
const INF: u64 = 0x7f80_0000;
const MINUS: u64 = 0x8000_0000;

fn f(value: f32) -> u64 {
    u64::from(value.to_bits())
}

fn d(value: f64) -> u64 {
    value.to_bits()
}

/// `instruction` with `%f1`, `%f2`, `%f3` and the result in `%f0`.
fn f32(instruction: &str, inputs: &[u64]) -> u64 {
    let names = ["%f1", "%f2", "%f3"];
    let text = format!("{instruction} %f0, {};", names[..inputs.len()].join(", "));
    let inputs: Vec<_> = names.into_iter().zip(inputs.iter().copied()).collect();
    eval(&text, &inputs, "%f0")
}

/// The same of `%fd`.
fn f64(instruction: &str, inputs: &[u64]) -> u64 {
    let names = ["%fd1", "%fd2", "%fd3"];
    let text = format!("{instruction} %fd0, {};", names[..inputs.len()].join(", "));
    let inputs: Vec<_> = names.into_iter().zip(inputs.iter().copied()).collect();
    eval(&text, &inputs, "%fd0")
}

#[test]
fn directed_sums_are_next_to_each_other() {
    // 1 + 2^-30 lies between 1 and its successor.
    let (one, tiny) = (f(1.0), f(2f32.powi(-30)));
    for (mode, plus, minus) in [("rn", 0, 0), ("rz", 0, 0), ("rm", 0, 1), ("rp", 1, 0)] {
        assert_eq!(
            f32(&format!("add.{mode}.f32"), &[one, tiny]),
            one + plus,
            "{mode}"
        );
        assert_eq!(
            f32(&format!("sub.{mode}.f32"), &[one | MINUS, tiny]),
            (one + minus) | MINUS,
            "{mode}"
        );
        let (one, tiny) = (d(1.0), d(2f64.powi(-80)));
        assert_eq!(
            f64(&format!("add.{mode}.f64"), &[one, tiny]),
            one + plus,
            "{mode}"
        );
        assert_eq!(
            f64(&format!("sub.{mode}.f64"), &[one | 1 << 63, tiny]),
            (one + minus) | 1 << 63,
            "{mode}"
        );
    }
    assert_eq!(f32("add.f32", &[f(1.5), f(2.25)]), f(3.75));
    assert_eq!(f32("add.rm.f32", &[f(1.0), f(-1.0)]), MINUS);
    assert_eq!(f32("add.rp.f32", &[f(1.0), f(-1.0)]), 0);
}

#[test]
fn directed_products_quotients_and_roots() {
    // 1/3 is 0x3eaaaaaa.aa…, √2 is 0x3fb504f3.3…, (1 + 2^-23)² is 1 + 2^-22 + 2^-46.
    let square = f(1.0) + 1;
    for (mode, third, root, product) in [
        ("rn", 0x3eaa_aaab, 0x3fb5_04f3, 0x3f80_0002),
        ("rz", 0x3eaa_aaaa, 0x3fb5_04f3, 0x3f80_0002),
        ("rm", 0x3eaa_aaaa, 0x3fb5_04f3, 0x3f80_0002),
        ("rp", 0x3eaa_aaab, 0x3fb5_04f4, 0x3f80_0003),
    ] {
        assert_eq!(
            f32(&format!("div.{mode}.f32"), &[f(1.0), f(3.0)]),
            third,
            "{mode}"
        );
        assert_eq!(f32(&format!("rcp.{mode}.f32"), &[f(3.0)]), third, "{mode}");
        assert_eq!(f32(&format!("sqrt.{mode}.f32"), &[f(2.0)]), root, "{mode}");
        assert_eq!(
            f32(&format!("mul.{mode}.f32"), &[square, square]),
            product,
            "{mode}"
        );
        let fused = format!("fma.{mode}.f32");
        assert_eq!(f32(&fused, &[square, square, 0]), product, "{mode}");
        // What the product's rounding left out, exactly.
        let rest = f32(&fused, &[square, square, 0x3f80_0002 | MINUS]);
        assert_eq!(rest, f(2f32.powi(-46)), "{mode}");
        let down = f64(&format!("rcp.{mode}.f64"), &[d(3.0)]);
        let expected = d(1.0 / 3.0) + u64::from(mode == "rp");
        assert_eq!(down, expected, "{mode}");
    }
    assert_eq!(f32("mad.rz.f32", &[f(2.0), f(3.0), f(4.0)]), f(10.0));
    assert_eq!(f64("mad.rn.f64", &[d(2.0), d(3.0), d(4.0)]), d(10.0));
    assert_eq!(f64("sqrt.rp.f64", &[d(2.0)]), d(2f64.sqrt()));
    assert_eq!(f64("sqrt.rm.f64", &[d(2.0)]), d(2f64.sqrt()) - 1);
    assert_eq!(f64("div.rz.f64", &[d(-1.0), d(3.0)]), d(-1.0 / 3.0));
}

#[test]
fn overflow_and_underflow_follow_the_mode() {
    let most = f(f32::MAX);
    let least = 1;
    for (mode, over, under) in [
        ("rn", INF, 0),
        ("rz", most, 0),
        ("rm", most, 0),
        ("rp", INF, least),
    ] {
        assert_eq!(
            f32(&format!("mul.{mode}.f32"), &[most, f(2.0)]),
            over,
            "{mode}"
        );
        assert_eq!(
            f32(&format!("mul.{mode}.f32"), &[least, f(0.25)]),
            under,
            "{mode}"
        );
    }
    assert_eq!(f32("mul.rm.f32", &[least | MINUS, f(0.25)]), least | MINUS);
    assert_eq!(f32("mul.rz.f32", &[least | MINUS, f(0.25)]), MINUS);
    assert_eq!(f64("mul.rp.f64", &[1, d(0.25)]), 1);
    assert_eq!(f64("mul.rz.f64", &[d(f64::MAX), d(2.0)]), d(f64::MAX));
}

#[test]
fn a_nan_of_f32_is_the_canonical_one() {
    let strange = 0xff80_0123;
    for instruction in [
        "add.f32",
        "mul.rz.f32",
        "div.rn.f32",
        "div.full.f32",
        "sub.ftz.f32",
    ] {
        assert_eq!(f32(instruction, &[strange, f(1.0)]), NAN, "{instruction}");
        assert_eq!(f32(instruction, &[f(1.0), strange]), NAN, "{instruction}");
    }
    assert_eq!(f32("sub.f32", &[INF, INF]), NAN);
    assert_eq!(f32("mul.f32", &[INF, 0]), NAN);
    assert_eq!(f32("fma.rm.f32", &[INF, f(1.0), INF | MINUS]), NAN);
    assert_eq!(f32("sqrt.rn.f32", &[f(-1.0)]), NAN);
    assert_eq!(f32("sqrt.rp.f32", &[f(-1.0)]), NAN);
    assert_eq!(f32("sqrt.rp.f32", &[MINUS]), MINUS);
    assert_eq!(f32("neg.f32", &[strange]), NAN);
    assert_eq!(f32("abs.f32", &[strange]), NAN);
    assert_eq!(f32("lg2.approx.f32", &[f(-1.0)]), NAN);
    assert_eq!(f32("sin.approx.f32", &[INF]), NAN);
}

#[test]
fn a_nan_of_f64_is_passed_on() {
    let (first, second) = (0x7ff0_0000_0000_0123, 0xfff8_0000_0000_0456);
    let quiet = first | 1 << 51;
    // Of two, an H100 hands on the second of a sum or product, and the first of a quotient.
    for (instruction, of_both) in [
        ("add.f64", second),
        ("mul.rz.f64", second),
        ("sub.rn.f64", second),
        ("div.rn.f64", quiet),
        ("div.rp.f64", quiet),
    ] {
        assert_eq!(f64(instruction, &[first, second]), of_both, "{instruction}");
        assert_eq!(f64(instruction, &[d(1.0), second]), second, "{instruction}");
        assert_eq!(f64(instruction, &[first, d(1.0)]), quiet, "{instruction}");
    }
    // The second operand, then the third, then the first.
    let third = 0x7ff8_0000_0000_0789;
    assert_eq!(f64("fma.rn.f64", &[first, second, third]), second);
    assert_eq!(f64("fma.rp.f64", &[first, d(1.0), third]), third);
    assert_eq!(f64("fma.rz.f64", &[first, d(1.0), d(1.0)]), quiet);
    // The sign of a NaN stays.
    assert_eq!(f64("neg.f64", &[first]), quiet);
    assert_eq!(f64("abs.f64", &[second]), second);
    let made = 0xfff8_0000_0000_0000;
    assert_eq!(f64("sub.f64", &[d(f64::INFINITY), d(f64::INFINITY)]), made);
    assert_eq!(f64("mul.rm.f64", &[d(f64::INFINITY), 0]), made);
    assert_eq!(f64("sqrt.rn.f64", &[d(-1.0)]), made);
    assert_eq!(f64("fma.rz.f64", &[d(1.0), d(2.0), second]), second);
    // A finite product is no infinity, however great: −∞ wins.
    let huge = d(f64::MAX);
    assert_eq!(
        f64("fma.rz.f64", &[huge, huge, d(f64::NEG_INFINITY)]),
        d(f64::NEG_INFINITY)
    );
}

#[test]
fn ftz_flushes_operands_and_results_with_their_sign() {
    let subnormal = 0x007f_ffff;
    assert_eq!(f32("add.f32", &[subnormal, subnormal]), 0x00ff_fffe);
    assert_eq!(f32("add.ftz.f32", &[subnormal, subnormal]), 0);
    assert_eq!(f32("add.rz.ftz.f32", &[subnormal, subnormal]), 0);
    assert_eq!(f32("mul.ftz.f32", &[f(-1e-30), f(1e-10)]), MINUS);
    assert_eq!(f32("mul.rp.ftz.f32", &[f(-1e-30), f(1e-10)]), MINUS);
    assert_eq!(f32("mul.f32", &[f(-1e-30), f(1e-10)]), f(-1e-40));
    assert_eq!(f32("neg.ftz.f32", &[1]), MINUS);
    assert_eq!(f32("abs.ftz.f32", &[1 | MINUS]), 0);
    assert_eq!(f32("min.ftz.f32", &[1, f(1.0)]), 0);
    assert_eq!(f32("rcp.rn.ftz.f32", &[1]), INF);
    assert_eq!(f32("rcp.approx.ftz.f32", &[f(1e38)]), 0);
    assert_eq!(f32("ex2.approx.ftz.f32", &[f(-127.0)]), 0);
    assert_eq!(f32("ex2.approx.f32", &[f(-127.0)]), 0x0040_0000);
}

#[test]
fn sat_clamps_to_0_and_1() {
    for (a, b, expected) in [
        (f(0.25), f(0.5), f(0.75)),
        (f(1.0), f(0.5), f(1.0)),
        (f(-1.0), f(0.5), 0),
        (MINUS, MINUS, 0),
        (INF, f(1.0), f(1.0)),
        (NAN, f(1.0), 0),
    ] {
        assert_eq!(f32("add.sat.f32", &[a, b]), expected, "{a:x} {b:x}");
        assert_eq!(f32("add.rz.ftz.sat.f32", &[a, b]), expected, "{a:x} {b:x}");
    }
    assert_eq!(f32("fma.rn.sat.f32", &[f(2.0), f(3.0), f(-5.5)]), f(0.5));
}

#[test]
fn min_and_max() {
    let zero = (0, MINUS);
    for (a, b, min, max) in [
        (f(1.0), f(2.0), f(1.0), f(2.0)),
        (f(-1.0), f(-2.0), f(-2.0), f(-1.0)),
        (f(-1.0), f(2.0), f(-1.0), f(2.0)),
        (zero.0, zero.1, zero.1, zero.0),
        (zero.1, zero.0, zero.1, zero.0),
        (NAN, f(2.0), f(2.0), f(2.0)),
        (f(2.0), 0xff80_0001, f(2.0), f(2.0)),
        (INF, f(2.0), f(2.0), INF),
        (0xff80_0001, 0x7fc0_0000, NAN, NAN),
    ] {
        assert_eq!(f32("min.f32", &[a, b]), min, "{a:x} {b:x}");
        assert_eq!(f32("max.f32", &[a, b]), max, "{a:x} {b:x}");
    }
    assert_eq!(f32("min.NaN.f32", &[f(1.0), 0xff80_0001]), NAN);
    assert_eq!(f32("max.NaN.f32", &[f(1.0), f(2.0)]), f(2.0));
    assert_eq!(f32("min.xorsign.abs.f32", &[f(-1.0), f(2.0)]), f(-1.0));
    assert_eq!(f32("max.xorsign.abs.f32", &[f(-3.0), f(-2.0)]), f(3.0));
    assert_eq!(f32("max.NaN.xorsign.abs.f32", &[NAN, f(-2.0)]), NAN);
    assert_eq!(f32("min.f32", &[f(3.0), f(1.0), f(2.0)]), f(1.0));
    assert_eq!(f32("max.abs.f32", &[f(3.0), f(-4.0), f(2.0)]), f(4.0));
    assert_eq!(f32("max.f32", &[NAN, NAN, f(2.0)]), f(2.0));
    assert_eq!(f64("min.f64", &[d(-0.0), 0]), d(-0.0));
    assert_eq!(f64("max.f64", &[d(-1.0), d(-2.0)]), d(-1.0));
    assert_eq!(f64("max.f64", &[d(f64::NAN), d(-2.0)]), d(-2.0));
    assert_eq!(f64("max.f64", &[d(3.0), d(f64::NAN)]), d(3.0));
    assert!(f64::from_bits(f64("min.f64", &[d(f64::NAN), d(f64::NAN)])).is_nan());
}

#[test]
fn signs() {
    assert_eq!(f32("abs.f32", &[f(-1.5)]), f(1.5));
    assert_eq!(f32("neg.f32", &[0]), MINUS);
    assert_eq!(f64("abs.f64", &[d(-1.5)]), d(1.5));
    assert_eq!(f64("neg.f64", &[d(1.5)]), d(-1.5));
    // The sign of the first with the value of the second.
    assert_eq!(f32("copysign.f32", &[f(-1.0), f(2.0)]), f(-2.0));
    assert_eq!(f32("copysign.f32", &[f(1.0), 0xff80_0001]), 0x7f80_0001);
    assert_eq!(f64("copysign.f64", &[d(-1.0), d(2.0)]), d(-2.0));
}

#[test]
fn approximate_division_and_reciprocals() {
    assert_eq!(f32("div.full.f32", &[f(1.0), f(4.0)]), f(0.25));
    assert_eq!(f32("div.approx.f32", &[f(3.0), f(-4.0)]), f(-0.75));
    // From 2^126 on the divisor's reciprocal is subnormal.
    assert_eq!(
        f32("div.approx.f32", &[f(1e38), f(2f32.powi(126))]),
        f(1e38 / 2f32.powi(126))
    );
    assert_eq!(f32("div.approx.f32", &[f(1e38), f(2e38)]), 0);
    assert_eq!(f32("div.approx.f32", &[INF, f(2e38)]), NAN);
    assert_eq!(f32("div.full.f32", &[f(1e38), f(2e38)]), f(0.5));
    assert_eq!(f32("rcp.approx.f32", &[MINUS]), INF | MINUS);
    assert_eq!(f32("rcp.approx.f32", &[INF | MINUS]), MINUS);
    assert_eq!(f32("sqrt.approx.f32", &[MINUS]), MINUS);
    assert_eq!(f32("rsqrt.approx.f32", &[f(4.0)]), f(0.5));
    assert_eq!(f32("rsqrt.approx.f32", &[MINUS]), INF | MINUS);
    assert_eq!(f32("rsqrt.approx.f32", &[INF]), 0);
    assert_eq!(f32("rsqrt.approx.ftz.f32", &[1]), INF);
    assert_eq!(f32("rsqrt.approx.f32", &[f(-1.0)]), NAN);
    assert_eq!(f64("rsqrt.approx.f64", &[d(0.25)]), d(2.0));
    assert_eq!(f64("rsqrt.approx.ftz.f64", &[1]), d(f64::INFINITY));
    assert_eq!(f64("rcp.approx.ftz.f64", &[d(-1.0 / 3.0)]) & 0xffff_ffff, 0);
    let third = f64::from_bits(f64("rcp.approx.ftz.f64", &[d(-3.0)]));
    assert!((third * -3.0 - 1.0).abs() < 2f64.powi(-19), "{third}");
    assert_eq!(f64("rcp.approx.ftz.f64", &[1 << 63]), d(f64::NEG_INFINITY));
}

#[test]
fn transcendental_edges() {
    for (instruction, input, expected) in [
        ("ex2.approx.f32", INF | MINUS, 0),
        ("ex2.approx.f32", MINUS, f(1.0)),
        ("ex2.approx.f32", f(128.0), INF),
        ("ex2.approx.f32", f(-3.0), f(0.125)),
        ("ex2.approx.f32", NAN, NAN),
        ("lg2.approx.f32", 0, INF | MINUS),
        ("lg2.approx.f32", MINUS, INF | MINUS),
        ("lg2.approx.f32", INF, INF),
        ("lg2.approx.f32", 1, f(-149.0)),
        ("lg2.approx.ftz.f32", 1, INF | MINUS),
        ("lg2.approx.f32", f(8.0), f(3.0)),
        ("sin.approx.f32", MINUS, MINUS),
        ("cos.approx.f32", MINUS, f(1.0)),
        ("cos.approx.f32", INF, NAN),
        ("sin.approx.ftz.f32", 1, 0),
        ("tanh.approx.f32", INF, f(1.0)),
        ("tanh.approx.f32", INF | MINUS, f(-1.0)),
        ("tanh.approx.f32", MINUS, MINUS),
        ("tanh.approx.f32", NAN, NAN),
    ] {
        assert_eq!(
            f32(instruction, &[input]),
            expected,
            "{instruction} {input:x}"
        );
    }
}

#[test]
fn properties() {
    type Property = fn(f32) -> bool;
    let table: [(&str, Property); 6] = [
        ("finite", f32::is_finite),
        ("infinite", f32::is_infinite),
        ("number", |x| !x.is_nan()),
        ("notanumber", f32::is_nan),
        ("normal", |x| x.is_normal() || x == 0.0),
        ("subnormal", f32::is_subnormal),
    ];
    let values = [
        0.0,
        -0.0,
        1.0,
        -1e-40,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        1e-45,
        f32::MAX,
    ];
    for (name, expected) in table {
        for value in values {
            let single = eval(
                &format!("testp.{name}.f32 %p0, %f0;"),
                &[("%f0", f(value))],
                "%p0",
            );
            assert_eq!(single != 0, expected(value), "{name} {value}");
            // The same kind of number, as a double.
            let wide = if value.is_subnormal() {
                1
            } else {
                d(f64::from(value))
            };
            let double = eval(
                &format!("testp.{name}.f64 %p0, %fd0;"),
                &[("%fd0", wide)],
                "%p0",
            );
            assert_eq!(double, single, "{name} {value}");
        }
    }
}

#[test]
fn immediates_and_lanes() {
    assert_eq!(
        eval("add.f32 %f0, %f1, 0f3F800000;", &[("%f1", f(2.0))], "%f0"),
        f(3.0)
    );
    assert_eq!(
        eval(
            "mul.f64 %fd0, %fd1, 0d4000000000000000;",
            &[("%fd1", d(2.0))],
            "%fd0"
        ),
        d(4.0)
    );
    let state = State::new()
        .set("%f1", f(2.0))
        .run_on("add.f32 %f0, %f1, %f1;", 0b10);
    assert_eq!(state.lanes("%f0")[..3], [0, f(4.0), 0]);
    // Registers of 32 bits of any type will do.
    assert_eq!(
        eval("add.f32 %r0, %r1, %f1;", &[("%f1", f(2.0))], "%r0"),
        f(2.0)
    );
}
