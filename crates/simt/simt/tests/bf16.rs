//! Tests that conversions of `bf16`, and `fma.oob`, give an H100's results for all 16-bit numbers.

use simt::{Config, Launch, Module, Simulator};

/// Rows: an opcode, and the hash (as FNV-1a, by words) of an H100's results for the numbers from 0 to 65535.
const RECORDED: &str = include_str!("fixtures/cvt_bf16.txt");

/// Returns the result `%r2` of `body` for each 16-bit number in `%h2`; `%c2` holds the lower byte of the number.
fn results(body: &str) -> Vec<u32> {
    let text = format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n\
         .reg .b8 %c<3>; .reg .b16 %h<9>; .reg .b32 %r<5>; .reg .b64 %rd<3>;\n\
         ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r3, %ctaid.x; mad.lo.u32 %r1, %r3, 256, %r1;\n\
         mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2; cvt.u16.u32 %h2, %r1; cvt.u8.u32 %c2, %r1;\n\
         {body}\nst.global.u32 [%rd1], %r2; ret;\n}}\n"
    );
    let function = Module::from_ptx(text).unwrap().function("k").unwrap();
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let out = simulator.zeroed::<u32>(1 << 16).unwrap();
    simulator.launch(&Launch::new(&function, [256, 1, 1], [256, 1, 1], &[out.into()])).unwrap();
    simulator.read(out).unwrap()
}

#[test]
fn conversions() {
    for row in RECORDED.lines() {
        let (opcode, expected) = row.split_once(' ').unwrap();
        let types: Vec<&str> = opcode.split('.').skip(2).collect();
        let body = match types[..] {
            [to @ ("s8" | "u8"), _] => format!("{opcode} %c1, %h2; cvt.u32.{to} %r2, %c1;"),
            [_, "s8" | "u8"] => format!("{opcode} %h1, %c2; cvt.u32.u16 %r2, %h1;"),
            _ => format!("{opcode} %h1, %h2; cvt.u32.u16 %r2, %h1;"),
        };
        let hash = results(&body)
            .iter()
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, word| (hash ^ u64::from(*word)).wrapping_mul(0x0100_0000_01b3));
        assert_eq!(format!("{hash:016x}"), expected, "{opcode}");
    }
    // Without a rounding modifier, the conversion rounds to nearest, as ptxas compiles it.
    for types in ["f16.bf16", "bf16.f16"] {
        let run = |opcode: &str| results(&format!("{opcode} %h1, %h2; cvt.u32.u16 %r2, %h1;"));
        assert_eq!(run(&format!("cvt.{types}")), run(&format!("cvt.rn.{types}")));
    }
}

#[test]
fn fma_oob_with_an_out_of_bounds_factor_is_zero() {
    for (ty, one) in [("f16", 0x3c00), ("bf16", 0x3f80)] {
        for modifier in ["", ".relu"] {
            for (operands, is_factor) in [("%h2, %h3, %h4", true), ("%h3, %h2, %h4", true), ("%h3, %h4, %h2", false)] {
                let run = |opcode: &str| {
                    results(&format!(
                        "mov.u16 %h3, {one}; mov.u16 %h4, 0x8000; {opcode} %h1, {operands}; cvt.u32.u16 %r2, %h1;"
                    ))
                };
                let mut expected = run(&format!("fma.rn{modifier}.{ty}"));
                if is_factor {
                    (expected[0x7ff7], expected[0xfff7]) = (0, 0);
                }
                assert_eq!(run(&format!("fma.rn.oob{modifier}.{ty}")), expected, "{ty} {operands}");
            }
        }
        // The check applies to each half of a pair separately.
        let pair = results(&format!(
            "mov.b32 %r4, {{%h2, %h2}}; mov.b32 %r3, {{{one}, 0}}; fma.rn.oob.{ty}x2 %r2, %r4, %r3, %r3;"
        ));
        assert_eq!(pair[0x7ff7], 0);
        assert_ne!(pair[0x7ff6] & 0xffff, 0);
    }
}
