//! Random values against plain Rust, or against the ISA's pseudo-code.

use crate::tests::lanes::{agree, values};
use proptest::prelude::*;

/// Checks one instruction of each width, given as `u16`, `s64` …; the reference gets its sources with their
/// sign, if they have one, and its result is cut to the width.
fn sized(
    opcode: &str,
    types: &[&str],
    values: &[[u64; 32]; 4],
    sources: usize,
    f: impl Fn(&[i128]) -> i128,
) {
    for ty in types {
        let prefix = match &ty[1..] {
            "16" => "%h",
            "32" => "%r",
            _ => "%rd",
        };
        let names: Vec<String> = (0..=sources).map(|n| format!("{prefix}{n}")).collect();
        let bits: u32 = ty[1..].parse().expect("a width");
        let signed = ty.starts_with('s');
        let reference = |inputs: &[u64]| {
            let extended: Vec<i128> = inputs
                .iter()
                .map(|input| match signed {
                    true => i128::from((input << (64 - bits)).cast_signed()) >> (64 - bits),
                    false => i128::from(*input),
                })
                .collect();
            f(&extended) as u64
        };
        let opcode = format!("{opcode}.{ty}");
        match &names[..] {
            [d, a] => agree(&opcode, [d, a], values, reference),
            [d, a, b] => agree(&opcode, [d, a, b], values, reference),
            [d, a, b, c] => agree(&opcode, [d, a, b, c], values, reference),
            _ => panic!("{sources} sources"),
        }
    }
}

