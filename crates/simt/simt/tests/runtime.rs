//! Tests of CUDA's device runtime in kernels: printing, faults, and refused uses.

use simt::{Config, Fault, FaultKind, Launch, LaunchError, Module, Simulator};
use simt_check::Checks;

const HEAD: &str = ".version 8.5\n.target sm_90\n.address_size 64\n\
    .extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n\
    .extern .func (.param .b64 r) malloc(.param .b64 a);\n\
    .extern .func free(.param .b64 a);\n\
    .extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n\
    .extern .func (.param .b32 r) cudaLaunchDevice(.param .b64 a);\n\
    .global .align 1 .b8 format[10] = {98, 108, 111, 99, 107, 32, 37, 117, 10, 0};\n\
    .global .align 1 .b8 word[6] = {120, 32, 60, 32, 49};\n\
    .func (.param .b32 r) twice(.param .b32 a) { .reg .b32 %r<2>; ld.param.b32 %r0, [a]; shl.b32 %r1, %r0, 1;\n\
        st.param.b32 [r], %r1; ret; }\n\
    .alias same, twice;\n\
    .func wide(.param .b64 a) { ret; }\n\
    .global .align 1 .b8 bytes[3] = {0xff(wide), 0xff00(wide), 0xff(word)};\n";

/// Returns a kernel of these statements, with its parameter `out` in `%rd0`.
fn kernel(statements: &str) -> String {
    format!(
        "{HEAD}.func (.param .b32 r) same(.param .b32 a);\n.entry k(.param .u64 out)\n{{\n\
         .reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n.reg .pred %p<2>;\n\
         .local .align 8 .b8 stack[16];\n.param .b64 p;\n.param .b64 q;\n.param .b32 w;\n.param .b32 v;\n\
         ld.param.u64 %rd0, [out];\n{statements}\nret;\n}}\n"
    )
}

/// Returns the output words of a kernel or its fault, and the text that it printed.
fn run(statements: &str, config: Config, grid: u32, block: u32) -> (Result<Vec<u32>, Fault>, String) {
    let module = Module::from_ptx(kernel(statements)).unwrap();
    let function = module.function("k").unwrap();
    let mut simulator = Simulator::new(config).unwrap();
    let out = simulator.zeroed::<u32>(64).unwrap();
    let args = [out.into()];
    let result = simulator.launch(&Launch::new(&function, [grid, 1, 1], [block, 1, 1], &args));
    let result = match result {
        Ok(()) => Ok(simulator.read(out).unwrap()),
        Err(LaunchError::Fault(fault)) => Err(*fault),
        Err(error) => panic!("{error}"),
    };
    let printed = String::from_utf8(simulator.take_printed()).unwrap();
    assert_eq!(simulator.take_printed(), b"");
    (result, printed)
}

fn fault(statements: &str) -> Fault {
    run(statements, Config::default(), 1, 32).0.unwrap_err()
}

fn refusal(statements: &str) -> String {
    let module = Module::from_ptx(kernel(statements)).unwrap();
    module.function("k").unwrap_err().to_string()
}

/// Prints the block's number.
const PRINT: &str = "mov.u32 %r0, %ctaid.x;\nmov.u64 %rd1, stack;\nst.local.u32 [%rd1], %r0;\n\
    cvta.local.u64 %rd1, %rd1;\nmov.u64 %rd2, format;\ncvta.global.u64 %rd2, %rd2;\n\
    st.param.b64 [p], %rd2;\nst.param.b64 [q], %rd1;\ncall.uni (w), vprintf, (p, q);\n";

#[test]
fn blocks_print_in_the_order_of_their_numbers() {
    for threads in [1, 2, 3] {
        let config = Config { threads, ..Config::default() };
        let (_, printed) = run(PRINT, config, 500, 1);
        let expected: String = (0..500).map(|block| format!("block {block}\n")).collect();
        assert_eq!(printed, expected);
        // The buffer keeps the last messages.
        let config = Config { printf_bytes: 100, ..config };
        let (_, printed) = run(PRINT, config, 500, 1);
        assert_eq!(printed, "block 497\nblock 498\nblock 499\n");
        // A fault in block 3.
        let text = format!("{PRINT}setp.eq.u32 %p1, %r0, 3;\n@%p1 trap;");
        let (fault, printed) = run(&text, Config { threads, ..Config::default() }, 500, 1);
        assert_eq!(fault.unwrap_err().block, [3, 0, 0]);
        assert_eq!(printed, "block 0\nblock 1\nblock 2\nblock 3\n");
    }
}

