//! Values worked out by hand from the ISA's text.

use crate::tests::{State, eval, program};

/// Instructions of one width: what they make of the sources 1, 2, 3 in 0.
fn all(prefix: &str, rows: &[(&str, &[u64], u64)]) {
    for (opcode, sources, wanted) in rows {
        let names: Vec<String> = (0..=sources.len())
            .map(|number| format!("{prefix}{number}"))
            .collect();
        let inputs: Vec<(&str, u64)> = names[1..]
            .iter()
            .map(String::as_str)
            .zip(sources.iter().copied())
            .collect();
        let text = format!("{opcode} {};", names.join(", "));
        let found = eval(&text, &inputs, &names[0]);
        assert_eq!(found, *wanted, "{text} of {sources:#x?}: {found:#x}");
    }
}

#[test]
fn words() {
    all(
        "%r",
        &[
            ("add.s32", &[0x7fff_ffff, 1], 0x8000_0000),
            ("add.u32", &[0xffff_ffff, 2], 1),
            ("add.sat.s32", &[0x7fff_ffff, 1], 0x7fff_ffff),
            ("add.sat.s32", &[0x8000_0000, 0xffff_ffff], 0x8000_0000),
            ("sub.s32", &[0x8000_0000, 1], 0x7fff_ffff),
            ("sub.sat.s32", &[0x8000_0000, 1], 0x8000_0000),
            ("sub.sat.s32", &[0, 0x8000_0000], 0x7fff_ffff),
            ("mul.lo.s32", &[0xffff_ffff, 5], 0xffff_fffb),
            ("mul.hi.u32", &[0xffff_ffff, 0xffff_ffff], 0xffff_fffe),
            ("mul.hi.s32", &[0xffff_ffff, 0xffff_ffff], 0),
            ("mul.hi.s32", &[0x8000_0000, 0x8000_0000], 0x4000_0000),
            ("mul.hi.s32", &[0xffff_ffff, 1], 0xffff_ffff),
            ("mad.lo.u32", &[0x1_0000, 0x1_0000, 7], 7),
            ("mad.lo.s32", &[0xffff_fffe, 3, 5], 0xffff_ffff),
            ("mad.hi.u32", &[0xffff_ffff, 2, 0xffff_ffff], 0),
            ("mad.hi.s32", &[0xffff_ffff, 2, 1], 0),
            (
                "mad.hi.sat.s32",
                &[0x7fff_ffff, 0x7fff_ffff, 0x7fff_ffff],
                0x7fff_ffff,
            ),
            (
                "mad.hi.sat.s32",
                &[0x8000_0000, 0x7fff_ffff, 0x8000_0000],
                0x8000_0000,
            ),
            (
                "mad.hi.s32",
                &[0x7fff_ffff, 0x7fff_ffff, 0x7fff_ffff],
                0xbfff_fffe,
            ),
            // 0xffffff squared is 0xfffffe000001; the upper byte of a source is not read.
            ("mul24.lo.u32", &[0x12ff_ffff, 0xffff_ffff], 0xfe00_0001),
            ("mul24.hi.u32", &[0x12ff_ffff, 0xffff_ffff], 0xffff_fe00),
            // -1 times -1, then the least number of 24 bits, -2^23, times 2^22.
            ("mul24.lo.s32", &[0x00ff_ffff, 0x00ff_ffff], 1),
            ("mul24.hi.s32", &[0x00ff_ffff, 0x00ff_ffff], 0),
            ("mul24.hi.s32", &[0x0080_0000, 0x0040_0000], 0xe000_0000),
            ("mul24.lo.s32", &[0x0080_0000, 0x0040_0000], 0),
            ("mad24.lo.u32", &[0x0100_0003, 4, 0xffff_ffff], 11),
            ("mad24.lo.s32", &[0x00ff_ffff, 4, 1], 0xffff_fffd),
            ("mad24.hi.u32", &[0x0080_0000, 0x0080_0000, 1], 0x4000_0001),
            (
                "mad24.hi.s32",
                &[0x0080_0000, 0x0080_0000, 0x7fff_ffff],
                0xbfff_ffff,
            ),
            (
                "mad24.hi.sat.s32",
                &[0x0080_0000, 0x0080_0000, 0x7fff_ffff],
                0x7fff_ffff,
            ),
            (
                "mad24.hi.sat.s32",
                &[0x0080_0000, 0x007f_ffff, 0x8000_0000],
                0x8000_0000,
            ),
            ("sad.u32", &[1, 0xffff_ffff, 10], 8),
            ("sad.s32", &[1, 0xffff_ffff, 10], 12),
            ("sad.s32", &[0x8000_0000, 0x7fff_ffff, 0], 0xffff_ffff),
            ("div.u32", &[0xffff_ffff, 1], 0xffff_ffff),
            ("div.u32", &[0xffff_ffff, 0xffff_fffe], 1),
            ("div.u32", &[0xffff_fffe, 0xffff_ffff], 0),
            ("div.s32", &[0xffff_fff9, 2], 0xffff_fffd),
            ("div.s32", &[7, 0xffff_fffe], 0xffff_fffd),
            ("div.s32", &[0x8000_0000, 0xffff_ffff], 0x8000_0000),
            ("rem.s32", &[0xffff_fff9, 2], 0xffff_ffff),
            ("rem.s32", &[7, 0xffff_fffe], 1),
            ("rem.s32", &[0x8000_0000, 0xffff_ffff], 0),
            // Division by zero: as ptxas has it.
            ("div.u32", &[0, 0], 0xffff_ffff),
            ("div.s32", &[5, 0], 0xffff_ffff),
            ("div.s32", &[0xffff_fffb, 0], 0xffff_ffff),
            ("rem.u32", &[5, 0], 0xffff_ffff),
            ("rem.s32", &[0xffff_fffb, 0], 0xffff_ffff),
            ("abs.s32", &[0xffff_fffb], 5),
            ("abs.s32", &[0x8000_0000], 0x8000_0000),
            ("neg.s32", &[0x8000_0000], 0x8000_0000),
            ("neg.s32", &[1], 0xffff_ffff),
            ("min.u32", &[1, 0xffff_ffff], 1),
            ("min.s32", &[1, 0xffff_ffff], 0xffff_ffff),
            ("max.u32", &[1, 0xffff_ffff], 0xffff_ffff),
            ("max.s32", &[1, 0xffff_ffff], 1),
            ("min.relu.s32", &[1, 0xffff_ffff], 0),
            ("min.s32.relu", &[1, 2], 1),
            ("max.relu.s32", &[0xffff_fffe, 0xffff_ffff], 0),
        ],
    );
}

