//! Tests of state spaces: their windows, module-scope variables, and local memory.

use super::{PARAMS, bytes, outcome_of, refusal, text, words, words_of};
use simt::memory::{AccessProblem, CONST_WINDOW, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};
use simt::{FaultKind, Module};

const VARIABLES: &str = ".shared .align 8 .b8 s[256];\n.const .align 4 .u32 c[4] = {10, 11, 12, 13};\n\
                         .global .align 4 .u32 g[4] = {20, 21, 22, 23};";

#[test]
fn windows_lie_where_they_are_said_to() {
    let body = "mov.b64 %rd8, 24;\ncvta.shared.u64 %rd9, %rd8;\nst.global.u64 [%rd2], %rd9;\n\
                cvta.to.shared.u64 %rd9, %rd9;\nst.global.u64 [%rd2+8], %rd9;\n\
                cvta.local.u64 %rd9, %rd8;\nst.global.u64 [%rd2+16], %rd9;\n\
                cvta.const.u64 %rd9, %rd8;\nst.global.u64 [%rd2+24], %rd9;\n\
                cvta.param.u64 %rd9, %rd8;\nst.global.u64 [%rd2+32], %rd9;\n\
                cvta.to.param.u64 %rd9, %rd9;\nst.global.u64 [%rd2+40], %rd9;\n\
                cvta.global.u64 %rd9, %rd8;\nst.global.u64 [%rd2+48], %rd9;\n\
                cvta.to.global.u64 %rd9, %rd9;\nst.global.u64 [%rd2+56], %rd9;\n\
                mapa.u64 %rd9, %rd8, 0;\nst.global.u64 [%rd2+64], %rd9;\n\
                mov.b32 %r8, 24;\nmapa.shared::cluster.u32 %r9, %r8, 0;\nst.global.u32 [%rd2+72], %r9;\n\
                mov.b32 %r9, 5;\ngetctarank.shared::cluster.u32 %r9, %r8;\nst.global.u32 [%rd2+76], %r9;";
    let out: Vec<u64> = words(&outcome_of("", body, &[], 80).unwrap());
    let expected =
        [SHARED_WINDOW + 24, 24, LOCAL_WINDOW + 24, CONST_WINDOW + 24, PARAM_WINDOW + 24, 24, 24, 24, 24, 24];
    assert_eq!(out, expected);
}

#[test]
fn isspacep_distinguishes_the_spaces() {
    let windows = [0x2_0000_0000, SHARED_WINDOW, LOCAL_WINDOW, CONST_WINDOW, PARAM_WINDOW];
    let names = ["global", "shared", "local", "const", "param"];
    for (is, window) in windows.iter().enumerate() {
        for (asked, name) in names.iter().enumerate() {
            let body = format!(
                "mov.b64 %rd9, {};\nisspacep.{name} %p1, %rd9;\nselp.u32 %r2, 1, 0, %p1;\n\
                 st.global.u32 [%rd6], %r2;",
                window + 40
            );
            let expected = u32::from(is == asked);
            assert_eq!(words_of("", &body, &[]), [expected; 32], "{window:#x} .{name}");
        }
    }
    let body = "isspacep.shared::cta %p1, %rd1;\nisspacep.shared::cluster %p2, %rd1;\n\
                isspacep.param::entry %p3, %r1;\nselp.u32 %r2, 1, 0, %p1;\nselp.u32 %r3, 1, %r2, %p2;\n\
                selp.u32 %r4, 1, %r3, %p3;\nst.global.u32 [%rd6], %r4;";
    assert_eq!(words_of("", body, &[]), [0; 32]);
    assert!(refusal("isspacep.tex %p1, %rd1;").contains("not supported"));
}

#[test]
fn generic_addresses_reach_every_space() {
    let body = ".local .align 4 .b8 l[8];\nst.shared.u32 [s+4], 7;\nst.local.u32 [l+4], %r1;\n\
                mov.b64 %rd8, s;\ncvta.shared.u64 %rd8, %rd8;\nld.u32 %r2, [%rd8+4];\n\
                mov.b64 %rd8, l;\ncvta.local.u64 %rd8, %rd8;\nld.u32 %r3, [%rd8+4];\n\
                mov.b64 %rd8, c;\ncvta.const.u64 %rd8, %rd8;\nld.u32 %r4, [%rd8+8];\n\
                mov.b64 %rd8, g;\ncvta.global.u64 %rd8, %rd8;\nld.u32 %r5, [%rd8+12];\n\
                mov.b64 %rd8, in;\ncvta.param.u64 %rd8, %rd8;\nld.u64 %rd9, [%rd8];\n\
                mov.b64 %rd8, in;\nld.param.u64 %rd9, [%rd8];\nld.u32 %r6, [%rd9];\n\
                add.u32 %r2, %r2, %r3;\nadd.u32 %r2, %r2, %r4;\nadd.u32 %r2, %r2, %r5;\nadd.u32 %r2, %r2, %r6;\n\
                st.u32 [%rd6], %r2;";
    let expected: Vec<u32> = (0..32).map(|lane| 7 + lane + 12 + 23 + 1000).collect();
    assert_eq!(words_of(VARIABLES, body, bytemuck::cast_slice(&[1000u32])), expected);
}

