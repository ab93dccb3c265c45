//! Tests that the GPU recording in `crates/simt/difftest` cannot cover: refusals, inactive lanes, ways to write
//! operands, and results that the ISA leaves open or that need another GPU.

mod convert;
#[allow(dead_code, reason = "other modules use the rest of the file")]
#[path = "../src/alu/float/exact.rs"]
mod exact;
mod float;
mod fp8;
mod registers;
mod rounding;
mod special;

use registers::{State, eval, program};

fn f(value: f32) -> u64 {
    u64::from(value.to_bits())
}

fn d(value: f64) -> u64 {
    value.to_bits()
}

/// Checks instructions whose first operand is their result, given the values of registers.
fn check(registers: &[(&str, u64)], rows: &[(&str, u64)]) {
    for (instruction, expected) in rows {
        let to = instruction.split([' ', ',']).nth(1).expect("an operand");
        let found = eval(instruction, registers, to);
        assert_eq!(found, *expected, "{instruction}: {found:#x}, not {expected:#x}");
    }
}

#[test]
fn only_active_lanes_are_written() {
    let lanes: [u64; 32] = std::array::from_fn(|lane| lane as u64);
    let mask = 0x8000_00f0_u32;
    let state = State::new()
        .set_lanes("%r1", lanes)
        .set_lanes("%rd1", lanes)
        .set("%f1", f(2.0))
        .set("%fd1", d(2.0))
        .set("%p0", 0xffff_0000)
        .set("%p1", 0xffff_0000)
        .set("%p2", 0b01_0000)
        .run_on(
            "add.s32 %r0, %r1, 1; add.s64 %rd0, %rd1, 1; add.f32 %f0, %f1, %f1; add.f64 %fd0, %fd1, %fd1;\
             cvt.u64.u32 %rd2, %r0; mov.b32 %r2, %r0; set.eq.u32.u32 %r3, 0, 0; selp.b32 %r4, 4, 5, %p2;\
             setp.eq.s32 %p0, 0, 0; not.pred %p1, %p1; mov.pred %p3, 1;",
            mask,
        );
    for (lane, number) in lanes.into_iter().enumerate() {
        let active = mask >> lane & 1 == 1;
        for (name, expected) in [
            ("%r0", number + 1),
            ("%rd0", number + 1),
            ("%f0", f(4.0)),
            ("%fd0", d(4.0)),
            ("%rd2", number + 1),
            ("%r2", number + 1),
            ("%r3", 0xffff_ffff),
            ("%r4", if lane == 4 { 4 } else { 5 }),
        ] {
            let expected = if active { expected } else { 0 };
            assert_eq!(state.lanes(name)[lane], expected, "{name}, lane {lane}");
        }
    }
    assert_eq!(state.get("%p0"), 0xffff_00f0);
    assert_eq!(state.get("%p1"), 0x7fff_00f0);
    assert_eq!(state.get("%p3"), u64::from(mask));
}

#[test]
fn a_guard_chooses_lanes() {
    let state = State::new().set("%p1", 0x0000_ffff).set("%r0", 7).run("@!%p1 add.s32 %r0, %r0, 1;");
    assert_eq!(state.lanes("%r0")[15], 7);
    assert_eq!(state.lanes("%r0")[16], 8);
}

#[test]
fn inactive_lanes_keep_their_carry() {
    let state = State::new()
        .set("%p0", 0x0000_00ff)
        .set("%r1", 0xffff_ffff)
        .run("add.cc.u32 %r2, %r1, 1; @%p0 add.cc.u32 %r2, 0, 0; addc.u32 %r3, 0, 0;");
    assert_eq!(state.lanes("%r3")[7], 0);
    assert_eq!(state.lanes("%r3")[8], 1);
}