const ALL: [&str; 6] = ["u16", "s16", "u32", "s32", "u64", "s64"];
const SIGNED: [&str; 3] = ["s16", "s32", "s64"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn sums_and_products(v in values()) {
        sized("add", &ALL, &v, 2, |v| v[0] + v[1]);
        sized("sub", &ALL, &v, 2, |v| v[0] - v[1]);
        sized("mul.lo", &ALL, &v, 2, |v| v[0].wrapping_mul(v[1]));
        sized("mad.lo", &ALL, &v, 3, |v| v[0].wrapping_mul(v[1]).wrapping_add(v[2]));
        sized("sad", &ALL, &v, 3, |v| v[2] + (v[0] - v[1]).abs());
        sized("min", &ALL, &v, 2, |v| v[0].min(v[1]));
        sized("max", &ALL, &v, 2, |v| v[0].max(v[1]));
        sized("abs", &SIGNED, &v, 1, |v| v[0].abs());
        sized("neg", &SIGNED, &v, 1, |v| -v[0]);
        sized("add.sat", &["s32"], &v, 2, |v| (v[0] + v[1]).clamp(i32::MIN.into(), i32::MAX.into()));
        sized("sub.sat", &["s32"], &v, 2, |v| (v[0] - v[1]).clamp(i32::MIN.into(), i32::MAX.into()));
        for bits in [16, 32] {
            let types = [format!("u{bits}"), format!("s{bits}")];
            let types = [&types[0][..], &types[1]];
            sized("mul.hi", &types, &v, 2, |v| (v[0] * v[1]) >> bits);
            sized("mad.hi", &types, &v, 3, |v| ((v[0] * v[1]) >> bits) + v[2]);
        }
        let product = |v: &[i128]| v[0].cast_unsigned().wrapping_mul(v[1].cast_unsigned());
        sized("mul.hi", &["u64"], &v, 2, |v| (product(v) >> 64).cast_signed());
        sized("mul.hi", &["s64"], &v, 2, |v| product(v).cast_signed() >> 64);
    }

    #[test]
    fn quotients(v in values()) {
        sized("div", &ALL, &v, 2, |v| v[0].checked_div(v[1]).unwrap_or(-1));
        sized("rem", &ALL, &v, 2, |v| v[0].checked_rem(v[1]).unwrap_or(-1));
    }

    #[test]
    fn fields(v in values()) {
        for bits in [32u64, 64] {
            let prefix = if bits == 32 { "%r" } else { "%rd" };
            let [d, a, b] = [0, 1, 2].map(|n| format!("{prefix}{n}"));
            // The numbers in range, so that those of 64 bits are the ISA's too.
            let near = [v[0], v[1].map(|n| n & 0x7f), v[2].map(|n| n & 0x7f), v[3]];
            for sign in ["u", "s"] {
                let opcode = format!("bfe.{sign}{bits}");
                agree(&opcode, [&d, &a, "%r2", "%r3"], &near, |v| {
                    let (pos, len, msb) = (v[1], v[2], bits - 1);
                    let sbit = match sign == "u" || len == 0 {
                        true => 0,
                        false => v[0] >> (pos + len - 1).min(msb) & 1,
                    };
                    (0..bits).fold(0, |field, i| {
                        let bit = if i < len && pos + i <= msb { v[0] >> (pos + i) & 1 } else { sbit };
                        field | bit << i
                    })
                });
            }
            let near = [v[0], v[3], near[1], near[2]];
            agree(&format!("bfi.b{bits}"), [&d, &a, &b, "%r3", "%r4"], &near, |v| {
                let (pos, len) = (v[2], v[3]);
                (0..len.min(bits)).filter(|i| pos + i < bits).fold(v[1], |f, i| {
                    f & !(1 << (pos + i)) | (v[0] >> i & 1) << (pos + i)
                })
            });
        }
    }

    #[test]
    fn nth_set_bits(v in values()) {
        let near = [v[0], v[1].map(|n| n & 31), v[2].map(|n| (n % 70).wrapping_sub(35)), v[3]];
        agree("fns.b32", ["%r0", "%r1", "%r2", "%r3"], &near, |v| {
            let (mask, base, offset) = (v[0], v[1] as i64, i64::from(v[2] as u32 as i32));
            let set = |pos: i64| mask >> pos & 1 == 1;
            if offset == 0 {
                return if set(base) { v[1] } else { u64::MAX };
            }
            let mut count = offset.abs() - 1;
            let mut pos = base;
            while (0..32).contains(&pos) {
                if set(pos) {
                    if count == 0 {
                        return pos as u64;
                    }
                    count -= 1;
                }
                pos += offset.signum();
            }
            u64::MAX
        });
    }

    #[test]
    fn masks_and_extensions(v in values()) {
        for mode in ["clamp", "wrap"] {
            let clamp = mode == "clamp";
            agree(&format!("bmsk.{mode}.b32"), ["%r0", "%r1", "%r2"], &v, |v| {
                let [a, b] = [v[0], v[1]].map(|n| if clamp { n } else { n & 31 });
                (0..32).filter(|i| (a..a + b).contains(i)).fold(0, |mask, i| mask | 1 << i)
            });
            for sign in ["u", "s"] {
                agree(&format!("szext.{mode}.{sign}32"), ["%r0", "%r1", "%r2"], &v, |v| {
                    let bits = if clamp { v[1].min(32) } else { v[1] & 31 };
                    let low = v[0] & ((1 << bits) - 1);
                    let negative = sign == "s" && bits > 0 && low >> (bits - 1) == 1;
                    if negative { low | u64::MAX << bits } else { low }
                });
            }
        }
    }

    #[test]
    fn bits(v in values()) {
        agree("popc.b32", ["%r0", "%r1"], &v, |v| v[0].count_ones().into());
        agree("popc.b64", ["%r0", "%rd1"], &v, |v| v[0].count_ones().into());
        agree("clz.b32", ["%r0", "%r1"], &v, |v| u64::from(v[0].leading_zeros()) - 32);
        agree("clz.b64", ["%r0", "%rd1"], &v, |v| v[0].leading_zeros().into());
        agree("brev.b32", ["%r0", "%r1"], &v, |v| v[0].reverse_bits() >> 32);
        agree("brev.b64", ["%rd0", "%rd1"], &v, |v| v[0].reverse_bits());
        let top = |v: u64| v.checked_ilog2().map_or(u64::MAX, u64::from);
        let far = |v: u64, msb: u64| v.checked_ilog2().map_or(u64::MAX, |bit| msb - u64::from(bit));
        let narrow = |v: u64| u64::from((v as i32 ^ v as i32 >> 31) as u32);
        let wide = |v: u64| (v as i64 ^ v as i64 >> 63) as u64;
        agree("bfind.u32", ["%r0", "%r1"], &v, |v| top(v[0]));
        agree("bfind.s32", ["%r0", "%r1"], &v, |v| top(narrow(v[0])));
        agree("bfind.u64", ["%r0", "%rd1"], &v, |v| top(v[0]));
        agree("bfind.s64", ["%r0", "%rd1"], &v, |v| top(wide(v[0])));
        agree("bfind.shiftamt.u32", ["%r0", "%r1"], &v, |v| far(v[0], 31));
        agree("bfind.shiftamt.s32", ["%r0", "%r1"], &v, |v| far(narrow(v[0]), 31));
        agree("bfind.shiftamt.u64", ["%r0", "%rd1"], &v, |v| far(v[0], 63));
        agree("bfind.shiftamt.s64", ["%r0", "%rd1"], &v, |v| far(wide(v[0]), 63));
    }
}
