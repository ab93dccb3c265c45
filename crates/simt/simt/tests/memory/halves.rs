//! Tests of `atom` on 16-bit numbers.

use super::{outcome_of, words};

/// Returns the value that an operation with `b` leaves in place of `a`.
fn run_operation(op: &str, ty: &str, a: u16, b: u16) -> u16 {
    let body = format!(
        "ld.global.b16 %h1, [%rd1];\nld.global.b16 %h2, [%rd1+2];\nst.global.v2.b16 [%rd2], {{%h1, %h1}};\n\
         setp.eq.u32 %p1, %r1, 0;\n@%p1 atom.global.{op}.noftz.v2.{ty} {{%h3, %h4}}, [%rd2], {{%h2, %h2}};"
    );
    let out = outcome_of("", &body, bytemuck::cast_slice(&[a, b]), 4).unwrap();
    let [low, high] = words::<u16>(&out)[..] else { panic!("{out:?}") };
    assert_eq!(low, high);
    low
}

fn f16_op(op: &str, a: u16, b: u16) -> u16 {
    run_operation(op, "f16", a, b)
}

fn bf16_op(op: &str, a: u16, b: u16) -> u16 {
    run_operation(op, "bf16", a, b)
}

/// Returns a small integer as f16.
fn f16(value: u16) -> u16 {
    half::f16::from_f32(f32::from(value)).to_bits()
}

#[test]
fn sums_round_to_nearest_even() {
    // 2048 + 1 is halfway between 2048 and 2050; 2048 + 3 is halfway between 2050 and 2052.
    assert_eq!(f16_op("add", f16(2048), f16(1)), f16(2048));
    assert_eq!(f16_op("add", f16(2048), f16(3)), f16(2052));
    assert_eq!(f16_op("add", f16(65504), f16(15)), f16(65504));
    assert_eq!(f16_op("add", f16(65504), f16(16)), 0x7c00);
    assert_eq!(f16_op("add", 1, 2), 3);
    assert_eq!(f16_op("add", 0x8000, 0x8000), 0x8000);
    assert_eq!(f16_op("add", 0x7c00, 0xfc00), 0x7fff);
    assert_eq!(bf16_op("add", 0x4380, 0x3f80), 0x4380); // 256 + 1
    assert_eq!(bf16_op("add", 0x4380, 0x4040), 0x4382); // 256 + 3
    assert_eq!(bf16_op("add", 0x7f7f, 0x7f7f), 0x7f80);
}

#[test]
fn min_and_max_ignore_nan_and_order_zeros() {
    for half in [f16_op, bf16_op] {
        assert_eq!(half("min", 0x7fff, 0x1234), 0x1234);
        assert_eq!(half("max", 0x1234, 0xffff), 0x1234);
        assert_eq!(half("min", 0xffff, 0x7fff), 0x7fff);
        assert_eq!(half("min", 0, 0x8000), 0x8000);
        assert_eq!(half("max", 0, 0x8000), 0);
        assert_eq!(half("max", 0x9234, 0x9235), 0x9234);
    }
}
