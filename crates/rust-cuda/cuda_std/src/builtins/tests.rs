use super::{compare, f32, f64};

/// Returns integers of every length, with one to three bits set or cleared, including values that round at each bit
/// position.
fn integers() -> impl Iterator<Item = u128> {
    let shifts = (0..128).flat_map(|a| (0..128).map(move |b| (a, b)));
    shifts.flat_map(|(a, b)| {
        let (a, b) = (1_u128 << a, 1_u128 << b);
        [
            a,
            a.wrapping_add(b),
            a.wrapping_sub(b),
            a.wrapping_add(b).wrapping_sub(1),
            (a + (a >> 24)).wrapping_add(b),
            !a & !b,
        ]
    })
}

#[test]
fn integers_become_the_nearest_float() {
    for x in integers() {
        let signed = x as i128;
        assert_eq!(f32::from_unsigned(x).to_bits(), (x as f32).to_bits(), "{x:#x}");
        assert_eq!(f64::from_unsigned(x).to_bits(), (x as f64).to_bits(), "{x:#x}");
        assert_eq!(f32::from_signed(signed).to_bits(), (signed as f32).to_bits(), "{x:#x}");
        assert_eq!(f64::from_signed(signed).to_bits(), (signed as f64).to_bits(), "{x:#x}");
    }
}

#[test]
fn floats_convert_to_integers_like_as() {
    for exponent in 0..=u8::MAX {
        for mantissa in [0, 1, 0x40_0000, 0x55_5555, 0x7f_ffff] {
            for sign in [0, 1 << 31] {
                let x = core::primitive::f32::from_bits(sign | u32::from(exponent) << 23 | mantissa);
                let neighbor = core::primitive::f64::from_bits(f64_bits(x).wrapping_add(1));
                assert_eq!((f32::to_unsigned(x), f32::to_signed(x)), (x as u128, x as i128), "{x}");
                for x in [core::primitive::f64::from(x), neighbor] {
                    assert_eq!((f64::to_unsigned(x), f64::to_signed(x)), (x as u128, x as i128), "{x}");
                }
            }
        }
    }
}

fn f64_bits(x: core::primitive::f32) -> u64 {
    core::primitive::f64::from(x).to_bits()
}

#[test]
fn bytes_compare_as_slices_do() {
    let a: [u8; 40] = core::array::from_fn(|at| (at * 37) as u8);
    for (from, to, changed) in
        (0..16).flat_map(|from| (from..40).flat_map(move |to| (0..40).map(move |changed| (from, to, changed))))
    {
        let mut b = a;
        b[changed] ^= 0x81;
        let (a, b) = (&a[from..to], &b[from..to]);
        // SAFETY: both slices have `a.len()` bytes.
        let found = unsafe { compare(a.as_ptr(), b.as_ptr(), a.len()) };
        assert_eq!(found.cmp(&0), a.cmp(b), "{from}..{to}, {changed}");
    }
}
