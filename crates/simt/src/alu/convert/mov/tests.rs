#![allow(clippy::unwrap_used)]

use crate::tests::{State, eval, program};

#[test]
fn registers_of_every_width() {
    assert_eq!(
        eval("mov.b32 %r1, %r0;", &[("%r0", 0xdead_beef)], "%r1"),
        0xdead_beef
    );
    assert_eq!(
        eval("mov.f32 %f1, %f0;", &[("%f0", 0x7f80_0001)], "%f1"),
        0x7f80_0001
    );
    assert_eq!(eval("mov.u16 %h1, %h0;", &[("%h0", 0xbeef)], "%h1"), 0xbeef);
    assert_eq!(
        eval("mov.b64 %rd1, %fd0;", &[("%fd0", u64::MAX - 4)], "%rd1"),
        u64::MAX - 4
    );
    assert_eq!(eval("mov.f64 %fd1, %fd0;", &[("%fd0", 7)], "%fd1"), 7);
    assert_eq!(eval("mov.pred %p1, %p0;", &[("%p0", 0xa5)], "%p1"), 0xa5);
    assert_eq!(eval("mov.pred %p1, 1;", &[], "%p1"), 0xffff_ffff);
}

#[test]
fn immediates_take_the_type_s_form() {
    assert_eq!(eval("mov.u32 %r1, -1;", &[], "%r1"), 0xffff_ffff);
    assert_eq!(eval("mov.u16 %h1, -1;", &[], "%h1"), 0xffff);
    assert_eq!(eval("mov.s64 %rd1, -2;", &[], "%rd1"), u64::MAX - 1);
    assert_eq!(eval("mov.f32 %f1, 0f3F800000;", &[], "%f1"), 0x3f80_0000);
    assert_eq!(eval("mov.f32 %f1, 1.0;", &[], "%f1"), 0x3f80_0000);
    assert_eq!(
        eval("mov.f64 %fd1, 0d3FF0000000000000;", &[], "%fd1"),
        0x3ff0_0000_0000_0000
    );
    assert_eq!(eval("mov.u32 %r1, WARP_SZ;", &[], "%r1"), 32);
}

#[test]
fn special_registers_fit_every_width() {
    for body in [
        "mov.u32 %r1, %tid.x;",
        "mov.u16 %h1, %tid.x;",
        "mov.u64 %rd1, %gridid;",
        "mov.b32 %r1, %laneid;",
        "mov.b64 %rd1, %clock64;",
    ] {
        assert!(program(body).is_ok(), "{body}");
    }
    for (body, message) in [
        ("mov.u64 %rd1, %ctaid.y;", "`%ctaid.y` has 16 or 32 bits"),
        ("mov.u16 %h1, %laneid;", "`%laneid` has 32 bits"),
        (
            "mov.f32 %f1, %tid.x;",
            "`%tid.x` is no floating-point number",
        ),
        ("mov.u32 %r1, %clock64;", "`%clock64` has 64 bits"),
    ] {
        assert_eq!(program(body).unwrap_err().message, message, "{body}");
    }
}

#[test]
fn variables_give_their_addresses() {
    let body = ".shared .align 4 .b8 a[16];\n.shared .align 4 .b8 b[16];\n\
                mov.u32 %r1, b;\nmov.u64 %rd1, b+4;";
    let state = State::new().run(body);
    assert_eq!(state.get("%rd1"), state.get("%r1") + 4);
}

#[test]
fn parts_are_put_together_lowest_first() {
    let parts = [
        ("%h0", 0x1122),
        ("%h1", 0x3344),
        ("%h2", 0x5566),
        ("%h3", 0x7788),
    ];
    let bytes = [("%c0", 0x22), ("%c1", 0x44), ("%c2", 0x66), ("%c3", 0x88)];
    assert_eq!(eval("mov.b32 %r0, {%h0, %h1};", &parts, "%r0"), 0x3344_1122);
    assert_eq!(
        eval("mov.b64 %rd0, {%h0, %h1, %h2, %h3};", &parts, "%rd0"),
        0x7788_5566_3344_1122
    );
    assert_eq!(
        eval("mov.b32 %r0, {%c0, %c1, %c2, %c3};", &bytes, "%r0"),
        0x8866_4422
    );
    assert_eq!(eval("mov.b16 %h4, {%c0, %c1};", &bytes, "%h4"), 0x4422);
    let words = [("%r0", 0xffff_ffff), ("%r1", 0x1234_5678)];
    assert_eq!(
        eval("mov.b64 %rd0, {%r0, %r1};", &words, "%rd0"),
        0x1234_5678_ffff_ffff
    );
    assert_eq!(eval("mov.b64 %rd0, {%r0, 0};", &words, "%rd0"), 0xffff_ffff);
}

#[test]
fn parts_are_taken_apart_lowest_first() {
    let state = State::new()
        .set("%rd0", 0x7788_5566_3344_1122)
        .set("%r0", 0x8877_6655)
        .run(
            "mov.b64 {%r1, %r2}, %rd0;\nmov.b64 {%h0, %h1, %h2, %h3}, %rd0;\n\
             mov.b32 {%h4, _}, %r0;\nmov.b32 {_, %h5}, %r0;\nmov.b32 {%c6, %c7, %c8, %c9}, %r0;\n\
             mov.b16 {%c10, %c11}, %h4;",
        );
    let expected = [
        ("%r1", 0x3344_1122),
        ("%r2", 0x7788_5566),
        ("%h0", 0x1122),
        ("%h1", 0x3344),
        ("%h2", 0x5566),
        ("%h3", 0x7788),
        ("%h4", 0x6655),
        ("%h5", 0x8877),
        ("%c6", 0x55),
        ("%c7", 0x66),
        ("%c8", 0x77),
        ("%c9", 0x88),
        ("%c10", 0x55),
        ("%c11", 0x66),
    ];
    for (name, value) in expected {
        assert_eq!(state.get(name), value, "{name}");
    }
}

#[test]
fn only_the_lanes_of_the_mask_are_written() {
    let state = State::new()
        .set("%r0", 5)
        .set("%r1", 9)
        .run_on("mov.b32 %r1, %r0;", 0b101);
    assert_eq!(state.lanes("%r1")[..4], [5, 9, 5, 9]);
    let state = State::new()
        .set("%p0", 0b110)
        .set("%p1", 0b001)
        .run_on("mov.pred %p1, %p0;", 0b011);
    assert_eq!(state.get("%p1"), 0b010);
}

#[test]
fn what_is_not_a_mov_is_refused() {
    let refusals = [
        ("mov.b128 %rd1, %rd2;", "not supported"),
        ("mov.b32.x %r1, %r2;", "not supported"),
        ("mov.b32 %r1;", "takes 2 operands"),
        ("mov.u16 %h1, %r2;", "has 32 bits"),
        ("mov.u32 %r1, %rd2;", "has 64 bits"),
        ("mov.u32 %r1, %p2;", "predicate"),
        ("mov.b64 %rd1, {%r1, %r2, %r3};", "3 parts"),
        ("mov.u64 %rd1, {%r1, %r2};", "type .b16"),
        ("mov.b64 {%h1, %h2}, %rd1;", "has 16 bits"),
        ("mov.b64 {%r1, %r2}, {%r3, %r4};", "one operand in braces"),
        ("mov.u64 %rd1, k;", "address of function"),
        ("mov.u32 %r1, nothing;", "nothing"),
    ];
    for (body, words) in refusals {
        let message = program(body).unwrap_err().message;
        assert!(message.contains(words), "{body}: {message}");
    }
}