#[test]
fn a_function_has_one_carry_flag() {
    let chain = "add.cc.u32 %r1, %r2, %r3; addc.cc.u32 %r1, %r2, %r3; addc.u32 %r1, %r2, %r3;";
    let func = &program(chain).expect("known instructions").functions[0];
    assert_eq!(func.preds, 8 + 1);
    let unused = &program("addc.u32 %r1, %r2, %r3;").expect("known").functions[0];
    assert_eq!(unused.preds, 8 + 1);
}

#[test]
fn a_result_may_be_discarded() {
    let lanes = std::array::from_fn(|lane| lane as u64 & 1);
    let state = State::new()
        .set_lanes("%r1", lanes)
        .set("%p2", 0xffff)
        .run("setp.eq.s32 _|%p1, %r1, 0; lop3.and.b32 _|%p3, %r1, 0, 0, 0xf0, %p2; mov.b32 {_, %h1}, 0x12345;");
    assert_eq!((state.get("%p0"), state.get("%p1")), (0, 0xaaaa_aaaa));
    assert_eq!((state.get("%r0"), state.get("%p3")), (0, 0xaaaa));
    assert_eq!(state.get("%h1"), 1);
}

#[test]
fn operands_are_written_in_many_ways() {
    let registers = [("%r1", 5), ("%h1", 0xffff), ("%f1", f(2.0)), ("%fd1", d(2.0)), ("%p1", 0xc)];
    check(
        &registers,
        &[
            ("mad.lo.s32 %r1, %r1, %r1, %r1;", 30),
            ("xor.b32 %r0, %r1, -1;", 0xffff_fffa),
            ("and.b16 %h0, %h1, -256;", 0xff00),
            ("mul.wide.s16 %r0, %h1, -3;", 3),
            ("mul.wide.u16 %r0, %h1, 65535;", 0xfffe_0001),
            ("mul.wide.s32 %rd0, %r1, -4;", u64::MAX - 19),
            ("bmsk.clamp.b32 %r0, 28, 8;", 0xf000_0000),
            ("setp.gt.and.u32 %p0, 16, %r1, %p1;", 0xc),
            ("setp.eq.s16 %p0, %h1, -1;", 0xffff_ffff),
            ("setp.ge.f32 %p0, %f1, 0fBF800000;", 0xffff_ffff),
            ("setp.gt.f64 %p0, %fd1, 0d3FF0000000000000;", 0xffff_ffff),
            ("selp.s32 %r0, 1, -1, %p0;", 0xffff_ffff),
            ("selp.b32 %r0, %r1, 2, 1;", 5),
            // A constant predicate is true or false.
            ("xor.pred %p0, %p1, -1;", 0xffff_fff3),
            ("and.pred %p0, %p1, 1;", 0xc),
            ("or.pred %p0, %p1, 0;", 0xc),
            ("not.pred %p0, !%p1;", 0xc),
            ("mov.pred %p0, 1;", 0xffff_ffff),
            ("mov.u32 %r0, -1;", 0xffff_ffff),
            ("mov.u16 %h0, -1;", 0xffff),
            ("mov.s64 %rd0, -2;", u64::MAX - 1),
            ("mov.f32 %f0, 0f3F800000;", f(1.0)),
            ("mov.f32 %f0, 1.0;", f(1.0)),
            ("mov.f64 %fd0, 0d3FF0000000000000;", d(1.0)),
            ("mov.u32 %r0, WARP_SZ;", 32),
            ("mov.b64 %rd0, {%r1, 0};", 5),
            ("cvt.u64.u32 %rd0, 7;", 7),
            ("cvt.rn.f32.s32 %f0, -7;", f(-7.0)),
            ("add.f32 %f0, %f1, 0f3F800000;", f(3.0)),
            ("mul.f64 %fd0, %fd1, 0d4000000000000000;", d(4.0)),
            // Any 32-bit register type is accepted, and modifiers may come in another order.
            ("add.f32 %r0, %f1, %f1;", f(4.0)),
            ("prmt.f4e.b32 %r0, %r1, 6, 1;", 0x0600_0000),
            ("max.s32.relu %r0, -1, -2;", 0),
        ],
    );
    assert!(program("cvt.u32.u32 _, %r1;").is_err());
}

