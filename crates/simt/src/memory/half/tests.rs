use super::Half;

/// Small whole numbers as f16.
fn f16(value: u16) -> u16 {
    half::f16::from_f32(f32::from(value)).to_bits()
}

#[test]
fn sums_round_to_nearest_even() {
    // 2048 + 1 lies halfway between 2048 and 2050; 2048 + 3 between 2050 and 2052.
    assert_eq!(Half::F16.add(f16(2048), f16(1)), f16(2048));
    assert_eq!(Half::F16.add(f16(2048), f16(3)), f16(2052));
    assert_eq!(Half::F16.add(f16(65504), f16(15)), f16(65504));
    assert_eq!(Half::F16.add(f16(65504), f16(16)), 0x7c00);
    assert_eq!(Half::F16.add(1, 2), 3);
    assert_eq!(Half::F16.add(0x8000, 0x8000), 0x8000);
    assert_eq!(Half::F16.add(0x7c00, 0xfc00), 0x7fff);
    assert_eq!(Half::Bf16.add(0x4380, 0x3f80), 0x4380); // 256 + 1
    assert_eq!(Half::Bf16.add(0x4380, 0x4040), 0x4382); // 256 + 3
    assert_eq!(Half::Bf16.add(0x7f7f, 0x7f7f), 0x7f80);
}

#[test]
fn a_nan_loses_and_zeros_have_an_order() {
    for half in [Half::F16, Half::Bf16] {
        assert_eq!(half.min(0x7fff, 0x1234), 0x1234);
        assert_eq!(half.max(0x1234, 0xffff), 0x1234);
        assert_eq!(half.min(0xffff, 0x7fff), 0x7fff);
        assert_eq!(half.min(0, 0x8000), 0x8000);
        assert_eq!(half.max(0, 0x8000), 0);
        assert_eq!(half.max(0x9234, 0x9235), 0x9234);
    }
}
