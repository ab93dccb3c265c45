//! `ld` and `st`: widths, vectors, extension, qualifiers, lanes that do not take part.

use super::{bytes, outcome, outcome_of, refusal, words};

/// Each lane copies `size` bytes with this pair of instructions, its place being its number, exclusive or
/// `flip`.
fn copy(load: &str, store: &str, registers: &str, size: u32, flip: u32) -> Vec<u8> {
    let body = format!(
        "xor.b32 %r1, %r1, {flip};\nmul.wide.u32 %rd4, %r1, {size};\nadd.s64 %rd5, %rd1, %rd4;\n\
         add.s64 %rd6, %rd2, %rd4;\n{load} {registers}, [%rd5+{size}];\n{store} [%rd6], {registers};"
    );
    let size = size as usize;
    outcome(&body, &bytes(size * 34), size * 32)
}

/// A register of each type.
const TYPES: [(&str, &str, u32); 15] = [
    ("b8", "%h1", 1),
    ("u8", "%r2", 1),
    ("s8", "%rd9", 1),
    ("b16", "%h1", 2),
    ("u16", "%h1", 2),
    ("s16", "%r2", 2),
    ("b32", "%r2", 4),
    ("u32", "%r2", 4),
    ("s32", "%rd9", 4),
    ("f32", "%f1", 4),
    ("b64", "%rd9", 8),
    ("u64", "%rd9", 8),
    ("s64", "%rd9", 8),
    ("f64", "%fd1", 8),
    ("b64", "%fd1", 8),
];

#[test]
fn every_type_is_copied_in_order_and_out_of_order() {
    for (ty, register, size) in TYPES {
        for flip in [0, 1, 21, 31] {
            let out = copy(&format!("ld.global.{ty}"), &format!("st.global.{ty}"), register, size, flip);
            let size = size as usize;
            assert_eq!(out, bytes(size * 34)[size..size * 33], ".{ty}, {flip}");
        }
    }
}

#[test]
fn every_vector_is_copied_in_order_and_out_of_order() {
    for (ty, register, size) in TYPES {
        for count in [2, 4, 8] {
            let file = register.trim_end_matches(|c: char| c.is_ascii_digit());
            let registers: Vec<String> = (2..2 + count).map(|i| format!("{file}{}", i + 6)).collect();
            let registers = format!("{{{}}}", registers.join(", "));
            for (flip, strong) in [(0, ""), (13, ""), (0, ".volatile"), (13, ".volatile")] {
                let out = copy(
                    &format!("ld{strong}.global.v{count}.{ty}"),
                    &format!("st{strong}.global.v{count}.{ty}"),
                    &registers,
                    size * count,
                    flip,
                );
                let size = (size * count) as usize;
                assert_eq!(out, bytes(size * 34)[size..size * 33], "{strong}.v{count}.{ty}, {flip}");
            }
        }
    }
}

