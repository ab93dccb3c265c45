//! Tests that random accesses never panic, and match a byte-by-byte model.

use proptest::prelude::*;

use super::{PARAMS, launch, simulator, text};
use simt::memory::{CONST_WINDOW, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};
use simt::{Arg, Buffer, LaunchError};

/// Returns a strategy for addresses near a notable one, or arbitrary addresses.
fn address() -> impl Strategy<Value = u64> {
    let near = prop::sample::select(vec![
        0,
        0x2_0000_0000,
        0x2_0000_0100,
        SHARED_WINDOW,
        LOCAL_WINDOW,
        CONST_WINDOW,
        PARAM_WINDOW,
        u64::MAX - 20,
    ]);
    prop_oneof![(near, -40i64..120).prop_map(|(base, by)| u64::wrapping_add_signed(base, by)), any::<u64>(),]
}

const INSTRUCTIONS: [&str; 16] = [
    "ld{}.u8 %r3, [%rd9];",
    "ld{}.s16 %rd10, [%rd9];",
    "ld{}.u32 %r3, [%rd9+4];",
    "ld{}.v4.f32 {%f1, %f2, %f3, %f4}, [%rd9];",
    "ld{}.v2.f64 {%fd1, %fd2}, [%rd9];",
    "st{}.u8 [%rd9], %r1;",
    "st{}.u32 [%rd9], %r1;",
    "st{}.u64 [%rd9+-8], %rd9;",
    "st{}.v2.u16 [%rd9], {%h1, %h2};",
    "st{}.v8.u32 [%rd9], {%r1, %r2, %r3, %r1, %r2, %r3, %r1, %r2};",
    "atom{}.add.u32 %r3, [%rd9], %r1;",
    "atom{}.cas.b64 %rd10, [%rd9], 0, 5;",
    "red{}.add.f32 [%rd9], %f1;",
    "cp.async.ca.shared.global [%rd9], [%rd9], 4;",
    "cp.async.cg.shared.global [%rd9], [%rd9], 16, %r1;",
    "isspacep.shared %p2, %rd9;",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn random_addresses_never_panic(
        addresses in prop::collection::vec(address(), 1..6),
        instruction in prop::sample::select(INSTRUCTIONS.to_vec()),
        space in prop::sample::select(vec!["", ".global", ".shared", ".local", ".const", ".param"]),
    ) {
        // Loads accept all spaces, stores only writable spaces, atomics two spaces, and 32-byte accesses only global
        // memory.
        let space = match (&instruction[..2], space) {
            _ if instruction.contains(".v8") && space != ".global" => "",
            ("st", ".const" | ".param") | ("at" | "re", ".local" | ".const" | ".param") => "",
            _ => space,
        };
        let instruction = instruction.replace("{}", space);
        let body = format!(
            ".local .align 8 .b8 l[32];\nst.local.u64 [l], 1;\nmov.u32 %r1, %tid.x;\nld.param.u64 %rd1, [in];\n\
             rem.u32 %r2, %r1, {};\nmul.wide.u32 %rd2, %r2, 8;\nadd.s64 %rd1, %rd1, %rd2;\nld.global.u64 %rd9, [%rd1];\n\
             setp.lt.u32 %p1, %r1, 27;\n@%p1 {instruction}",
            addresses.len()
        );
        let text = text(".const .b64 c = 1;", PARAMS, &body);
        let mut simulator = simulator(1);
        let small: Buffer<u8> = simulator.zeroed(50).unwrap();
        let table = simulator.upload(&addresses).unwrap();
        let args: [Arg; 2] = [table.into(), small.into()];
        match launch(&mut simulator, &text, 1, 32, &args) {
            Ok(()) => {}
            Err(LaunchError::Fault(fault)) => prop_assert!(fault.to_string().contains("thread")),
            Err(other) => return Err(TestCaseError::fail(other.to_string())),
        }
    }

    #[test]
    fn gathers_and_scatters_match_a_byte_model(
        places in prop::collection::vec(0u32..64, 32),
        size in prop::sample::select(vec![1u32, 2, 4, 8]),
        mask in any::<u32>(),
        content in prop::collection::vec(any::<u8>(), 512),
    ) {
        let (register, ty) = if size == 8 { ("%rd9", "b64") } else { ("%r9", "b32") };
        let body = format!(
            "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nld.param.u64 %rd3, [places];\nmov.u32 %r1, %tid.x;\n\
             mul.wide.u32 %rd4, %r1, 4;\nadd.s64 %rd3, %rd3, %rd4;\nld.global.u32 %r2, [%rd3];\n\
             mul.wide.u32 %rd4, %r2, {size};\nadd.s64 %rd1, %rd1, %rd4;\nadd.s64 %rd2, %rd2, %rd4;\n\
             mov.u32 %r3, {mask};\nshr.u32 %r3, %r3, %r1;\nand.b32 %r3, %r3, 1;\nsetp.ne.u32 %p1, %r3, 0;\n\
             mov.{ty} {register}, 0;\n@%p1 ld.global.b{bits} {register}, [%rd1];\n\
             @%p1 st.global.b{bits} [%rd2], {register};",
            bits = size * 8
        );
        let text = text("", ".param .u64 in, .param .u64 out, .param .u64 places", &body);
        let mut simulator = simulator(1);
        let input = simulator.upload(&content).unwrap();
        let output: Buffer<u8> = simulator.zeroed(512).unwrap();
        let table = simulator.upload(&places).unwrap();
        let args: [Arg; 3] = [input.into(), output.into(), table.into()];
        launch(&mut simulator, &text, 1, 32, &args).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let mut expected = vec![0; 512];
        for (lane, place) in places.iter().enumerate() {
            if mask >> lane & 1 == 1 {
                let at = (place * size) as usize;
                expected[at..at + size as usize].copy_from_slice(&content[at..at + size as usize]);
            }
        }
        prop_assert_eq!(simulator.read(output).unwrap(), expected);
    }
}