#[test]
fn special_registers_and_addresses_are_operands() {
    for body in [
        "cvt.u64.u32 %rd0, %tid.x;",
        "mov.u32 %r1, %tid.x;",
        "mov.u16 %h1, %tid.x;",
        "mov.u64 %rd1, %gridid;",
        "mov.b32 %r1, %laneid;",
        "mov.b64 %rd1, %clock64;",
    ] {
        assert!(program(body).is_ok(), "{body}");
    }
    let body = ".shared .align 4 .b8 a[16];\n.shared .align 4 .b8 b[16];\n\
                mov.u32 %r1, b;\nmov.u64 %rd1, b+4;";
    let state = State::new().run(body);
    assert_eq!(state.get("%rd1"), state.get("%r1") + 4);
}

/// The ISA leaves these results open; simt returns the same results as an H100.
#[test]
fn results_that_the_isa_leaves_open() {
    check(
        &[("%r1", 5), ("%h1", 9), ("%rd1", 1 << 63)],
        &[
            ("div.u32 %r0, %r1, %r2;", 0xffff_ffff),
            ("div.s32 %r0, %r1, %r2;", 0xffff_ffff),
            ("rem.u32 %r0, %r1, %r2;", 0xffff_ffff),
            ("rem.s32 %r0, %r1, %r2;", 0xffff_ffff),
            ("div.u16 %h0, %h1, %h2;", 0xffff),
            ("div.s16 %h0, %h1, %h2;", 0xffff),
            ("rem.u16 %h0, %h1, %h2;", 0xffff),
            ("div.u64 %rd0, %rd1, %rd2;", u64::MAX),
            ("div.s64 %rd0, %rd1, %rd2;", u64::MAX),
            ("rem.u64 %rd0, %rd1, %rd2;", u64::MAX),
            ("rem.s64 %rd0, %rd1, %rd2;", u64::MAX),
            ("div.s64 %rd0, %rd1, -1;", 1 << 63),
            ("rem.s64 %rd0, %rd1, -1;", 0),
            ("div.s32 %r0, -2147483648, -1;", 0x8000_0000),
            ("rem.s32 %r0, -2147483648, -1;", 0),
            ("div.s16 %h0, -32768, -1;", 0x8000),
            ("rem.s16 %h0, -32768, -1;", 0),
            ("fns.b32 %r0, %r1, 32, 1;", 0xffff_ffff),
            ("fns.b32 %r0, %r1, 32, -1;", 0xffff_ffff),
        ],
    );
}

/// The approximate reciprocal of a double fills only the upper half of the result.
#[test]
fn approximate_reciprocals_have_no_lower_half() {
    for of in [-3.0, -1.0 / 3.0] {
        let found = eval("rcp.approx.ftz.f64 %fd0, %fd1;", &[("%fd1", d(of))], "%fd0");
        assert_eq!(found & 0xffff_ffff, 0);
        assert!((f64::from_bits(found) * of - 1.0).abs() < 2f64.powi(-19));
    }
}

/// Tests instructions of sm_100, which an H200 does not have.
#[test]
fn instructions_of_a_later_gpu() {
    check(
        &[("%f1", f(3.0)), ("%f2", f(-4.0)), ("%f3", f(2.0)), ("%f4", 0x7fff_ffff)],
        &[
            ("min.f32 %f0, %f1, %f2, %f3;", f(-4.0)),
            ("max.abs.f32 %f0, %f1, %f2, %f3;", f(4.0)),
            ("max.f32 %f0, %f4, %f4, %f3;", f(2.0)),
            ("min.NaN.f32 %f0, %f1, %f4, %f3;", 0x7fff_ffff),
            ("cvt.rn.satfinite.tf32.f32 %r0, 0f7F800000;", 0x7f7f_e000),
            ("cvt.rn.relu.satfinite.tf32.f32 %r0, %f2;", 0),
        ],
    );
}