#[test]
fn a_wider_register_is_extended_as_the_type_says() {
    let input = [0x81, 0x92, 0xa3, 0xf4, 0xb5, 0xc6, 0xd7, 0xe8];
    let cases: [(&str, &str, u64); 20] = [
        ("s8", "%h", 0xff81),
        ("u8", "%h", 0x81),
        ("b8", "%h", 0x81),
        ("s8", "%r", 0xffff_ff81),
        ("u8", "%r", 0x81),
        ("s8", "%rd", 0xffff_ffff_ffff_ff81),
        ("u8", "%rd", 0x81),
        ("s16", "%h", 0x9281),
        ("s16", "%r", 0xffff_9281),
        ("u16", "%r", 0x9281),
        ("b16", "%r", 0x9281),
        ("s16", "%rd", 0xffff_ffff_ffff_9281),
        ("u16", "%rd", 0x9281),
        ("s32", "%r", 0xf4a3_9281),
        ("s32", "%rd", 0xffff_ffff_f4a3_9281),
        ("u32", "%rd", 0xf4a3_9281),
        ("b32", "%rd", 0xf4a3_9281),
        ("f32", "%rd", 0xf4a3_9281),
        ("s64", "%rd", 0xe8d7_c6b5_f4a3_9281),
        ("f64", "%fd", 0xe8d7_c6b5_f4a3_9281),
    ];
    for (ty, file, expected) in cases {
        // All bits of the register are seen: what stood there before, and what a mov makes of it.
        let body = match file {
            "%h" => format!(
                "mov.b16 %h9, -1;\nld.global.{ty} %h9, [%rd1];\nmov.b32 %r9, {{%h9, 0}};\n\
                 mov.b64 %rd9, {{%r9, 0}};"
            ),
            "%r" => {
                format!("mov.b32 %r9, -1;\nld.global.{ty} %r9, [%rd1];\nmov.b64 %rd9, {{%r9, 0}};")
            }
            "%rd" => format!("mov.b64 %rd9, -1;\nld.global.{ty} %rd9, [%rd1];"),
            _ => format!("ld.global.{ty} %fd9, [%rd1];\nmov.b64 %rd9, %fd9;"),
        };
        let out = outcome(&format!("{body}\nst.global.u64 [%rd2], %rd9;"), &input, 8);
        assert_eq!(words::<u64>(&out), [expected], ".{ty} into {file}");
    }
}

#[test]
fn a_store_truncates_and_leaves_the_neighbours_alone() {
    for (ty, size) in [("b8", 1), ("u16", 2), ("s32", 4)] {
        for register in ["%h9", "%r9", "%rd9"] {
            if register == "%h9" && size > 2 {
                continue;
            }
            let body = format!(
                "mov.b64 %rd9, 0xa8a7a6a5a4a3a2a1;\nmov.b32 %r9, 0xa4a3a2a1;\n\
                 mov.b16 %h9, 0xa2a1;\nmov.b64 %rd8, -1;\nst.global.b64 [%rd2], %rd8;\n\
                 st.global.b64 [%rd2+8], %rd8;\nst.global.{ty} [%rd2+{size}], {register};\n\
                 st.global.{ty} [%rd2+{}], {register};",
                8 + 3 * size % 8
            );
            let mut expected = [0xff; 16];
            for at in [size, 8 + 3 * size % 8] {
                expected[at..at + size].copy_from_slice(&[0xa1, 0xa2, 0xa3, 0xa4][..size]);
            }
            assert_eq!(outcome(&body, &[], 16), expected, ".{ty} from {register}");
        }
    }
}

#[test]
fn immediates_and_sinks_stand_among_a_vector_s_elements() {
    let body = "ld.global.v4.u32 {_, %r2, _, %r3}, [%rd1];\n\
                st.global.v4.u32 [%rd2], {%r3, 7, -1, %r2};\n\
                st.global.v2.f64 [%rd2+16], {1.5, 0d4000000000000000};\n\
                st.global.f32 [%rd2+32], 0f3fc00000;\nst.global.u8 [%rd2+36], 0x1ff;";
    let out = outcome(body, bytemuck::cast_slice(&[10u32, 11, 12, 13]), 40);
    assert_eq!(words::<u32>(&out[..16]), [13, 7, u32::MAX, 11]);
    assert_eq!(words::<f64>(&out[16..32]), [1.5, 2.0]);
    assert_eq!(words::<f32>(&out[32..36]), [1.5]);
    assert_eq!(out[36..], [0xff, 0, 0, 0]);
}

