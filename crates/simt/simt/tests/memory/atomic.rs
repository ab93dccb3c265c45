//! Tests of `atom` and `red`: every operation, and many host threads.

use super::{launch, outcome_of, simulator, text, words};
use simt::Buffer;

/// Runs an operation in lane 0 only, on values of `bits` bits. Returns its result and the new value in memory.
fn run_operation(space: &str, op: &str, bits: u32, old: u64, operands: [u64; 2]) -> (u64, u64) {
    let (file, other) = match bits {
        16 => ("%h", "b16"),
        32 => ("%r", "b32"),
        _ => ("%rd", "b64"),
    };
    let cas = if op.starts_with("cas") { format!(", {file}12") } else { String::new() };
    let at = if space == ".shared" { "[s+8]" } else { "[%rd8]" };
    let address = match space {
        "" => "mov.b64 %rd8, s;\nadd.s64 %rd8, %rd8, 8;\ncvta.shared.u64 %rd8, %rd8;\n",
        ".global" => "add.s64 %rd8, %rd2, 16;\n",
        _ => "",
    };
    let body = format!(
        "{address}ld.global.{other} {file}11, [%rd1+8];\nld.global.{other} {file}12, [%rd1+16];\n\
         ld.global.{other} {file}10, [%rd1];\nsetp.eq.u32 %p1, %r1, 0;\n\
         st{space}.{other} {at}, {file}10;\n@%p1 atom{space}.{op} {file}9, {at}, {file}11{cas};\n\
         ld{space}.{other} {file}10, {at};\n@%p1 st.global.{other} [%rd2], {file}9;\n\
         st.global.{other} [%rd2+8], {file}10;\n\
         @%p1 st{space}.{other} {at}, {file}9;\n"
    );
    let reduce = !op.starts_with("exch") && !op.starts_with("cas");
    // The same operation as `red`, which must leave the same value.
    let body = if reduce {
        format!(
            "{body}@%p1 red{space}.{op} {at}, {file}11;\nld{space}.{other} {file}10, {at};\n\
             st.global.{other} [%rd2+24], {file}10;"
        )
    } else {
        format!("{body}st.global.{other} [%rd2+24], {file}10;")
    };
    let input = [old, operands[0], operands[1]];
    let out = outcome_of(".shared .align 8 .b8 s[16];", &body, bytemuck::cast_slice(&input), 32);
    let out: Vec<u64> = words(&out.unwrap_or_else(|fault| panic!("{fault}\n{body}")));
    assert_eq!(out[1], out[3], "red{space}.{op}");
    (out[0], out[1])
}

/// A row is an operation, its width in bits, the old value, one or two operands, and the new value. Floating-point
/// numbers are given as their bits.
#[test]
fn every_operation_returns_the_old_value_and_leaves_the_new() {
    let number = |word: &str| match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).unwrap(),
        None => word.parse().unwrap(),
    };
    for row in include_str!("../fixtures/atomics.txt").lines() {
        let (inputs, new) = row.split_once(" => ").unwrap();
        let (op, numbers) = inputs.split_once(' ').unwrap();
        let numbers: Vec<u64> = numbers.split(' ').map(number).collect();
        let operands = [numbers[2], numbers.get(3).copied().unwrap_or(0)];
        for space in [".global", ".shared", ""] {
            let found = run_operation(space, op, numbers[0] as u32, numbers[1], operands);
            assert_eq!(found, (numbers[1], number(new)), "atom{space}: {row}");
        }
    }
}

#[test]
fn sums_of_f32_flush_subnormal_numbers_in_global_memory_only() {
    assert_eq!(run_operation(".global", "add.f32", 32, 1, [0x8000_0002, 0]), (1, 0));
    assert_eq!(run_operation(".shared", "add.f32", 32, 1, [2, 0]), (1, 3));
    assert_eq!(run_operation("", "add.f32", 32, 1, [2, 0]), (1, 3));
    let smallest = u64::from(f32::MIN_POSITIVE.to_bits());
    let result = run_operation(".global", "add.f32", 32, smallest + 1, [smallest | 1 << 31, 0]);
    assert_eq!(result, (smallest + 1, 0));
}

#[test]
fn vectors_change_each_element() {
    let body = "setp.eq.u32 %p1, %r1, 0;\nmov.b32 %f9, 0f40a00000;\n\
                @%p1 st.global.v4.f32 [%rd2], {1.0, 2.0, 3.0, 4.0};\n\
                @%p1 atom.global.add.v4.f32 {%f1, %f2, %f3, %f4}, [%rd2], {%f9, %f9, %f9, %f9};\n\
                @%p1 st.global.v4.f32 [%rd2+16], {%f4, %f3, %f2, %f1};";
    let out = outcome_of("", body, &[], 32).unwrap();
    assert_eq!(words::<f32>(&out), [6.0, 7.0, 8.0, 9.0, 4.0, 3.0, 2.0, 1.0]);
    let body = "setp.eq.u32 %p1, %r1, 0;\n@%p1 st.global.v2.b32 [%rd2], {0x3c004000, 0xbc007fff};\n\
                mov.b32 %r8, 0x40003c00;\nmov.b32 %r9, 0x3c003c00;\n\
                @%p1 red.global.max.noftz.v2.f16x2 [%rd2], {%r8, %r9};\n\
                @%p1 atom.global.min.noftz.v2.f16x2 _, [%rd2], {%r8, %r8};";
    let out = outcome_of("", body, &[], 8).unwrap();
    assert_eq!(words::<u32>(&out), [0x4000_3c00, 0x3c00_3c00]);
}

