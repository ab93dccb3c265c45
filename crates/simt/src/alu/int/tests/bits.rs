//! Finding, extracting and inserting bits.

use crate::tests::eval;
use crate::tests::lanes::check;

#[test]
fn counting_and_finding() {
    check(&[
        ("popc.b32 %r0, %r1;", &[("%r1", 0xf0f0_0001)], 9),
        ("popc.b64 %r0, %rd1;", &[("%rd1", u64::MAX)], 64),
        ("clz.b32 %r0, %r1;", &[("%r1", 0)], 32),
        ("clz.b32 %r0, %r1;", &[("%r1", 0x00ff_0000)], 8),
        ("clz.b64 %r0, %rd1;", &[("%rd1", 0)], 64),
        ("clz.b64 %r0, %rd1;", &[("%rd1", 1)], 63),
        ("bfind.u32 %r0, %r1;", &[("%r1", 0)], 0xffff_ffff),
        ("bfind.u32 %r0, %r1;", &[("%r1", 0x8000_0001)], 31),
        // Of a negative number, the highest bit that is not the sign's.
        ("bfind.s32 %r0, %r1;", &[("%r1", 0xffff_ffff)], 0xffff_ffff),
        ("bfind.s32 %r0, %r1;", &[("%r1", 0xffff_fff0)], 3),
        ("bfind.s32 %r0, %r1;", &[("%r1", 0x7fff_ffff)], 30),
        ("bfind.shiftamt.u32 %r0, %r1;", &[("%r1", 0x0000_0100)], 23),
        ("bfind.shiftamt.u32 %r0, %r1;", &[("%r1", 0)], 0xffff_ffff),
        ("bfind.shiftamt.s32 %r0, %r1;", &[("%r1", 0xffff_fff0)], 28),
        (
            "bfind.shiftamt.s32 %r0, %r1;",
            &[("%r1", 0xffff_ffff)],
            0xffff_ffff,
        ),
        ("bfind.u64 %r0, %rd1;", &[("%rd1", 1 << 40)], 40),
        ("bfind.s64 %r0, %rd1;", &[("%rd1", u64::MAX << 40)], 39),
        ("bfind.shiftamt.u64 %r0, %rd1;", &[("%rd1", 1 << 40)], 23),
        (
            "bfind.shiftamt.s64 %r0, %rd1;",
            &[("%rd1", u64::MAX)],
            0xffff_ffff,
        ),
        ("brev.b32 %r0, %r1;", &[("%r1", 0x8000_0006)], 0x6000_0001),
        (
            "brev.b64 %rd0, %rd1;",
            &[("%rd1", 3)],
            0xc000_0000_0000_0000,
        ),
    ]);
}

#[test]
fn the_nth_set_bit() {
    // Bits 0, 4, 5, 31.
    let rows = [
        ("fns.b32 %r0, %r1, 4, 0;", 4),
        ("fns.b32 %r0, %r1, 3, 0;", 0xffff_ffff),
        ("fns.b32 %r0, %r1, 0, 1;", 0),
        ("fns.b32 %r0, %r1, 1, 1;", 4),
        ("fns.b32 %r0, %r1, 4, 2;", 5),
        ("fns.b32 %r0, %r1, 4, 3;", 31),
        ("fns.b32 %r0, %r1, 4, 4;", 0xffff_ffff),
        ("fns.b32 %r0, %r1, 31, 1;", 31),
        ("fns.b32 %r0, %r1, 31, -1;", 31),
        ("fns.b32 %r0, %r1, 31, -2;", 5),
        ("fns.b32 %r0, %r1, 30, -3;", 0),
        ("fns.b32 %r0, %r1, 30, -4;", 0xffff_ffff),
        ("fns.b32 %r0, %r1, 32, 1;", 0xffff_ffff),
        ("fns.b32 %r0, %r1, 32, -1;", 0xffff_ffff),
        ("fns.b32 %r0, %r1, 0, -2147483648;", 0xffff_ffff),
        ("fns.b32 %r0, %r1, 0, 2147483647;", 0xffff_ffff),
    ];
    for (instruction, wanted) in rows {
        let found = eval(instruction, &[("%r1", 0x8000_0031)], "%r0");
        assert_eq!(found, wanted, "{instruction}");
    }
}

