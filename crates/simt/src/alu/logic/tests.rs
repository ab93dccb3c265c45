use crate::tests::lanes::{agree, check, values};
use crate::tests::{State, eval, program};
use proptest::prelude::*;

#[test]
fn bits() {
    check(&[
        ("and.b32 %r0, %r1, 0xff00;", &[("%r1", 0x1234_5678)], 0x5600),
        ("or.b32 %r0, %r1, 1;", &[("%r1", 0x1234_5678)], 0x1234_5679),
        (
            "xor.b32 %r0, %r1, -1;",
            &[("%r1", 0x1234_5678)],
            0xedcb_a987,
        ),
        ("and.b16 %h0, %h1, -256;", &[("%h1", 0x1234)], 0x1200),
        ("xor.b16 %h0, %h1, -1;", &[("%h1", 0x1234)], 0xedcb),
        ("not.b16 %h0, %h1;", &[("%h1", 0)], 0xffff),
        ("not.b32 %r0, %r1;", &[("%r1", 0)], 0xffff_ffff),
        ("not.b64 %rd0, %rd1;", &[("%rd1", 1)], u64::MAX - 1),
        ("or.b64 %rd0, %rd1, 1;", &[("%rd1", 1 << 63)], 1 << 63 | 1),
        ("cnot.b16 %h0, %h1;", &[("%h1", 0)], 1),
        ("cnot.b32 %r0, %r1;", &[("%r1", 2)], 0),
        ("cnot.b64 %rd0, %rd1;", &[("%rd1", 0)], 1),
    ]);
}

#[test]
fn predicates() {
    for (instruction, wanted) in [
        ("and.pred %p0, %p1, %p2;", 0x8),
        ("or.pred %p0, %p1, %p2;", 0xe),
        ("xor.pred %p0, %p1, %p2;", 0x6),
        ("not.pred %p0, %p1;", 0xffff_fff3),
        ("and.pred %p0, %p1, !%p2;", 0x4),
        ("or.pred %p0, !%p1, %p2;", 0xffff_fffb),
        ("xor.pred %p0, !%p1, !%p2;", 0x6),
        ("not.pred %p0, !%p1;", 0xc),
        // A constant is true or false.
        ("xor.pred %p0, %p1, -1;", 0xffff_fff3),
        ("and.pred %p0, %p1, 1;", 0xc),
        ("or.pred %p0, %p1, 0;", 0xc),
    ] {
        let inputs = [("%p1", 0xc), ("%p2", 0xa)];
        assert_eq!(eval(instruction, &inputs, "%p0"), wanted, "{instruction}");
    }
    let state = State::new()
        .set("%p0", 0xff)
        .run_on("not.pred %p0, %p0;", 0x0f0f);
    assert_eq!(state.get("%p0"), 0x0ff0);
}

#[test]
fn shifts_beyond_the_width() {
    for by in [32u64, 33, 255, 256, 0x8000_0000, 0xffff_ffff] {
        let by = ("%r2", by);
        check(&[
            ("shl.b32 %r0, %r1, %r2;", &[("%r1", 0xffff_ffff), by], 0),
            ("shr.u32 %r0, %r1, %r2;", &[("%r1", 0xffff_ffff), by], 0),
            ("shr.b32 %r0, %r1, %r2;", &[("%r1", 0xffff_ffff), by], 0),
            (
                "shr.s32 %r0, %r1, %r2;",
                &[("%r1", 0x8000_0000), by],
                0xffff_ffff,
            ),
            ("shr.s32 %r0, %r1, %r2;", &[("%r1", 0x7fff_ffff), by], 0),
            ("shl.b16 %h0, %h1, %r2;", &[("%h1", 0xffff), by], 0),
            ("shr.u16 %h0, %h1, %r2;", &[("%h1", 0xffff), by], 0),
            ("shr.s16 %h0, %h1, %r2;", &[("%h1", 0x8000), by], 0xffff),
        ]);
    }
    check(&[
        ("shl.b16 %h0, %h1, 15;", &[("%h1", 3)], 0x8000),
        ("shl.b16 %h0, %h1, 16;", &[("%h1", 0xffff)], 0),
        ("shr.s16 %h0, %h1, 4;", &[("%h1", 0x8000)], 0xf800),
        ("shr.b16 %h0, %h1, 15;", &[("%h1", 0x8000)], 1),
        ("shl.b32 %r0, %r1, 31;", &[("%r1", 3)], 0x8000_0000),
        (
            "shr.s32 %r0, %r1, 31;",
            &[("%r1", 0x8000_0000)],
            0xffff_ffff,
        ),
        ("shl.b64 %rd0, %rd1, 63;", &[("%rd1", 3)], 1 << 63),
        ("shl.b64 %rd0, %rd1, 64;", &[("%rd1", u64::MAX)], 0),
        ("shr.u64 %rd0, %rd1, 64;", &[("%rd1", u64::MAX)], 0),
        ("shr.b64 %rd0, %rd1, 63;", &[("%rd1", 1 << 63)], 1),
        ("shr.s64 %rd0, %rd1, 64;", &[("%rd1", 1 << 63)], u64::MAX),
        ("shr.s64 %rd0, %rd1, -1;", &[("%rd1", 1 << 62)], 0),
    ]);
}

