//! Tests of `ld` and `st`: widths, vectors, extension, qualifiers, and inactive lanes.

use super::{bytes, outcome, outcome_of, words};

/// Each lane copies `size` bytes with this pair of instructions; its element's index is its lane number XOR `flip`.
fn copy(load: &str, store: &str, registers: &str, size: u32, flip: u32) -> Vec<u8> {
    let body = format!(
        "xor.b32 %r1, %r1, {flip};\nmul.wide.u32 %rd4, %r1, {size};\nadd.s64 %rd5, %rd1, %rd4;\n\
         add.s64 %rd6, %rd2, %rd4;\n{load} {registers}, [%rd5+{size}];\n{store} [%rd6], {registers};"
    );
    let size = size as usize;
    outcome(&body, &bytes(size * 34), size * 32)
}

/// A register for each type.
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
        // An access has at most 32 bytes.
        for count in [2, 4, 8].into_iter().filter(|count| size * count <= 32) {
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
        // All bits of the register are compared, including bits that the load may keep from before.
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
fn a_store_truncates_and_keeps_its_neighbors() {
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
fn immediates_and_sinks_are_vector_elements() {
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
fn inactive_lanes_do_not_fault_or_change() {
    // Odd lanes have an invalid address; they do not load or store.
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
    // Even lanes read the input and write the output; odd lanes do the reverse.
    let body = "and.b32 %r2, %r1, 1;\nsetp.eq.u32 %p1, %r2, 0;\nselp.b64 %rd8, %rd5, %rd6, %p1;\n\
                selp.b64 %rd9, %rd6, %rd5, %p1;\nld.global.u32 %r3, [%rd8];\n\
                add.u32 %r3, %r3, 1000;\nst.global.u32 [%rd9], %r3;\n\
                ld.global.u32 %r4, [%rd5];\nld.global.u32 %r5, [%rd6];\nadd.u32 %r5, %r5, %r4;\n\
                st.global.u32 [%rd6], %r5;";
    let input: Vec<u32> = (0..32).collect();
    let out = outcome(body, bytemuck::cast_slice(&input), 128);
    // Even lanes: the input holds i, the output i + 1000. Odd lanes: the output holds 0, the input 1000.
    let expected: Vec<u32> = (0..32).map(|i| if i % 2 == 0 { 2 * i + 1000 } else { 1000 }).collect();
    assert_eq!(words::<u32>(&out), expected);
}

#[test]
fn the_highest_lane_wins_a_store_to_one_address() {
    let out = outcome("st.global.u32 [%rd2], %r1;", &[], 4);
    assert_eq!(words::<u32>(&out), [31]);
}

#[test]
fn offsets_are_signed_and_addresses_of_32_bits_wrap() {
    let body = "ld.global.u32 %r2, [%rd1+-4+8];\nadd.s64 %rd7, %rd1, 100;\n\
                ld.global.u32 %r3, [%rd7+-100];\nst.shared.u32 [s+4], %r2;\nmov.b32 %r4, -8;\n\
                ld.shared.u32 %r5, [%r4+12];\nst.global.v2.u32 [%rd2], {%r5, %r3};";
    let out = outcome_of(".shared .align 4 .b8 s[16];", body, bytemuck::cast_slice(&[5u32, 6]), 8);
    assert_eq!(words::<u32>(&out.unwrap()), [6, 5]);
}
