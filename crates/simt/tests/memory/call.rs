//! Parameters of functions, which lie in the frames' local memory.

use super::words_of;

const FACTORIAL: &str = ".func (.param .u32 r) factorial(.param .u32 n)\n{\n.reg .u32 %r<4>;\n.reg .pred %p;\n\
    ld.param.u32 %r1, [n];\nsetp.lt.u32 %p, %r1, 2;\n@%p bra ONE;\n{\n.param .u32 a;\n.param .u32 b;\n\
    sub.u32 %r2, %r1, 1;\nst.param.u32 [a], %r2;\ncall (b), factorial, (a);\nld.param.u32 %r3, [b];\n}\n\
    mul.lo.u32 %r1, %r1, %r3;\nst.param.u32 [r], %r1;\nret;\nONE:\nst.param.u32 [r], 1;\nret;\n}";

const FIBONACCI: &str = ".func (.param .b64 r) fib(.param .b32 n)\n{\n.reg .u32 %r<4>;\n.reg .u64 %rd<4>;\n.reg .pred %p;\n\
    .local .align 8 .b8 l[8];\nld.param.u32 %r1, [n];\nmov.b64 %rd1, {%r1, 0};\nst.local.u64 [l], %rd1;\n\
    setp.lt.u32 %p, %r1, 2;\n@%p bra DONE;\n{\n.param .b32 a;\n.param .b64 b;\nsub.u32 %r2, %r1, 1;\n\
    st.param.b32 [a], %r2;\ncall.uni (b), fib, (a);\nld.param.b64 %rd2, [b];\nst.local.u64 [l], %rd2;\n}\n{\n.param .b32 a;\n\
    .param .b64 b;\nsub.u32 %r2, %r1, 2;\nst.param.b32 [a], %r2;\ncall.uni (b), fib, (a);\nld.param.b64 %rd3, [b];\n}\n\
    ld.local.u64 %rd2, [l];\nadd.u64 %rd3, %rd3, %rd2;\nst.local.u64 [l], %rd3;\nDONE:\nld.local.u64 %rd1, [l];\n\
    st.param.b64 [r], %rd1;\nret;\n}";

fn call(module: &str, name: &str, bits: u32) -> Vec<u32> {
    let load = if bits == 64 { "ld.param.b64 %rd8, [b];\nmov.b64 {%r3, %r4}, %rd8;" } else { "ld.param.b32 %r3, [b];" };
    let body = format!(
        "rem.u32 %r2, %r1, 13;\n{{\n.param .b32 a;\n.param .b{bits} b;\nst.param.b32 [a], %r2;\n\
         call (b), {name}, (a);\n{load}\n}}\nst.global.u32 [%rd6], %r3;"
    );
    words_of(module, &body, &[])
}

#[test]
fn lanes_recurse_to_their_own_depth() {
    let expected: Vec<u32> = (0..32).map(|lane| (1..=lane % 13).product()).collect();
    assert_eq!(call(FACTORIAL, "factorial", 32), expected);
}

#[test]
fn local_variables_belong_to_the_frame() {
    let fib = |n: u32| (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0;
    let expected: Vec<u32> = (0..32).map(|lane| fib(lane % 13)).collect();
    assert_eq!(call(FIBONACCI, "fib", 64), expected);
}

#[test]
fn structs_are_passed_and_returned_by_their_bytes() {
    let module = ".func (.param .align 8 .b8 r[16]) swap(.param .align 8 .b8 s[16], .param .b8 c)\n{\n\
                  .reg .u64 %rd<4>;\n.reg .b16 %h;\nld.param.v2.u64 {%rd1, %rd2}, [s];\nld.param.u8 %h, [c];\n\
                  st.param.b64 [r], %rd2;\nst.param.b64 [r+8], %rd1;\nst.param.b8 [r+3], %h;\nret;\n}";
    let module = module.replace(".align 8 .b8 s", ".align 16 .b8 s");
    let body = "{\n.param .align 16 .b8 a[16];\n.param .b8 c;\n.param .align 8 .b8 b[16];\nmov.b64 %rd8, {%r1, 5};\n\
                st.param.v2.b64 [a], {%rd8, 0x0102030405060708};\nst.param.b8 [c], 0x77;\n\
                call (b), swap, (a, c);\nld.param.b32 %r2, [b];\nld.param.b32 %r3, [b+8];\nld.param.u8 %r4, [b+12];\n}\n\
                setp.ne.u32 %p1, %r2, 0x77060708;\n@%p1 trap;\nsetp.ne.u32 %p1, %r4, 5;\n@%p1 trap;\n\
                st.global.u32 [%rd6], %r3;";
    let lanes: Vec<u32> = (0..32).collect();
    assert_eq!(words_of(&module, body, &[]), lanes);
}

#[test]
fn a_function_gets_the_address_of_its_caller_s_local_memory() {
    let module = ".func add(.param .b64 p, .param .b32 n)\n{\n.reg .u64 %rd<4>;\n.reg .u32 %r<4>;\n\
                  .local .align 8 .b8 own[8];\nld.param.u64 %rd1, [p];\nld.param.u32 %r1, [n];\nst.local.u64 [own], -1;\n\
                  ld.u32 %r2, [%rd1];\nadd.u32 %r2, %r2, %r1;\nst.u32 [%rd1], %r2;\nmov.b64 %rd2, n;\n\
                  ld.param.u32 %r3, [%rd2];\nadd.u32 %r2, %r2, %r3;\ncvta.param.u64 %rd2, %rd2;\nld.u32 %r3, [%rd2];\n\
                  add.u32 %r2, %r2, %r3;\nst.u32 [%rd1], %r2;\nret;\n}";
    let body = ".local .align 4 .b8 l[8];\nst.local.u32 [l+4], 1000;\nmov.b64 %rd8, l;\ncvta.local.u64 %rd8, %rd8;\n\
                add.s64 %rd8, %rd8, 4;\n{\n.param .b64 a;\n.param .b32 b;\nst.param.b64 [a], %rd8;\nst.param.b32 [b], %r1;\n\
                call add, (a, b);\n}\nld.local.u32 %r2, [l+4];\nst.global.u32 [%rd6], %r2;";
    let expected: Vec<u32> = (0..32).map(|lane| 1000 + 3 * lane).collect();
    assert_eq!(words_of(module, body, &[]), expected);
}

#[test]
fn lanes_that_skip_a_call_are_where_they_were() {
    let body = "mov.u32 %r3, 5;\nand.b32 %r2, %r1, 1;\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra SKIP;\n{\n.param .b32 a;\n\
                .param .b32 b;\nst.param.b32 [a], 4;\ncall (b), factorial, (a);\nld.param.b32 %r3, [b];\n}\nSKIP:\n\
                st.global.u32 [%rd6], %r3;";
    let expected: Vec<u32> = (0..32).map(|lane| if lane % 2 == 1 { 24 } else { 5 }).collect();
    assert_eq!(words_of(FACTORIAL, body, &[]), expected);
}