#[test]
fn every_qualifier_is_taken() {
    let loads = [
        "ld.weak.global.u32",
        "ld.volatile.global.u32",
        "ld.relaxed.cta.global.u32",
        "ld.relaxed.cluster.global.u32",
        "ld.acquire.gpu.global.u32",
        "ld.acquire.sys.global.L1::no_allocate.u32",
        "ld.mmio.relaxed.sys.global.u32",
        "ld.global.nc.u32",
        "ld.global.ca.nc.u32",
        "ld.global.nc.L1::evict_last.L2::128B.u32",
        "ld.global.L1::evict_normal.u32",
        "ld.global.ca.u32",
        "ld.global.cg.u32",
        "ld.global.cs.u32",
        "ld.global.lu.u32",
        "ld.global.cv.u32",
        "ldu.global.u32",
        "ld.u32",
        "ld.volatile.u32",
        "ldu.u32",
    ];
    let stores = [
        "st.weak.global.u32",
        "st.volatile.global.u32",
        "st.relaxed.cta.global.u32",
        "st.release.gpu.global.u32",
        "st.release.sys.u32",
        "st.mmio.relaxed.sys.global.u32",
        "st.global.wb.u32",
        "st.global.cg.u32",
        "st.global.cs.u32",
        "st.global.wt.u32",
        "st.global.L1::no_allocate.u32",
        "st.u32",
    ];
    for load in loads {
        for store in stores {
            assert_eq!(copy(load, store, "%r2", 4, 3), bytes(136)[4..132], "{load} {store}");
        }
    }
    let body = "createpolicy.fractional.L2::evict_last.b64 %rd9, 1.0;\n\
                ld.global.nc.L1::no_allocate.L2::cache_hint.L2::256B.v2.u32 {%r2, %r3}, [%rd1], %rd9;\n\
                st.global.L2::cache_hint.v2.u32 [%rd2], {%r3, %r2}, %rd9;";
    assert_eq!(outcome(body, &[1, 2, 3, 4, 5, 6, 7, 8], 8), [5, 6, 7, 8, 1, 2, 3, 4]);
}

#[test]
fn lanes_that_do_not_take_part_neither_fault_nor_change() {
    // Odd lanes have an invalid address; they load nothing and store nothing.
    let body = "and.b32 %r2, %r1, 1;\nsetp.eq.u32 %p1, %r2, 0;\nmov.b64 %rd9, 3;\n\
                selp.b64 %rd9, %rd5, %rd9, %p1;\nmov.b32 %r3, 99;\n@%p1 ld.global.u32 %r3, [%rd9];\n\
                st.global.u32 [%rd6], %r3;\nselp.b64 %rd9, %rd6, 5, %p1;\n\
                add.u32 %r3, %r3, 1;\n@%p1 st.global.u32 [%rd9], %r3;";
    let input: Vec<u32> = (0..32).map(|i| i * 10).collect();
    let out = outcome(body, bytemuck::cast_slice(&input), 128);
    let expected: Vec<u32> = (0..32).map(|i| if i % 2 == 0 { i * 10 + 1 } else { 99 }).collect();
    assert_eq!(words::<u32>(&out), expected);
}

#[test]
fn one_instruction_reaches_several_buffers() {
    // Even lanes read the input and write the output, odd lanes the other way.
    let body = "and.b32 %r2, %r1, 1;\nsetp.eq.u32 %p1, %r2, 0;\nselp.b64 %rd8, %rd5, %rd6, %p1;\n\
                selp.b64 %rd9, %rd6, %rd5, %p1;\nld.global.u32 %r3, [%rd8];\n\
                add.u32 %r3, %r3, 1000;\nst.global.u32 [%rd9], %r3;\n\
                ld.global.u32 %r4, [%rd5];\nld.global.u32 %r5, [%rd6];\nadd.u32 %r5, %r5, %r4;\n\
                st.global.u32 [%rd6], %r5;";
    let input: Vec<u32> = (0..32).collect();
    let out = outcome(body, bytemuck::cast_slice(&input), 128);
    // Even: the input i, the output i + 1000. Odd: the output 0, the input 1000.
    let expected: Vec<u32> = (0..32).map(|i| if i % 2 == 0 { 2 * i + 1000 } else { 1000 }).collect();
    assert_eq!(words::<u32>(&out), expected);
}

#[test]
fn the_highest_lane_wins_where_all_store_to_one_place() {
    let out = outcome("st.global.u32 [%rd2], %r1;", &[], 4);
    assert_eq!(words::<u32>(&out), [31]);
}