#[test]
fn funnels() {
    let words = |by| [("%r1", 0x89ab_cdef), ("%r2", 0x0123_4567), ("%r3", by)];
    for (by, left, right) in [
        (0, 0x0123_4567, 0x89ab_cdef),
        (8, 0x2345_6789, 0x6789_abcd),
        (31, 0xc4d5_e6f7, 0x0246_8acf),
    ] {
        for mode in ["clamp", "wrap"] {
            let funnel = |direction| {
                let instruction = format!("shf.{direction}.{mode}.b32 %r0, %r1, %r2, %r3;");
                eval(&instruction, &words(by), "%r0")
            };
            assert_eq!(funnel("l"), left, "left by {by}, {mode}");
            assert_eq!(funnel("r"), right, "right by {by}, {mode}");
        }
    }
    check(&[
        (
            "shf.l.clamp.b32 %r0, %r1, %r2, %r3;",
            &words(32),
            0x89ab_cdef,
        ),
        (
            "shf.r.clamp.b32 %r0, %r1, %r2, %r3;",
            &words(32),
            0x0123_4567,
        ),
        (
            "shf.l.clamp.b32 %r0, %r1, %r2, %r3;",
            &words(0xffff_ffff),
            0x89ab_cdef,
        ),
        (
            "shf.l.wrap.b32 %r0, %r1, %r2, %r3;",
            &words(40),
            0x2345_6789,
        ),
        (
            "shf.r.wrap.b32 %r0, %r1, %r2, %r3;",
            &words(64),
            0x89ab_cdef,
        ),
    ]);
}

#[test]
fn permutations() {
    // Bytes 0 to 7 are 10, 91, 12, 93, 14, 95, 16, 97: the odd ones have the sign.
    let permuted = |mode: &str, select: u64| {
        eval(
            &format!("prmt.b32{mode} %r0, %r1, %r2, %r3;"),
            &[("%r1", 0x9312_9110), ("%r2", 0x9716_9514), ("%r3", select)],
            "%r0",
        )
    };
    assert_eq!(permuted("", 0x3210), 0x9312_9110);
    assert_eq!(permuted("", 0x7654), 0x9716_9514);
    assert_eq!(permuted("", 0x0257), 0x1012_9597);
    // The top bit of a selector asks for copies of the byte's sign.
    assert_eq!(permuted("", 0x89ab), 0x00ff_00ff);
    assert_eq!(permuted("", 0xfedc), 0xff00_ff00);
    assert_eq!(permuted("", 0xffff_8a90), 0x0000_ff10);
    // The ISA's tables of the modes, the highest byte first.
    for (mode, bytes) in [
        (
            ".f4e",
            [[3, 2, 1, 0], [4, 3, 2, 1], [5, 4, 3, 2], [6, 5, 4, 3]],
        ),
        (
            ".b4e",
            [[5, 6, 7, 0], [6, 7, 0, 1], [7, 0, 1, 2], [0, 1, 2, 3]],
        ),
        (
            ".rc8",
            [[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]],
        ),
        (
            ".ecl",
            [[3, 2, 1, 0], [3, 2, 1, 1], [3, 2, 2, 2], [3, 3, 3, 3]],
        ),
        (
            ".ecr",
            [[0, 0, 0, 0], [1, 1, 1, 0], [2, 2, 1, 0], [3, 2, 1, 0]],
        ),
        (
            ".rc16",
            [[1, 0, 1, 0], [3, 2, 3, 2], [1, 0, 1, 0], [3, 2, 3, 2]],
        ),
    ] {
        for select in 0..8 {
            let wanted = bytes[select % 4].iter().fold(0, |word, byte| {
                word << 8 | [0x10, 0x91, 0x12, 0x93, 0x14, 0x95, 0x16, 0x97][*byte]
            });
            assert_eq!(permuted(mode, select as u64), wanted, "{mode} {select}");
        }
    }
    assert_eq!(
        eval(
            "prmt.f4e.b32 %r0, %r1, %r2, 1;",
            &[("%r1", 0x0403_0201), ("%r2", 5)],
            "%r0"
        ),
        0x0504_0302
    );
}

