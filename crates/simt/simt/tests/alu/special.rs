//! Compares results with those of an H200 (driver 580.159.04, 2026-11-23), stored as one checksum per function.

use std::ops::Range;

use simt::{Config, Launch, Module, Simulator};

/// Returns the results of a one-operand instruction for these arguments, in registers of `bits` bits.
fn answers(instruction: &str, bits: u32, arguments: &[u64]) -> Vec<u64> {
    let ptx = format!(
        ".version 8.0 .target sm_90 .address_size 64
         .visible .entry k(.param .u64 data, .param .u32 n) {{
             .reg .pred %p; .reg .b32 %i<5>; .reg .b64 %d<3>; .reg .b{bits} %r<3>;
             mov.u32 %i1, %ctaid.x; mov.u32 %i2, %tid.x; mad.lo.u32 %i3, %i1, 256, %i2;
             ld.param.u32 %i4, [n]; setp.ge.u32 %p, %i3, %i4; @%p ret;
             ld.param.u64 %d1, [data]; mad.wide.u32 %d2, %i3, 8, %d1;
             ld.global.b{bits} %r1, [%d2]; {instruction} %r2, %r1; st.global.b{bits} [%d2], %r2; ret;
         }}"
    );
    let function = Module::from_ptx(ptx).unwrap().function("k").unwrap();
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let data = simulator.upload(arguments).unwrap();
    let n = arguments.len() as u32;
    simulator.launch(&Launch::new(&function, [n.div_ceil(256), 1, 1], [256, 1, 1], &[data.into(), n.into()])).unwrap();
    simulator.read(data).unwrap()
}

/// Returns a hash like FNV-1a that takes a whole answer in each step.
fn checksum(answers: impl IntoIterator<Item = u64>) -> u64 {
    answers.into_iter().fold(0xcbf2_9ce4_8422_2325, |sum, answer| (sum ^ answer).wrapping_mul(0x0100_0000_01b3))
}

/// Tests every 257th argument of one period, or of the nontrivial range. The tables were computed from all arguments.
#[test]
fn functions_of_f32_have_the_recorded_bits() {
    let rows: [(&str, Range<u64>, u64); 8] = [
        ("rcp.approx.ftz.f32", 0x3f80_0000..0x4000_0000, 0xa129_cabc_341c_6a4f),
        ("rsqrt.approx.ftz.f32", 0x3f80_0000..0x4080_0000, 0x035b_4b56_5806_d272),
        ("sqrt.approx.ftz.f32", 0x3f80_0000..0x4080_0000, 0xef82_9271_97d6_6331),
        ("ex2.approx.ftz.f32", 0x3f00_0000..0x4000_0000, 0xc312_311c_ed26_cc58),
        ("lg2.approx.ftz.f32", 0x3f00_0000..0x4000_0000, 0x007e_8255_9814_65a9),
        ("sin.approx.f32", 0x3f00_0000..0x4080_0000, 0x15ef_1d6e_2ce5_9f0e),
        ("cos.approx.f32", 0x3f00_0000..0x4080_0000, 0x9960_2c0c_a523_9484),
        ("tanh.approx.f32", 0x3b80_0000..0x4100_0000, 0x6db7_c2e4_f3b7_07b8),
    ];
    for (instruction, arguments, recorded) in rows {
        let arguments: Vec<u64> = arguments.step_by(257).collect();
        assert_eq!(checksum(answers(instruction, 32, &arguments)), recorded, "{instruction}");
    }
}

/// Tests every argument.
#[test]
fn functions_of_16_bits_have_the_recorded_bits() {
    let arguments: Vec<u64> = (0..1 << 16).collect();
    for (instruction, recorded) in [
        ("ex2.approx.f16", 0x8072_9ac6_ad55_e21a),
        ("tanh.approx.f16", 0xad1f_2540_8717_7b9d),
        ("ex2.approx.ftz.bf16", 0x7080_9a4d_ea78_138a),
        ("tanh.approx.bf16", 0x0483_e974_75bf_5a09),
    ] {
        assert_eq!(checksum(answers(instruction, 16, &arguments)), recorded, "{instruction}");
    }
}

/// Tests the range of two powers of two.
#[test]
fn functions_of_f64_have_the_recorded_bits() {
    let every = |step: usize| (0x3ff0_0000..0x4010_0000u64).step_by(step).map(|upper| upper << 32).collect::<Vec<_>>();
    let upper = |instruction| answers(instruction, 64, &every(257)).into_iter().map(|answer| answer >> 32);
    assert_eq!(checksum(upper("rcp.approx.ftz.f64")), 0xf165_9d4b_f3f6_e4ac);
    assert_eq!(checksum(upper("rsqrt.approx.ftz.f64")), 0x95e8_2d55_d63e_107d);
    assert_eq!(checksum(answers("rsqrt.approx.f64", 64, &every(8 * 257))), 0x25ca_e2f8_4833_2a59);
}

/// Tests `vmad` with a negated product or a negated third source, on all registers and parts, at the limits of their
/// types.
#[test]
fn negated_products_and_sums_have_the_recorded_bits() {
    const EDGES: [u32; 8] = [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x80, 0x1234_8765, 0xfedc_8001];
    let mut instructions = String::new();
    let mut results = 0;
    for types in ["u32.u32.u32", "s32.u32.s32", "s32.s32.u32", "s32.s32.s32"] {
        for shift in ["", ".shr7", ".shr15"] {
            for [of_a, of_b] in [["", ""], [".b1", ".h1"], [".h0", ".b3"]] {
                for [a, b, c] in
                    [["", "", ""], ["-", "", ""], ["", "-", ""], ["-", "-", ""], ["", "", "-"], ["-", "-", "-"]]
                {
                    instructions += &format!(
                        "vmad.{types}{shift} %r4, {a}%r1{of_a}, {b}%r2{of_b}, {c}%r3; st.global.b32 [%d2+{}], %r4;",
                        results * 2048
                    );
                    results += 1;
                }
            }
        }
    }
    let load = |number: u32| {
        let shift = number * 3 - 3;
        format!(
            "bfe.u32 %r6, %r5, {shift}, 3; mul.wide.u32 %d3, %r6, 4; add.s64 %d3, %d1, %d3;
             ld.global.b32 %r{number}, [%d3];"
        )
    };
    let ptx = format!(
        ".version 8.0 .target sm_90 .address_size 64
         .visible .entry k(.param .u64 edges, .param .u64 results) {{
             .reg .b32 %r<7>; .reg .b64 %d<4>;
             ld.param.u64 %d1, [edges]; ld.param.u64 %d2, [results];
             mov.u32 %r5, %tid.x; mul.wide.u32 %d3, %r5, 4; add.s64 %d2, %d2, %d3;
             {} {} {} {instructions} ret;
         }}",
        load(1),
        load(2),
        load(3)
    );
    let function = Module::from_ptx(ptx).unwrap().function("k").unwrap();
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let edges = simulator.upload(&EDGES).unwrap();
    let answers = simulator.upload(&vec![0_u32; results * 512]).unwrap();
    simulator.launch(&Launch::new(&function, [1, 1, 1], [512, 1, 1], &[edges.into(), answers.into()])).unwrap();
    let answers = simulator.read(answers).unwrap();
    assert_eq!(checksum(answers.into_iter().map(u64::from)), 0x14db_87a5_6a8f_d015);
}