#[test]
fn what_is_no_load_or_store_is_refused() {
    for (body, message) in [
        ("ld.global.u32 %h1, [%rd1];", "too narrow for a value of 32"),
        ("ld.global.u64 %r1, [%rd1];", "too narrow for a value of 64"),
        ("st.global.b64 [%rd1], %r1;", "too narrow for a value of 64"),
        ("ld.global.u32 %p1, [%rd1];", "`%p1` is a predicate"),
        ("ld.global.u32 %r1, [%r2];", "has 64 bits"),
        ("ld.u32 %r1, [%r2];", "has 64 bits"),
        ("ld.global.u32 %r1, [%rd1+4294967296];", "offset has 32 bits"),
        ("ld.global.v2.u32 %r1, [%rd1];", "2 elements"),
        ("ld.global.v4.u32 {%r1, %r2}, [%rd1];", "4 elements"),
        ("ld.global.b128 %r1, [%rd1];", "too narrow for a value of 128"),
        ("ld.global.pred %p1, [%rd1];", "`ld.global.pred` is not supported"),
        ("ld.global.f16 %h1, [%rd1];", "`ld.global.f16` is not supported"),
        ("ld.global %r1, [%rd1];", "`ld.global` is not supported"),
        ("ld.global.u32 %r1, [%rd1], %rd2;", "takes 2 operands, not 3"),
        ("ld.global.u32 %r1, %rd1;", "an address in brackets"),
        ("ld.global.u32 %r1, [in];", "not in the .global space"),
        ("ld.shared.u32 %r1, [in];", "not in the .shared space"),
        ("st.param.u32 [in], %r1;", "cannot be written"),
        ("st.const.u32 [%rd1], %r1;", "`st.const.u32` is not supported"),
        ("st.async.shared::cluster.u32 [%rd1], %r1, [%rd2];", "not supported"),
        ("ld.global.u32 %r77, [%rd1];", "there is no register `%r77`"),
        ("ld.global.u32 %r1, [nobody];", "there is no register or variable `nobody`"),
        ("ld.global.u32 %r1, [%p1];", "predicate `%p1` is no address"),
        ("ld.u32 %r1, [in];", "no generic address"),
        ("multimem.red.relaxed.gpu.global.add.u32 [%rd1], %r1;", "not supported"),
        ("cvta.shared.u32 %r1, %r2;", "`cvta.shared.u32` is not supported"),
        ("atom.local.add.u32 %r1, [%rd1], 1;", "`atom.local.add.u32` is not supported"),
        ("atom.global.sub.u32 %r1, [%rd1], 1;", "not supported"),
        ("atom.global.and.u32 %r1, [%rd1], 1;", "not supported"),
        ("atom.global.add.u32 %r1, [%rd1];", "takes 3 operands, not 2"),
        ("atom.global.cas.b32 %r1, [%rd1], 1;", "takes 4 operands, not 3"),
        ("red.global.exch.b32 [%rd1], 1;", "`red.global.exch.b32` is not supported"),
        ("red.async.shared::cluster.u32 [%rd1], %r1, [%rd2];", "not supported"),
        ("cp.async.cg.shared.global [%r1], [%rd1], 8;", "does not copy 8 bytes"),
        ("tcgen05.fence::before_thread_sync;", "not supported"),
    ] {
        let refused = refusal(body);
        assert!(refused.contains(message), "{body}: {refused}");
    }
}

#[test]
fn offsets_are_signed_and_addresses_of_32_bits_wrap() {
    let body = "ld.global.u32 %r2, [%rd1+-4+8];\nadd.s64 %rd7, %rd1, 100;\n\
                ld.global.u32 %r3, [%rd7+-100];\nst.shared.u32 [s+4], %r2;\nmov.b32 %r4, -8;\n\
                ld.shared.u32 %r5, [%r4+12];\nst.global.v2.u32 [%rd2], {%r5, %r3};";
    let out = outcome_of(".shared .align 4 .b8 s[16];", body, bytemuck::cast_slice(&[5u32, 6]), 8);
    assert_eq!(words::<u32>(&out.unwrap()), [6, 5]);
}