#[test]
fn an_invalid_format_address_is_a_fault() {
    let fault =
        fault("mov.u64 %rd1, 4096;\nst.param.b64 [p], %rd1;\nst.param.b64 [q], %rd1;\ncall (w), vprintf, (p, q);");
    assert!(fault.to_string().starts_with("out of bounds read of 1 bytes at 0x1000"), "{fault}");
}

#[test]
fn a_failed_assertion_is_a_fault_with_its_place() {
    let fault = fault(
        "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p0, %r1, 9;\n@%p0 bra END;\n.param .b64 s;\n.param .b64 t;\n\
         mov.u64 %rd1, word;\ncvta.global.u64 %rd1, %rd1;\nst.param.b64 [p], %rd1;\nst.param.b64 [q], %rd1;\n\
         st.param.b64 [s], %rd1;\nst.param.b32 [w], 77;\nst.param.b64 [t], 1;\n\
         call.uni __assertfail, (p, q, w, s, t);\nEND:",
    );
    assert_eq!(fault.thread, [9, 0, 0]);
    let text = fault.to_string();
    assert!(text.starts_with("assertion `x < 1` failed, x < 1:77, in `x < 1`, in kernel `k`"), "{text}");
}

/// Calls `malloc` for `%rd1` bytes, with the result in `%rd2`.
const MALLOC: &str = "st.param.b64 [p], %rd1;\ncall (q), malloc, (p);\nld.param.b64 %rd2, [q];\n";

#[test]
fn the_heap_has_the_configured_size_and_a_block_is_freed_once() {
    let count = format!(
        "mov.u32 %r1, 0;\nmov.u64 %rd1, 90;\nMORE:\n{MALLOC}setp.eq.u64 %p1, %rd2, 0;\n@%p1 bra END;\n\
         st.global.u32 [%rd2+80], %r1;\nadd.u32 %r1, %r1, 1;\nbra MORE;\nEND:\nst.global.u32 [%rd0], %r1;"
    );
    let config = Config { heap_bytes: 960, ..Config::default() };
    assert_eq!(run(&count, config, 1, 1).0.unwrap()[0], 10);
    let free = "st.param.b64 [p], %rd2;\ncall free, (p);\n";
    let twice = format!("mov.u64 %rd1, 8;\n{MALLOC}{free}{free}");
    assert!(matches!(fault(&twice).kind, FaultKind::BadFree { .. }));
    let fault = fault(&format!("mov.u64 %rd2, %rd0;\n{free}"));
    assert!(fault.to_string().starts_with("free of 0x"), "{fault}");
}

/// An observer that clears its state for this number of bytes would never finish.
#[test]
fn observers_do_not_see_failed_allocations() {
    let statements = format!("mov.u64 %rd1, 0x7fffffffffffffff;\n{MALLOC}st.global.u64 [%rd0], %rd2;");
    let function = Module::from_ptx(kernel(&statements)).unwrap().function("k").unwrap();
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let out = simulator.upload(&[7_u64]).unwrap();
    let args = [out.into()];
    let launch = Launch::new(&function, [1, 1, 1], [1, 1, 1], &args);
    let sanitized = Checks::ALL.launch(&mut simulator, &launch);
    assert!(sanitized.result.is_ok() && sanitized.findings.is_empty());
    assert_eq!(simulator.read(out).unwrap(), [0]);
}