#[test]
fn functions_of_three_bits() {
    let inputs = [("%r1", 0xf0), ("%r2", 0xcc), ("%r3", 0xaa)];
    // With the ISA's constants for sources the result is the table itself.
    for table in 0..256u64 {
        let found = eval(
            &format!("lop3.b32 %r0, %r1, %r2, %r3, {table};"),
            &inputs,
            "%r0",
        );
        assert_eq!(found & 0xff, table);
    }
    // a & b | c: bits 8 and up of the sources are zero.
    assert_eq!(
        eval("lop3.b32 %r0, %r1, %r2, %r3, 0xea;", &inputs, "%r0"),
        0xea
    );
    assert_eq!(
        eval("lop3.b32 %r0, %r1, %r2, %r3, 0x1;", &inputs, "%r0"),
        0xffff_ff01
    );
}

#[test]
fn functions_of_three_bits_with_a_predicate() {
    let lanes = std::array::from_fn(|lane| lane as u64 & 1);
    // a is 1 in odd lanes; q is true in the lower 16.
    let run = |instruction: &str| {
        State::new()
            .set_lanes("%r1", lanes)
            .set("%p1", 0xffff)
            .run(instruction)
    };
    for (instruction, wanted) in [
        ("lop3.or.b32 %r0|%p0, %r1, 0, 0, 0xf0, %p1;", 0xaaaa_ffff),
        ("lop3.and.b32 %r0|%p0, %r1, 0, 0, 0xf0, %p1;", 0x0000_aaaa),
        ("lop3.or.b32 %r0|%p0, %r1, 0, 0, 0xf0, !%p1;", 0xffff_aaaa),
        ("lop3.and.b32 %r0|%p0, %r1, 0, 0, 0xf0, !%p1;", 0xaaaa_0000),
    ] {
        let state = run(instruction);
        assert_eq!(state.get("%p0"), wanted, "{instruction}");
        assert_eq!(state.lanes("%r0"), lanes, "{instruction}");
    }
    let state = run("lop3.and.b32 _|%p0, %r1, 0, 0, 0xf0, %p1;");
    assert_eq!(state.get("%p0"), 0xaaaa);
    assert_eq!(state.get("%r0"), 0);
}