#[test]
fn packed() {
    all(
        "%r",
        &[
            ("add.u16x2", &[0xffff_0001, 0x0001_0002], 0x0000_0003),
            ("add.s16x2", &[0x7fff_ffff, 0x0001_0001], 0x8000_0000),
            ("min.u16x2", &[0xffff_0001, 0x0001_ffff], 0x0001_0001),
            ("min.s16x2", &[0xffff_0001, 0x0001_ffff], 0xffff_ffff),
            ("max.u16x2", &[0xffff_0001, 0x0001_ffff], 0xffff_ffff),
            ("max.s16x2", &[0xffff_0001, 0x0001_ffff], 0x0001_0001),
            ("min.relu.s16x2", &[0xffff_0005, 0x0001_0007], 0x0000_0005),
            ("max.s16x2.relu", &[0xffff_8000, 0xfffe_7fff], 0x0000_7fff),
            // 1·1 + 2·2 + 3·3 + 255·255, as bytes; with -1 for each 255.
            ("dp4a.u32.u32", &[0xff03_0201, 0xff03_0201, 1], 65040),
            ("dp4a.s32.s32", &[0xff03_0201, 0xff03_0201, 1], 16),
            ("dp4a.s32.u32", &[0xff00_0000, 0xff00_0000, 0], 0xffff_ff01),
            ("dp4a.u32.s32", &[0x8000_0000, 0x8000_0000, 0], 0xffff_c000),
            // Halves of a with bytes of b: 0xffff and 2 with 3 and 0xff, then with 5 and 7.
            (
                "dp2a.lo.u32.u32",
                &[0x0002_ffff, 0x0705_ff03, 0],
                0x0003_01fb,
            ),
            (
                "dp2a.hi.u32.u32",
                &[0x0002_ffff, 0x0705_ff03, 0],
                0x0005_0009,
            ),
            ("dp2a.lo.s32.s32", &[0x0002_ffff, 0x0705_ff03, 10], 5),
            ("dp2a.hi.s32.u32", &[0x0002_ffff, 0x0705_ff03, 0], 9),
            (
                "dp2a.lo.u32.s32",
                &[0x0002_ffff, 0x0705_ff03, 0],
                0x0002_fffb,
            ),
        ],
    );
}