#[test]
fn a_variable_name_implies_its_space() {
    let body = ".local .align 4 .b8 l[4];\nst.u32 [s+8], 5;\nst.u32 [l], %r1;\nld.u32 %r2, [s+8];\n\
                ld.u32 %r3, [l];\nld.const.u32 %r4, [c+4];\nld.u32 %r5, [g+4];\nld.param.u64 %rd9, [in];\n\
                ld.u32 %r6, [%rd9];\natom.add.u32 %r7, [s+12], 1;\n\
                add.u32 %r2, %r2, %r3;\nadd.u32 %r2, %r2, %r4;\nadd.u32 %r2, %r2, %r5;\nadd.u32 %r2, %r2, %r6;\n\
                add.u32 %r2, %r2, %r7;\nst.u32 [%rd6], %r2;";
    let expected: Vec<u32> = (0..32).map(|lane| 5 + lane + 11 + 21 + 1000 + lane).collect();
    assert_eq!(words_of(VARIABLES, body, bytemuck::cast_slice(&[1000u32])), expected);
}

#[test]
fn lanes_of_one_instruction_reach_different_spaces() {
    // The space depends on the lane modulo 4: 0 is global, 1 shared, 2 local, 3 constant.
    let body = ".local .align 4 .b8 l[128];\nmul.lo.u32 %r9, %r1, 4;\nmov.b64 %rd9, {%r9, 0};\nmov.b64 %rd10, s;\n\
                st.shared.u32 [%r9], 100;\nst.local.u32 [%r9], 200;\n\
                and.b32 %r2, %r1, 3;\nmov.b64 %rd8, %rd5;\nsetp.eq.u32 %p1, %r2, 1;\nsetp.eq.u32 %p2, %r2, 2;\n\
                setp.eq.u32 %p3, %r2, 3;\n@%p1 cvta.shared.u64 %rd8, %rd9;\n@%p2 cvta.local.u64 %rd8, %rd9;\n\
                @%p3 cvta.const.u64 %rd8, c+8;\nld.u32 %r3, [%rd8];\n@!%p3 st.u32 [%rd8], %r1;\n\
                @!%p3 ld.u32 %r4, [%rd8];\nselp.u32 %r4, %r1, %r4, %p3;\nmul.lo.u32 %r4, %r4, 1000;\n\
                add.u32 %r3, %r3, %r4;\nst.global.u32 [%rd6], %r3;";
    let input: Vec<u32> = (0..32).map(|i| i + 300).collect();
    let expected: Vec<u32> = (0..32).map(|lane| lane * 1000 + [lane + 300, 100, 200, 12][lane as usize % 4]).collect();
    assert_eq!(words_of(VARIABLES, body, bytemuck::cast_slice(&input)), expected);
}

#[test]
fn ld_global_reads_constants_by_their_generic_addresses() {
    // Even lanes read the constant, odd lanes the input, as on an H200. A store to the constant is refused.
    let module = ".const .align 4 .u32 c[3] = {10, 11, 12};\n.global .u64 p[2] = {generic(c), c};\n\
                  .const .u64 q = generic(c);";
    let body = "ld.global.u64 %rd8, [p];\nand.b32 %r2, %r1, 1;\nsetp.eq.u32 %p1, %r2, 1;\n\
                @%p1 add.u64 %rd8, %rd5, -4;\nld.global.u32 %r3, [%rd8+4];\nld.const.u64 %rd8, [q];\n\
                ld.volatile.global.u32 %r4, [%rd8+8];\nadd.u32 %r3, %r3, %r4;\nst.global.u32 [%rd6], %r3;";
    let input: Vec<u32> = (0..32).map(|i| i + 300).collect();
    let expected: Vec<u32> = (0..32).map(|lane| [11, lane + 300][lane as usize % 2] + 12).collect();
    let input: &[u8] = bytemuck::cast_slice(&input);
    assert_eq!(words_of(module, body, input), expected);
    for (instruction, what) in [
        ("st.global.u32 [%rd8], 1;", AccessProblem::ReadOnly),
        ("ld.global.u32 %r3, [%rd8+24];", AccessProblem::OutOfBounds),
    ] {
        let body = format!("ld.global.u64 %rd8, [p];\n{instruction}");
        let fault = outcome_of(module, &body, input, 4).unwrap_err();
        let FaultKind::Access { access, .. } = fault.kind else { panic!("{fault}") };
        assert_eq!((access.what, access.space), (what, ptx::ast::Space::Const));
    }
}