#[test]
fn calls_through_addresses() {
    let call = |address: &str, label: &str| {
        format!(
            "mov.u64 %rd1, {address};\nst.param.b32 [w], 21;\n\
             one: .callprototype (.param .b32 _) _ (.param .b32 _);\nsome: .calltargets twice;\n\
             call (v), %rd1, (w), {label};\nld.param.b32 %r1, [v];\nst.global.u32 [%rd0], %r1;"
        )
    };
    for (address, label) in [("twice", "one"), ("same", "one"), ("twice", "some")] {
        let (words, _) = run(&call(address, label), Config::default(), 1, 32);
        assert_eq!(words.unwrap()[0], 42);
    }
    let (words, _) = run(
        "st.param.b32 [w], 4;\ncall (v), same, (w);\nld.param.b32 %r1, [v];\nst.global.u32 [%rd0], %r1;",
        Config::default(),
        1,
        1,
    );
    assert_eq!(words.unwrap()[0], 8);
    for (address, what) in [
        ("wide", "that of function `wide`, which has other parameters or results"),
        ("0", "at which there is no function"),
        ("word", "at which there is no function"),
        ("5000000000", "at which there is no function"),
    ] {
        let text = fault(&call(address, "one")).to_string();
        assert!(text.starts_with("call of the address 0x") && text.contains(what), "{text}");
    }
    // Initial values may contain single bytes of an address.
    let bytes = "ld.global.u8 %r1, [bytes];\nld.global.u8 %r2, [bytes+1];\nmad.lo.u32 %r1, %r2, 256, %r1;\nmov.u64 %rd1, wide;\ncvt.u32.u64 %r2, %rd1;\n\
        and.b32 %r2, %r2, 65535;\nsub.u32 %r1, %r1, %r2;\nst.global.u32 [%rd0], %r1;\nld.global.u8 %r3, [bytes+2];\nmov.u64 %rd2, word;\n\
        cvt.u32.u64 %r4, %rd2;\nand.b32 %r4, %r4, 255;\nsub.u32 %r3, %r3, %r4;\nst.global.u32 [%rd0+4], %r3;";
    assert_eq!(run(bytes, Config::default(), 1, 1).0.unwrap()[..2], [0, 0]);
}

#[test]
fn the_stack_grows_and_shrinks_within_a_frame() {
    // Each lane allocates 64 bytes times its lane number and frees them. The loop runs so often that the stack would
    // overflow otherwise.
    let text = "mov.u32 %r1, %tid.x;\nshl.b32 %r1, %r1, 6;\ncvt.u64.u32 %rd1, %r1;\nmov.u32 %r2, 0;\nMORE:\nstacksave.u64 %rd3;\n\
        alloca.u64 %rd2, %rd1, 32;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra NONE;\nst.local.u32 [%rd2], %r2;\nld.local.u32 %r3, [%rd2];\nNONE:\n\
        stackrestore.u64 %rd3;\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 1000;\n@%p1 bra MORE;\n\
        mul.wide.u32 %rd4, %r1, 1;\nshr.u64 %rd4, %rd4, 4;\nadd.u64 %rd4, %rd4, %rd0;\nst.global.u32 [%rd4], %r3;";
    let (words, _) = run(text, Config::default(), 1, 32);
    assert_eq!(words.unwrap()[1..32], [999; 31]);
    let endless = "MORE:\nmov.u64 %rd1, 4096;\nalloca.u64 %rd2, %rd1;\nbra MORE;";
    assert_eq!(fault(endless).kind, FaultKind::StackOverflow);
    let foreign = "mov.u64 %rd1, 4096;\nstackrestore.u64 %rd1;";
    assert_eq!(fault(foreign).kind, FaultKind::StackOverflow);
}

#[test]
fn unsupported_names_are_refused() {
    for (statement, words) in [
        ("call (w), cudaLaunchDevice, (p);", "`cudaLaunchDevice`: device-side launches are not supported"),
        ("mov.u32 %r1, %pm3;", "special register `%pm3` is not supported"),
        ("mov.u32 %r1, %clusterer;", "there is no register or special register"),
        ("mov.u32 %r1, %envreg32;", "there is no register or special register"),
        ("call (w), malloc, (p);", "`w` and the parameter `r` differ in size"),
        ("call %rd1, p;", "`p` is not a .callprototype"),
        ("alloca.u64 %rd1, %rd2, 24;", "an alignment must be a power of two"),
        ("mov.u64 %rd1, k;", "the address of function `k` is not supported"),
    ] {
        let message = refusal(statement);
        assert!(message.contains(words), "{statement}: {message}");
        assert!(message.contains("line 28"), "{message}");
    }
}

#[test]
fn a_cooperative_launch_must_fit_on_the_device() {
    let module = Module::from_ptx(kernel("")).unwrap();
    let function = module.function("k").unwrap();
    let config = Config { resident_blocks: 7, ..Config::default() };
    let mut simulator = Simulator::new(config).unwrap();
    let args = [simt::Arg::Pointer(0)];
    let launch = |grid| Launch::new(&function, [grid, 1, 1], [32, 1, 1], &args).with_cooperative(true);
    simulator.launch(&launch(7)).unwrap();
    let refused = simulator.launch(&launch(8)).unwrap_err().to_string();
    assert_eq!(refused, "kernel `k`: a cooperative launch of 8 blocks; at most 7 run at a time");
}