#[test]
fn halves_stand_in_zeroed_registers() {
    all(
        "%h",
        &[
            ("add.u16", &[0xffff, 2], 1),
            ("add.s16", &[0x7fff, 1], 0x8000),
            ("sub.s16", &[0, 1], 0xffff),
            ("mul.lo.u16", &[0xffff, 0xffff], 1),
            ("mul.hi.u16", &[0xffff, 0xffff], 0xfffe),
            ("mul.hi.s16", &[0xffff, 1], 0xffff),
            ("mad.lo.s16", &[0xffff, 3, 1], 0xfffe),
            ("mad.hi.u16", &[0x8000, 4, 0xffff], 1),
            ("mad.hi.s16", &[0x8000, 4, 1], 0xffff),
            ("sad.u16", &[0, 0xffff, 1], 0),
            ("sad.s16", &[0, 0xffff, 1], 2),
            ("div.u16", &[0xffff, 2], 0x7fff),
            ("div.s16", &[0xffff, 2], 0),
            ("div.s16", &[0x8000, 0xffff], 0x8000),
            ("div.u16", &[9, 0], 0xffff),
            ("div.s16", &[9, 0], 0xffff),
            ("rem.u16", &[0xffff, 0], 0xffff),
            ("rem.u16", &[0xffff, 0x1000], 0x0fff),
            ("rem.s16", &[0xfff9, 4], 0xfffd),
            ("rem.s16", &[0x8000, 0xffff], 0),
            ("abs.s16", &[0x8000], 0x8000),
            ("abs.s16", &[0xffff], 1),
            ("neg.s16", &[1], 0xffff),
            ("min.s16", &[1, 0xffff], 0xffff),
            ("max.u16", &[1, 0xffff], 0xffff),
        ],
    );
}

#[test]
fn doubles() {
    const MAX: u64 = u64::MAX;
    const LEAST: u64 = 1 << 63;
    all(
        "%rd",
        &[
            ("add.u64", &[MAX, 2], 1),
            ("sub.s64", &[LEAST, 1], LEAST - 1),
            ("mul.lo.u64", &[1 << 32, 1 << 32], 0),
            ("mul.hi.u64", &[1 << 32, 1 << 32], 1),
            ("mul.hi.u64", &[MAX, MAX], MAX - 1),
            ("mul.hi.s64", &[MAX, 1], MAX),
            ("mul.hi.s64", &[LEAST, LEAST], 1 << 62),
            ("mad.lo.s64", &[MAX, 3, 4], 1),
            ("mad.hi.u64", &[MAX, MAX, 2], 0),
            ("mad.hi.s64", &[MAX, 1, 2], 1),
            ("sad.u64", &[0, MAX, 1], 0),
            ("sad.s64", &[0, MAX, 1], 2),
            ("div.u64", &[MAX, 3], 0x5555_5555_5555_5555),
            ("div.s64", &[LEAST, MAX], LEAST),
            ("div.s64", &[MAX - 6, 2], MAX - 2),
            ("rem.s64", &[LEAST, MAX], 0),
            ("rem.s64", &[MAX - 6, 2], MAX),
            ("div.u64", &[1, 0], MAX),
            ("div.s64", &[LEAST, 0], MAX),
            ("rem.u64", &[1, 0], MAX),
            ("rem.s64", &[LEAST, 0], MAX),
            ("abs.s64", &[LEAST], LEAST),
            ("neg.s64", &[1], MAX),
            ("min.s64", &[1, MAX], MAX),
            ("max.u64", &[1, MAX], MAX),
            ("min.u64", &[1, MAX], 1),
            ("max.s64", &[1, MAX], 1),
        ],
    );
}