#[test]
fn module_scope_variables_have_their_initial_values() {
    let module = ".global .align 8 .u64 pointers[3] = {g, g+8, 77};\n\
                  .global .align 4 .u32 g[4] = {20, 21, 22, 23};\n.global .f32 f = 0f3fc00000;\n\
                  .global .align 2 .u16 partly[4] = {1, 2};\n.const .align 8 .f64 d[2] = {1.5, 2.5};\n\
                  .const .align 1 .b8 text[4] = {104, 105, 33, 0};\n.global .align 4 .b8 zeros[64];\n\
                  .global .v2 .f32 pair = {0f40000000, 0f40400000};\n.global .f64 bits[2] = {0f3fc00000, 1.5};\n\
                  .global .b64 raw = 0f3fc00000;";
    let body = "ld.global.u64 %rd8, [pointers];\nld.global.u32 %r2, [%rd8+4];\n\
                ld.global.u64 %rd8, [pointers+8];\nld.global.u32 %r3, [%rd8];\n\
                ld.global.u32 %r4, [pointers+16];\nst.global.v4.u32 [%rd2], {%r2, %r3, %r4, 0};\n\
                ld.global.f32 %f1, [f];\nst.global.f32 [%rd2+12], %f1;\n\
                ld.global.v4.u16 {%h1, %h2, %h3, %h4}, [partly];\nst.global.v4.u16 [%rd2+16], {%h1, %h2, %h3, %h4};\n\
                ld.const.f64 %fd1, [d+8];\nst.global.f64 [%rd2+24], %fd1;\n\
                ld.const.u32 %r2, [text];\nld.global.u32 %r3, [zeros+60];\n\
                st.global.v2.u32 [%rd2+32], {%r2, %r3};\nld.global.v2.f32 {%f1, %f2}, [pair];\n\
                st.global.v2.f32 [%rd2+40], {%f1, %f2};\nld.global.u64 %rd8, [bits];\nst.global.u64 [%rd2+48], %rd8;\n\
                ld.global.u64 %rd8, [bits+8];\nst.global.u64 [%rd2+56], %rd8;\nld.global.u64 %rd8, [raw];\n\
                st.global.u64 [%rd2+64], %rd8;";
    let out = outcome_of(module, body, &[], 72);
    let out = out.unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(words::<u32>(&out[..12]), [21, 22, 77]);
    assert_eq!(words::<f32>(&out[12..16]), [1.5]);
    assert_eq!(words::<u16>(&out[16..24]), [1, 2, 0, 0]);
    assert_eq!(words::<f64>(&out[24..32]), [2.5]);
    assert_eq!(&out[32..40], b"hi!\0\0\0\0\0");
    assert_eq!(words::<f32>(&out[40..48]), [2.0, 3.0]);
    // ptxas stores the bits of a `0f` constant unchanged.
    let bits = u64::from(1.5f32.to_bits());
    assert_eq!(words::<u64>(&out[48..]), [bits, 1.5f64.to_bits(), bits]);
}

#[test]
fn local_arrays_are_private() {
    // Test every width, at an index that differs between lanes, and read the array back byte by byte.
    for (ty, size, register) in [("u8", 1, "%r3"), ("u16", 2, "%r3"), ("u32", 4, "%r3"), ("u64", 8, "%rd9")] {
        let body = format!(
            ".local .align 8 .b8 a[16];\n.local .align 8 .b8 b[64];\nmov.b64 %rd9, 0x0807060504030201;\n\
             mov.b32 %r3, 0x04030201;\nmul.wide.u32 %rd7, %r1, {size};\nand.b64 %rd7, %rd7, 63;\nmov.b64 %rd8, b;\n\
             add.s64 %rd7, %rd7, %rd8;\nst.local.v2.u64 [a], {{-1, -1}};\nst.local.{ty} [%rd7], {register};\n\
             mov.b32 %r4, 0;\nmov.b32 %r5, 0;\nLOOP:\nld.local.u8 %r6, [%rd8];\nadd.u32 %r5, %r5, %r6;\n\
             add.s64 %rd8, %rd8, 1;\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, 64;\n@%p1 bra LOOP;\n\
             ld.local.{ty} %rd10, [%rd7];\nsetp.ne.u64 %p2, %rd10, 0;\n@%p2 add.u32 %r5, %r5, 1000;\n\
             st.global.u32 [%rd6], %r5;"
        );
        let sum: u32 = (1..=size).sum();
        assert_eq!(words_of("", &body, &[]), [sum + 1000; 32], ".{ty}");
    }
}

