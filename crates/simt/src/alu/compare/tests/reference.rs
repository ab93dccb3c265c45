//! Every operator and type against plain Rust, and against the fields of a floating-point number.

use crate::tests::eval;
use crate::tests::lanes::{agree, values};
use proptest::prelude::*;
use std::cmp::Ordering;

/// Whether an operator holds of two numbers that compare so; `None` if one is NaN.
fn holds(operator: &str, order: Option<Ordering>) -> bool {
    use Ordering::{Equal, Greater, Less};
    let unordered = order.is_none();
    match operator {
        "eq" => order == Some(Equal),
        "ne" => matches!(order, Some(Less | Greater)),
        "lt" | "lo" => order == Some(Less),
        "le" | "ls" => matches!(order, Some(Less | Equal)),
        "gt" | "hi" => order == Some(Greater),
        "ge" | "hs" => matches!(order, Some(Greater | Equal)),
        "equ" => unordered || order == Some(Equal),
        "neu" => order != Some(Equal),
        "ltu" => unordered || order == Some(Less),
        "leu" => order != Some(Greater),
        "gtu" => unordered || order == Some(Greater),
        "geu" => order != Some(Less),
        "num" => !unordered,
        "nan" => unordered,
        _ => panic!("no operator {operator}"),
    }
}

const ORDERED: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];
const UNSIGNED: [&str; 4] = ["lo", "ls", "hi", "hs"];
const UNORDERED: [&str; 8] = ["equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"];

/// The value of a half, by its fields.
fn half(bits: u64, exponent_bits: u32, flush: bool) -> f64 {
    let fraction_bits = 15 - exponent_bits;
    let fraction = (bits & ((1 << fraction_bits) - 1)) as f64;
    let exponent = (bits >> fraction_bits & ((1 << exponent_bits) - 1)) as i32;
    let (bias, top) = ((1 << (exponent_bits - 1)) - 1, (1 << exponent_bits) - 1);
    let unit = f64::from(1 << fraction_bits);
    let value = match exponent {
        0 if flush => 0.0,
        0 => fraction / unit * 2f64.powi(1 - bias),
        _ if exponent == top && fraction != 0.0 => f64::NAN,
        _ if exponent == top => f64::INFINITY,
        _ => (1.0 + fraction / unit) * 2f64.powi(exponent - bias),
    };
    if bits >> 15 & 1 == 1 { -value } else { value }
}

fn single(bits: u64, flush: bool) -> f64 {
    let value = f32::from_bits(bits as u32);
    let value = if flush && value.is_subnormal() {
        0f32.copysign(value)
    } else {
        value
    };
    value.into()
}

/// A floating-point type: its name with `.ftz`, its registers, and the value of its bits.
type Float = (&'static str, &'static str, fn(u64) -> f64);

const FLOATS: [Float; 6] = [
    ("f32", "%f", |bits| single(bits, false)),
    ("ftz.f32", "%f", |bits| single(bits, true)),
    ("f64", "%fd", f64::from_bits),
    ("f16", "%h", |bits| half(bits, 5, false)),
    ("ftz.f16", "%h", |bits| half(bits, 5, true)),
    ("bf16", "%h", |bits| half(bits, 8, false)),
];

/// Bits that matter in a comparison of this type: zeros, subnormals, infinities, NaNs of both signs, and
/// numbers near each other.
fn edges(ty: &str) -> Vec<u64> {
    let (bits, fraction): (u32, u32) = match ty.trim_start_matches("ftz.") {
        "f64" => (64, 52),
        "f32" => (32, 23),
        "f16" => (16, 10),
        _ => (16, 7),
    };
    let infinity = (1u64 << (bits - 1)) - (1 << fraction);
    let one = (infinity / 2) & !((1 << fraction) - 1);
    let positive = [
        0,
        1,
        (1 << fraction) - 1,
        1 << fraction,
        one,
        one + 1,
        infinity - 1,
        infinity,
        infinity + 1,
        infinity | 1 << (fraction - 1),
    ];
    positive
        .iter()
        .flat_map(|value| [*value, value | 1 << (bits - 1)])
        .collect()
}

#[test]
fn floating_point_edges() {
    for (ty, prefix, value) in FLOATS {
        let edges = edges(ty);
        for operator in ORDERED.iter().chain(&UNORDERED) {
            for a in &edges {
                let a_lanes = [*a; 32];
                let b_lanes = std::array::from_fn(|lane| edges[lane % edges.len()]);
                let registers = ["%p0", &format!("{prefix}1"), &format!("{prefix}2")];
                let all = [a_lanes, b_lanes, [0; 32], [0; 32]];
                agree(&format!("setp.{operator}.{ty}"), registers, &all, |v| {
                    holds(operator, value(v[0]).partial_cmp(&value(v[1]))).into()
                });
            }
        }
    }
}

#[test]
fn nan_by_the_isas_table() {
    let nan = [("%f1", 0x7fc0_0000), ("%f2", 0x3f80_0000)];
    for operator in ORDERED.iter().chain(&UNORDERED) {
        let wanted = match *operator {
            "equ" | "neu" | "ltu" | "leu" | "gtu" | "geu" | "nan" => 0xffff_ffff,
            _ => 0,
        };
        let found = eval(&format!("setp.{operator}.f32 %p0, %f1, %f2;"), &nan, "%p0");
        assert_eq!(found, wanted, "{operator}");
        let found = eval(&format!("setp.{operator}.f32 %p0, %f2, %f1;"), &nan, "%p0");
        assert_eq!(found, wanted, "{operator}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn integers(v in values()) {
        for (bits, prefix) in [(16, "%h"), (32, "%r"), (64, "%rd")] {
            let [a, b] = [1, 2].map(|n| format!("{prefix}{n}"));
            let signed = |value: u64| (value << (64 - bits)).cast_signed();
            for operator in ORDERED {
                agree(&format!("setp.{operator}.u{bits}"), ["%p0", &a, &b], &v, |v| {
                    holds(operator, Some(v[0].cmp(&v[1]))).into()
                });
                agree(&format!("setp.{operator}.s{bits}"), ["%p0", &a, &b], &v, |v| {
                    holds(operator, Some(signed(v[0]).cmp(&signed(v[1])))).into()
                });
            }
            for operator in UNSIGNED {
                agree(&format!("setp.{operator}.u{bits}"), ["%p0", &a, &b], &v, |v| {
                    holds(operator, Some(v[0].cmp(&v[1]))).into()
                });
            }
            for operator in ["eq", "ne"] {
                agree(&format!("setp.{operator}.b{bits}"), ["%p0", &a, &b], &v, |v| {
                    holds(operator, Some(v[0].cmp(&v[1]))).into()
                });
            }
        }
    }

    #[test]
    fn floats(v in values()) {
        for (ty, prefix, value) in FLOATS {
            let [a, b] = [1, 2].map(|n| format!("{prefix}{n}"));
            for operator in ORDERED.iter().chain(&UNORDERED) {
                agree(&format!("setp.{operator}.{ty}"), ["%p0", &a, &b], &v, |v| {
                    holds(operator, value(v[0]).partial_cmp(&value(v[1]))).into()
                });
            }
        }
    }
}