#[test]
fn lanes_on_one_word_are_serialized() {
    for space in ["global", "shared"] {
        let at = if space == "global" { "[%rd2+128]" } else { "[s]" };
        let body = format!(
            "atom.{space}.add.u32 %r2, {at}, %r1;\natom.{space}.exch.b32 %r3, {at}, %r1;\n\
             atom.{space}.inc.u32 _, {at}, 100;\nadd.u32 %r2, %r2, %r3;\nst.global.u32 [%rd6], %r2;"
        );
        let out = outcome_of(".shared .align 4 .b8 s[4];", &body, &[], 132).unwrap();
        // The sum of the lower lanes, and the value that the previous lane has exchanged; lane 0 finds the sum of all.
        let expected: Vec<u32> =
            (0..32).map(|lane: u32| lane * lane.saturating_sub(1) / 2 + lane.checked_sub(1).unwrap_or(496)).collect();
        assert_eq!(words::<u32>(&out[..128]), expected, "{space}");
        if space == "global" {
            assert_eq!(words::<u32>(&out[128..]), [31 + 32]);
        }
    }
}

/// Runs 64 blocks of 256 threads, and returns the 72 words of the output, which are 0 before.
fn run_blocks(threads: usize, body: &str) -> Vec<u32> {
    let text = text(
        "",
        ".param .u64 out",
        &format!(
            "ld.param.u64 %rd2, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n\
             mad.lo.u32 %r1, %r2, 256, %r1;\nand.b32 %r3, %r1, 63;\nmul.wide.u32 %rd4, %r3, 4;\n\
             add.s64 %rd6, %rd2, %rd4;\n{body}"
        ),
    );
    let mut simulator = simulator(threads);
    let out: Buffer<u32> = simulator.zeroed(72).unwrap();
    launch(&mut simulator, &text, 64, 256, &[out.into()]).unwrap();
    simulator.read(out).unwrap()
}

#[test]
fn results_do_not_depend_on_the_number_of_host_threads() {
    let body = "atom.global.add.u32 %r4, [%rd6], %r1;\nred.global.max.u32 [%rd2+256], %r1;\n\
                red.global.xor.b32 [%rd2+260], %r1;\nred.add.u64 [%rd2+264], 4294967297;\n\
                atom.global.inc.u32 %r4, [%rd2+272], 999;\nred.global.or.b32 [%rd2+276], %r1;\n\
                red.global.add.noftz.f16x2 [%rd2+280], %r5;\nmov.b32 %r6, 0f3f800000;\n\
                red.global.add.f32 [%rd2+284], %r6;";
    let mut expected: Vec<u32> = (0..64).map(|i| (0..16384).filter(|n| n % 64 == i).sum()).collect();
    let one = 16384f32.to_bits();
    expected.extend([16383, 0, 16384, 16384, 16384 % 1000, 16383, 0, one]);
    for threads in [1, 2, 8] {
        assert_eq!(run_blocks(threads, body), expected, "{threads} host threads");
    }
}

#[test]
fn bytes_and_halves_next_to_each_other_are_written_by_different_threads() {
    // Each block writes one byte and reads it back repeatedly while other blocks write the neighboring bytes.
    let body = "cvt.u64.u32 %rd7, %r2;\nadd.s64 %rd7, %rd2, %rd7;\nadd.u32 %r7, %r2, 1;\n\
                st.global.u8 [%rd7], %r7;\nld.global.u8 %r8, [%rd7];\nsetp.ne.u32 %p1, %r8, %r7;\n\
                @%p1 trap;\nmul.wide.u32 %rd8, %r2, 2;\nadd.s64 %rd8, %rd2, %rd8;\n\
                st.global.u16 [%rd8+64], %r7;\nst.global.u8 [%rd7], %r7;";
    for threads in [1, 2, 8] {
        let out = run_blocks(threads, body);
        let out: &[u8] = bytemuck::cast_slice(&out);
        let expected: Vec<u8> = (1..=64).collect();
        assert_eq!(out[..64], expected);
        let halves: Vec<u16> = (1..=64).collect();
        assert_eq!(words::<u16>(&out[64..192]), halves);
    }
}

#[test]
fn racing_stores_store_whole_bytes() {
    // All blocks store to the same bytes with different sizes; each final byte is one that some block stored there.
    let body = "mov.b32 %r5, 0x01010101;\nmul.lo.u32 %r5, %r5, %r2;\nmov.b64 %rd7, {%r5, %r5};\n\
                st.global.u64 [%rd2], %rd7;\nst.global.u16 [%rd2+2], %r5;\nst.global.u8 [%rd2+5], %r5;\n\
                st.global.u32 [%rd2+4], %r5;\nst.global.u32 [%rd6], %r5;\nld.global.v4.u32 {%r8, %r9, %r10, %r11}, [%rd2];\n\
                atom.global.exch.b32 %r12, [%rd2+4], %r5;";
    for threads in [2, 8] {
        for word in run_blocks(threads, body) {
            assert!(word.to_le_bytes().iter().all(|byte| *byte < 64), "{word:#x}");
        }
    }
}