#[test]
fn vectors_go_through_local_and_shared_memory() {
    let input = bytes(512);
    for (space, variable) in [("local", ".local .align 16 .b8 v[32];"), ("shared", ".shared .align 16 .b8 v[512];")] {
        let stride = if space == "shared" { 16 } else { 0 };
        let body = format!(
            "{variable}\nmul.wide.u32 %rd4, %r1, 16;\nadd.s64 %rd5, %rd1, %rd4;\nadd.s64 %rd6, %rd2, %rd4;\n\
             mul.lo.u32 %r9, %r1, {stride};\nmov.b32 %r10, v;\nadd.u32 %r9, %r9, %r10;\n\
             ld.global.v2.u64 {{%rd8, %rd9}}, [%rd5];\nst.{space}.v2.u64 [%r9], {{%rd8, %rd9}};\n\
             ld.{space}.v4.u32 {{%r2, %r3, %r4, %r5}}, [%r9];\n\
             st.{space}.v4.u32 [%r9], {{%r2, %r3, %r4, %r5}};\nld.{space}.v8.u16 {{%h1, %h2, %h3, %h4, %h5, %h6, %h7, %h8}}, [%r9];\n\
             st.global.v8.u16 [%rd6], {{%h1, %h2, %h3, %h4, %h5, %h6, %h7, %h8}};"
        );
        let out = outcome_of("", &body, &input, 512);
        assert_eq!(out.unwrap_or_else(|fault| panic!("{fault}")), input, "{space}");
    }
}

#[test]
fn invalid_initial_values() {
    for (module, expected) in [
        (".global .b8 g[4];\n.global .u32 x = g;", "the address of `g` in an element of 4 bytes"),
        (".shared .b8 s[4];\n.global .b128 x = s;", "`x` cannot hold an address"),
        (".const .b8 c[4];\n.global .u8 x = c;", "`x` cannot hold an address"),
        (".global .b8 x[2][1073741824] = {{1}, {2}};", "an initial value of `x` beyond its first 268435456 bytes"),
        (".global .u32 x[2][2][0][4611686018427387904] = {{}, {{}, {{1}}}};", "`x` has no elements"),
        (".global .u32 x[2] = {1, 2, 3};", "`x` has more initial values than elements"),
    ] {
        let text = text(module, PARAMS, "ld.global.u32 %r1, [x];");
        let loaded = Module::from_ptx(text).and_then(|module| module.function("k"));
        let error = loaded.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn initial_values_of_16_bytes() {
    let module = ".global .align 16 .b128 x[2] = {1, 0xfedcba9876543210};";
    let body = "ld.global.v2.u64 {%rd7, %rd8}, [x+16];\nst.global.v2.u64 [%rd2], {%rd7, %rd8};";
    let out = outcome_of(module, body, &[0; 4], 16).unwrap();
    assert_eq!(words::<u64>(&out), [0xfedc_ba98_7654_3210, 0]);
}

#[test]
fn a_function_gets_the_address_of_its_caller_s_local_memory() {
    let module = ".func add(.param .b64 p, .param .b32 n)\n{\n.reg .u64 %rd<4>;\n.reg .u32 %r<4>;\n\
                  .local .align 8 .b8 array[8];\nld.param.u64 %rd1, [p];\nld.param.u32 %r1, [n];\nst.local.u64 [array], -1;\n\
                  ld.u32 %r2, [%rd1];\nadd.u32 %r2, %r2, %r1;\nst.u32 [%rd1], %r2;\nmov.b64 %rd2, n;\n\
                  ld.param.u32 %r3, [%rd2];\nadd.u32 %r2, %r2, %r3;\ncvta.param.u64 %rd2, %rd2;\nld.u32 %r3, [%rd2];\n\
                  add.u32 %r2, %r2, %r3;\nst.u32 [%rd1], %r2;\nret;\n}";
    let body = ".local .align 4 .b8 l[8];\nst.local.u32 [l+4], 1000;\nmov.b64 %rd8, l;\ncvta.local.u64 %rd8, %rd8;\n\
                add.s64 %rd8, %rd8, 4;\n{\n.param .b64 a;\n.param .b32 b;\nst.param.b64 [a], %rd8;\nst.param.b32 [b], %r1;\n\
                call add, (a, b);\n}\nld.local.u32 %r2, [l+4];\nst.global.u32 [%rd6], %r2;";
    let expected: Vec<u32> = (0..32).map(|lane| 1000 + 3 * lane).collect();
    assert_eq!(words_of(module, body, &[]), expected);
}