#[test]
fn products_wider_than_their_sources() {
    let halves = [("%h1", 0xffff), ("%h2", 0xfffe), ("%r1", 5)];
    for (instruction, wanted) in [
        ("mul.wide.u16 %r0, %h1, %h2;", 0xfffd_0002),
        ("mul.wide.s16 %r0, %h1, %h2;", 2),
        ("mad.wide.u16 %r0, %h1, %h2, %r1;", 0xfffd_0007),
        ("mad.wide.s16 %r0, %h1, %h2, %r1;", 7),
        // The immediate is a number of 16 bits.
        ("mul.wide.s16 %r0, %h1, -3;", 3),
        ("mul.wide.u16 %r0, %h1, 65535;", 0xfffe_0001),
    ] {
        assert_eq!(eval(instruction, &halves, "%r0"), wanted, "{instruction}");
    }
    let words = [
        ("%r1", 0xffff_ffff),
        ("%r2", 0xffff_fffe),
        ("%rd1", u64::MAX),
    ];
    for (instruction, wanted) in [
        ("mul.wide.u32 %rd0, %r1, %r2;", 0xffff_fffd_0000_0002),
        ("mul.wide.s32 %rd0, %r1, %r2;", 2),
        ("mad.wide.u32 %rd0, %r1, %r2, %rd1;", 0xffff_fffd_0000_0001),
        ("mad.wide.s32 %rd0, %r1, %r2, %rd1;", 1),
        ("mul.wide.s32 %rd0, %r1, 4;", 0xffff_ffff_ffff_fffc),
        ("mul.wide.u32 %rd0, %r1, 4;", 0x3_ffff_fffc),
    ] {
        assert_eq!(eval(instruction, &words, "%rd0"), wanted, "{instruction}");
    }
}

#[test]
fn only_active_lanes_are_written() {
    let lanes = std::array::from_fn(|lane| lane as u64);
    let state = State::new()
        .set_lanes("%r1", lanes)
        .set_lanes("%rd1", lanes)
        .set("%r0", 99)
        .set("%rd0", 99)
        .run_on("add.s32 %r0, %r1, 1; add.s64 %rd0, %rd1, 1;", 0x8000_00f0);
    for lane in 0..32 {
        let active = 0x8000_00f0_u32 >> lane & 1 == 1;
        let wanted = if active { lane as u64 + 1 } else { 99 };
        assert_eq!(state.lanes("%r0")[lane], wanted, "lane {lane}");
        assert_eq!(state.lanes("%rd0")[lane], wanted, "lane {lane}");
    }
}

#[test]
fn a_guard_chooses_lanes() {
    let state = State::new()
        .set("%p1", 0x0000_ffff)
        .set("%r0", 7)
        .run("@!%p1 add.s32 %r0, %r0, 1;");
    assert_eq!(state.lanes("%r0")[15], 7);
    assert_eq!(state.lanes("%r0")[16], 8);
}

#[test]
fn a_destination_may_be_a_source() {
    assert_eq!(
        eval("mad.lo.s32 %r1, %r1, %r1, %r1;", &[("%r1", 5)], "%r1"),
        30
    );
}

#[test]
fn what_is_no_instruction_is_refused() {
    for (instruction, message) in [
        ("add.s32 %r0, %r1;", "`add.s32` takes 3 operands, not 2"),
        (
            "add.s32 %r0, %r1, %r2, %r3;",
            "`add.s32` takes 3 operands, not 4",
        ),
        (
            "add.cc.u32 %r0, %r1;",
            "`add.cc.u32` takes 3 operands, not 2",
        ),
        (
            "add.s32 %r0, %r1, %rd2;",
            "register `%rd2` has 64 bits, and the instruction's type 32",
        ),
        (
            "add.s64 %rd0, %r1, %rd2;",
            "register `%r1` has 32 bits, and the instruction's type 64",
        ),
        (
            "add.s32 %p0, %r1, %r2;",
            "`%p0` is a predicate, and a register of 32 bits belongs here",
        ),
        (
            "popc.b64 %rd0, %rd1;",
            "register `%rd0` has 64 bits, and the instruction's type 32",
        ),
        (
            "add.s32 {%r0, %r1}, %r1, %r2;",
            "a register is expected here",
        ),
        (
            "add.sat.u32 %r0, %r1, %r2;",
            "instruction `add.sat.u32` is not supported",
        ),
        (
            "mul.s32 %r0, %r1, %r2;",
            "instruction `mul.s32` is not supported",
        ),
        (
            "mad.lo.sat.s32 %r0, %r1, %r2, %r3;",
            "instruction `mad.lo.sat.s32` is not supported",
        ),
        (
            "addc.u16 %h0, %h1, %h2;",
            "instruction `addc.u16` is not supported",
        ),
    ] {
        let refusal = program(instruction).expect_err(instruction);
        assert_eq!(refusal.message, message, "{instruction}");
    }
}