#[test]
fn fields() {
    let word = ("%r1", 0x8765_4321);
    let double = ("%rd1", 0x8765_4321_0fed_cba9);
    check(&[
        ("bfe.u32 %r0, %r1, 4, 8;", &[word], 0x32),
        ("bfe.s32 %r0, %r1, 4, 8;", &[word], 0x32),
        ("bfe.s32 %r0, %r1, 28, 4;", &[word], 0xffff_fff8),
        ("bfe.u32 %r0, %r1, 28, 4;", &[word], 8),
        // Length 0 is 0, whatever the sign.
        ("bfe.s32 %r0, %r1, 31, 0;", &[word], 0),
        ("bfe.u32 %r0, %r1, 0, 0;", &[word], 0),
        // Beyond the top there are copies of the sign, or zeros.
        ("bfe.s32 %r0, %r1, 28, 8;", &[word], 0xffff_fff8),
        ("bfe.u32 %r0, %r1, 28, 8;", &[word], 8),
        ("bfe.s32 %r0, %r1, 40, 3;", &[word], 0xffff_ffff),
        ("bfe.u32 %r0, %r1, 40, 3;", &[word], 0),
        ("bfe.u32 %r0, %r1, 0, 32;", &[word], 0x8765_4321),
        ("bfe.s32 %r0, %r1, 0, 255;", &[word], 0x8765_4321),
        // The low 8 bits of the numbers count.
        (
            "bfe.u32 %r0, %r1, %r2, %r3;",
            &[word, ("%r2", 260), ("%r3", 264)],
            0x32,
        ),
        ("bfe.u64 %rd0, %rd1, 32, 8;", &[double], 0x21),
        (
            "bfe.s64 %rd0, %rd1, 60, 4;",
            &[double],
            0xffff_ffff_ffff_fff8,
        ),
        ("bfe.s64 %rd0, %rd1, 70, 1;", &[double], u64::MAX),
        ("bfe.u64 %rd0, %rd1, 0, 64;", &[double], double.1),
        ("bfe.s64 %rd0, %rd1, 3, 0;", &[double], 0),
        // Of 64 bits, an H100 takes the numbers as they are.
        ("bfe.u64 %rd0, %rd1, %r2, 8;", &[double, ("%r2", 256)], 0),
        (
            "bfe.u64 %rd0, %rd1, 32, %r2;",
            &[double, ("%r2", 256)],
            0x8765_4321,
        ),
        (
            "bfi.b32 %r0, %r2, %r1, 4, 8;",
            &[word, ("%r2", 0xffff_ffaa)],
            0x8765_4aa1,
        ),
        (
            "bfi.b32 %r0, %r2, %r1, 4, 0;",
            &[word, ("%r2", 0xffff_ffff)],
            0x8765_4321,
        ),
        (
            "bfi.b32 %r0, %r2, %r1, 28, 8;",
            &[word, ("%r2", 0xab)],
            0xb765_4321,
        ),
        (
            "bfi.b32 %r0, %r2, %r1, 32, 8;",
            &[word, ("%r2", 0xab)],
            0x8765_4321,
        ),
        (
            "bfi.b32 %r0, %r2, %r1, 0, 32;",
            &[word, ("%r2", 0xab)],
            0xab,
        ),
        (
            "bfi.b32 %r0, %r2, %r1, 8, 255;",
            &[word, ("%r2", 0xab)],
            0xab21,
        ),
        (
            "bfi.b64 %rd0, %rd2, %rd1, 32, 32;",
            &[double, ("%rd2", 7)],
            0x7_0fed_cba9,
        ),
        (
            "bfi.b64 %rd0, %rd2, %rd1, 60, 64;",
            &[double, ("%rd2", 0x1f)],
            0xf765_4321_0fed_cba9,
        ),
        (
            "bfi.b64 %rd0, %rd2, %rd1, 64, 64;",
            &[double, ("%rd2", 7)],
            double.1,
        ),
    ]);
}

#[test]
fn masks_and_extensions() {
    let word = ("%r1", 0x8765_4381);
    check(&[
        ("bmsk.clamp.b32 %r0, 4, 8;", &[], 0xff0),
        ("bmsk.clamp.b32 %r0, 28, 8;", &[], 0xf000_0000),
        ("bmsk.clamp.b32 %r0, 32, 8;", &[], 0),
        ("bmsk.clamp.b32 %r0, 4, 0;", &[], 0),
        ("bmsk.clamp.b32 %r0, 4, 32;", &[], 0xffff_fff0),
        ("bmsk.clamp.b32 %r0, -1, -1;", &[], 0),
        ("bmsk.wrap.b32 %r0, 36, 40;", &[], 0xff0),
        ("bmsk.wrap.b32 %r0, 4, 32;", &[], 0),
        ("bmsk.wrap.b32 %r0, 31, 31;", &[], 0x8000_0000),
        ("szext.clamp.u32 %r0, %r1, 8;", &[word], 0x81),
        ("szext.clamp.s32 %r0, %r1, 8;", &[word], 0xffff_ff81),
        ("szext.clamp.s32 %r0, %r1, 7;", &[word], 1),
        ("szext.clamp.s32 %r0, %r1, 0;", &[word], 0),
        ("szext.clamp.u32 %r0, %r1, 32;", &[word], 0x8765_4381),
        ("szext.clamp.s32 %r0, %r1, -1;", &[word], 0x8765_4381),
        ("szext.wrap.s32 %r0, %r1, 40;", &[word], 0xffff_ff81),
        ("szext.wrap.u32 %r0, %r1, 32;", &[word], 0),
        ("szext.wrap.s32 %r0, %r1, 32;", &[word], 0),
        ("szext.wrap.u32 %r0, %r1, 41;", &[word], 0x181),
    ]);
}
