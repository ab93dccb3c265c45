use super::{NAN, narrow, widen};
use crate::alu::float::from_f16;

/// The number that bits stand for, by the definition of the formats.
fn value(bits: u8, wide_range: bool) -> f64 {
    let (digits, bias) = if wide_range { (2, 15) } else { (3, 7) };
    let (power, rest) = (i32::from(bits & 0x7f) >> digits, f64::from(bits & ((1 << digits) - 1)));
    let unit = f64::exp2(-f64::from(digits));
    let size = match power {
        0 => rest * unit * f64::exp2(f64::from(1 - bias)),
        power => (1.0 + rest * unit) * f64::exp2(f64::from(power - bias)),
    };
    if bits & 0x80 == 0 { size } else { -size }
}

#[test]
fn every_number_goes_there_and_back() {
    for wide_range in [false, true] {
        let last = if wide_range { 0x7b } else { 0x7e };
        for bits in (0..=last).chain(0x80..=0x80 | last) {
            let number = value(bits, wide_range);
            assert_eq!(narrow(number as f32, wide_range, false), bits, "{number}");
            let half = widen(bits, wide_range, false);
            assert_eq!(f64::from(from_f16(half)), number, "{bits:x}");
            let relu = if bits >= 0x80 { 0 } else { bits };
            assert_eq!(narrow(number as f32, wide_range, true), relu);
        }
        // Between two numbers, the nearer one; half-way the even one.
        for bits in 0..last {
            let (low, high) = (value(bits, wide_range), value(bits + 1, wide_range));
            let middle = ((low + high) / 2.0) as f32;
            assert_eq!(narrow(middle, wide_range, false), bits + (bits & 1));
            assert_eq!(narrow(middle.next_down(), wide_range, false), bits);
            assert_eq!(narrow(middle.next_up(), wide_range, false), bits + 1);
        }
        for large in [1e6, 1e38, f32::INFINITY] {
            assert_eq!(narrow(large, wide_range, false), last);
            assert_eq!(narrow(-large, wide_range, false), last | 0x80);
        }
        for sign in [0, 0x80] {
            assert_eq!(widen(NAN | sign, wide_range, true), 0x7fff);
        }
        assert_eq!(narrow(-f32::NAN, wide_range, true), NAN);
        assert_eq!(narrow(1e-30, wide_range, false), 0);
    }
    assert_eq!(widen(0x7c, true, false), 0x7c00);
    assert_eq!(widen(0xfc, true, false), 0xfc00);
}
