//! Tests all 8-bit numbers, and the midpoints between them.

use super::registers::State;

/// NaN, in both formats and with either sign.
const NAN: u8 = 0x7f;

/// Runs an instruction on all values, 32 lanes at a time. `from` is the register of the operands, `to` that of the
/// results.
fn convert(instruction: &str, from: &str, to: &str, values: &[u64]) -> Vec<u64> {
    let runs = values.chunks(32).flat_map(|values| {
        let lanes = std::array::from_fn(|lane| values.get(lane).copied().unwrap_or_default());
        State::new().set_lanes(from, lanes).run(instruction).lanes(to).into_iter().take(values.len())
    });
    runs.collect()
}

fn form(wide_range: bool, relu: bool) -> [&'static str; 2] {
    [if relu { ".relu" } else { "" }, if wide_range { "e5m2x2" } else { "e4m3x2" }]
}

/// Rounds `values` to 8 bits.
fn narrow(values: &[f32], wide_range: bool, relu: bool) -> Vec<u8> {
    let [relu, ty] = form(wide_range, relu);
    let bits: Vec<u64> = values.iter().map(|value| value.to_bits().into()).collect();
    let found = convert(&format!("cvt.rn.satfinite{relu}.{ty}.f32 %h0, %f1, %f1;"), "%f1", "%h0", &bits);
    let halves = found.iter().map(|pair| {
        assert_eq!(pair >> 8, pair & 0xff);
        *pair as u8
    });
    halves.collect()
}

/// Converts 8-bit numbers to the bits of `f16`.
fn widen(values: &[u8], wide_range: bool, relu: bool) -> Vec<u16> {
    let [relu, ty] = form(wide_range, relu);
    let pairs: Vec<u64> = values.iter().map(|bits| u64::from(*bits) * 0x101).collect();
    let found = convert(&format!("cvt.rn{relu}.f16x2.{ty} %r0, %h1;"), "%h1", "%r0", &pairs);
    let halves = found.iter().map(|pair| {
        assert_eq!(pair >> 16, pair & 0xffff);
        *pair as u16
    });
    halves.collect()
}

/// Returns the number that `bits` encodes, by the definition of the formats.
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
fn every_number_round_trips() {
    for wide_range in [false, true] {
        let last = if wide_range { 0x7b } else { 0x7e };
        let all: Vec<u8> = (0..=last).chain(0x80..=0x80 | last).collect();
        let numbers: Vec<f64> = all.iter().map(|bits| value(*bits, wide_range)).collect();
        let singles: Vec<f32> = numbers.iter().map(|number| *number as f32).collect();
        assert_eq!(narrow(&singles, wide_range, false), all);
        let halves = widen(&all, wide_range, false);
        let halves: Vec<f64> = halves.iter().map(|bits| half::f16::from_bits(*bits).to_f64()).collect();
        assert_eq!(halves, numbers);
        let positive: Vec<u8> = all.iter().map(|bits| if *bits >= 0x80 { 0 } else { *bits }).collect();
        assert_eq!(narrow(&singles, wide_range, true), positive);
        // A value between two numbers rounds to the nearer one; a midpoint rounds to the even one.
        let (mut middles, mut expected) = (Vec::new(), Vec::new());
        for bits in 0..last {
            let (low, high) = (value(bits, wide_range), value(bits + 1, wide_range));
            let middle = ((low + high) / 2.0) as f32;
            middles.extend([middle, middle.next_down(), middle.next_up()]);
            expected.extend([bits + (bits & 1), bits, bits + 1]);
        }
        assert_eq!(narrow(&middles, wide_range, false), expected);
        let large = [1e6, -1e6, 1e38, -1e38, f32::INFINITY, f32::NEG_INFINITY];
        assert_eq!(narrow(&large, wide_range, false), [last, last | 0x80].repeat(3));
        assert_eq!(widen(&[NAN, NAN | 0x80], wide_range, true), [0x7fff; 2]);
        assert_eq!(narrow(&[-f32::NAN], wide_range, true), [NAN]);
        assert_eq!(narrow(&[1e-30], wide_range, false), [0]);
    }
    assert_eq!(widen(&[0x7c, 0xfc], true, false), [0x7c00, 0xfc00]);
}