#[test]
fn what_is_no_instruction_is_refused() {
    for (instruction, message) in [
        ("and.b32 %r0, %r1;", "`and.b32` takes 3 operands, not 2"),
        ("and.pred %p0, %p1;", "`and.pred` takes 3 operands, not 2"),
        (
            "not.pred %p0, %p1, %p2;",
            "`not.pred` takes 2 operands, not 3",
        ),
        (
            "and.pred %p0, %p1, %r2;",
            "a register of 32 bits stands where a predicate belongs",
        ),
        (
            "and.u32 %r0, %r1, %r2;",
            "instruction `and.u32` is not supported",
        ),
        (
            "shl.b64 %rd0, %rd1, %rd2;",
            "register `%rd2` has 64 bits, and the instruction's type 32",
        ),
        (
            "lop3.b32 %r0, %r1, %r2, %r3;",
            "`lop3.b32` takes 5 operands, not 4",
        ),
        (
            "lop3.b32 %r0, %r1, %r2, %r3, %r4;",
            "a constant is expected here",
        ),
        (
            "lop3.b32 %r0|%p0, %r1, %r2, %r3, 1;",
            "a register is expected here",
        ),
        (
            "lop3.or.b32 %r0, %r1, %r2, %r3, 1, %p0;",
            "`lop3.or.b32` writes a register and a predicate: `d|p`",
        ),
        (
            "lop3.xor.b32 %r0|%p0, %r1, %r2, %r3, 1, %p0;",
            "instruction `lop3.xor.b32` is not supported",
        ),
        (
            "prmt.b32.xyz %r0, %r1, %r2, %r3;",
            "instruction `prmt.b32.xyz` is not supported",
        ),
    ] {
        let refusal = program(instruction).expect_err(instruction);
        assert_eq!(refusal.message, message, "{instruction}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn against_plain_rust(v in values()) {
        for (bits, prefix) in [("b16", "%h"), ("b32", "%r"), ("b64", "%rd")] {
            let [d, a, b] = [0, 1, 2].map(|n| format!("{prefix}{n}"));
            agree(&format!("and.{bits}"), [&d, &a, &b], &v, |v| v[0] & v[1]);
            agree(&format!("or.{bits}"), [&d, &a, &b], &v, |v| v[0] | v[1]);
            agree(&format!("xor.{bits}"), [&d, &a, &b], &v, |v| v[0] ^ v[1]);
            agree(&format!("not.{bits}"), [&d, &a], &v, |v| !v[0]);
            agree(&format!("cnot.{bits}"), [&d, &a], &v, |v| (v[0] == 0).into());
            let [width, u, s] = ["b", "u", "s"].map(|sign| bits.replace('b', sign));
            let n: u32 = width[1..].parse().expect("a width");
            agree(&format!("shl.{bits}"), [&d, &a, "%r2"], &v, |v| {
                if v[1] < 64 { v[0] << v[1] } else { 0 }
            });
            agree(&format!("shr.{u}"), [&d, &a, "%r2"], &v, |v| {
                if v[1] < 64 { v[0] >> v[1] } else { 0 }
            });
            agree(&format!("shr.{s}"), [&d, &a, "%r2"], &v, |v| {
                let extended = (v[0] << (64 - n)).cast_signed() >> (64 - n);
                (extended >> v[1].min(63)).cast_unsigned()
            });
        }
        for (op, f) in [
            ("and", (|a, b| a & b) as fn(u64, u64) -> u64),
            ("or", |a, b| a | b),
            ("xor", |a, b| a ^ b),
        ] {
            agree(&format!("{op}.pred"), ["%p0", "%p1", "%p2"], &v, |v| f(v[0], v[1]));
        }
        agree("prmt.b32", ["%r0", "%r1", "%r2", "%r3"], &v, |v| {
            let bytes: Vec<u8> = [v[0] as u32, v[1] as u32].iter().flat_map(|w| w.to_le_bytes()).collect();
            (0..4).fold(0, |word, at| {
                let nibble = v[2] >> (4 * at) & 15;
                let byte = bytes[nibble as usize & 7];
                let byte = if nibble < 8 { byte } else { (byte.cast_signed() >> 7).cast_unsigned() };
                word | u64::from(byte) << (8 * at)
            })
        });
        for mode in ["clamp", "wrap"] {
            let by = |n: u64| if mode == "clamp" { n.min(32) } else { n & 31 };
            let names = ["%r0", "%r1", "%r2", "%r3"];
            let both = |v: &[u64]| v[1] << 32 | v[0];
            agree(&format!("shf.l.{mode}.b32"), names, &v, |v| both(v) << by(v[2]) >> 32);
            agree(&format!("shf.r.{mode}.b32"), names, &v, |v| both(v) >> by(v[2]));
        }
    }
}
