//! Tests faults, refused launches, and special registers on whole kernels. The module `programs` tests the results of
//! branches, barriers and exits.
use simt::{Arg, Config, FaultKind, Launch, LaunchError, Module, Simulator};

/// Returns a kernel `k(out)`. Its body has the thread index in `%tid`; at the label DONE, it writes `%r0` to
/// `out[%tid]` of its block.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.extern .shared .align 16 .b8 dyn[];\n\
         .visible .entry k(.param .u64 out)\n{{\n.reg .b32 %r<10>, %tid, %global, %t<4>;\n\
         .reg .b64 %out, %at;\n.reg .pred %p<6>;\n.shared .align 4 .b32 tile[1024];\n\
         mov.u32 %tid, %tid.x;\nmov.u32 %t0, %ctaid.x;\nmov.u32 %t1, %ntid.x;\n\
         mad.lo.u32 %global, %t0, %t1, %tid;\nmov.u32 %r0, 0;\n{body}\nDONE:\n\
         ld.param.u64 %out, [out];\ncvta.to.global.u64 %out, %out;\nmul.wide.u32 %at, %global, 4;\n\
         add.u64 %at, %out, %at;\nst.global.u32 [%at], %r0;\nret;\n}}\n"
    )
}

fn simulator(threads: usize) -> Simulator {
    let config = Config { threads, max_instructions: 10_000_000, ..Config::default() };
    Simulator::new(config).unwrap()
}

/// Returns the contents of `out` after a launch of one block.
fn run(body: &str, threads: u32) -> Result<Vec<u32>, LaunchError> {
    let function = Module::from_ptx(kernel(body)).unwrap().function("k").unwrap();
    let mut simulator = simulator(2);
    let out = simulator.zeroed::<u32>(threads as usize).unwrap();
    simulator.launch(&Launch::new(&function, [1, 1, 1], [threads, 1, 1], &[out.into()]))?;
    Ok(simulator.read(out).unwrap())
}

fn fault(body: &str, threads: u32) -> (FaultKind, String) {
    match run(body, threads) {
        Err(LaunchError::Fault(fault)) => (fault.kind.clone(), fault.to_string()),
        other => panic!("{other:?} is not a fault"),
    }
}

#[test]
fn a_branch_through_a_table_of_targets() {
    let body = "and.b32 %r1, %tid, 3;\nTABLE: .branchtargets A, B, A, C;\nbrx.idx %r1, TABLE;\n\
                A:\nmov.u32 %r0, 10;\nbra DONE;\nB:\nmov.u32 %r0, 20;\nbra DONE;\nC:\nmov.u32 %r0, 30;\n";
    let expected: Vec<u32> = (0..32).map(|t| [10, 20, 10, 30][t % 4]).collect();
    assert_eq!(run(body, 32).unwrap(), expected);
    let (kind, _) = fault("TABLE: .branchtargets DONE;\nbrx.idx %tid, TABLE;\n", 32);
    assert_eq!(kind, FaultKind::BadIndex { index: 1, targets: 1 });
}

#[test]
fn impossible_barriers() {
    let (kind, text) = fault("setp.lt.u32 %p0, %tid, 5;\n@!%p0 bra DONE;\nbar.sync 0;\n", 64);
    let (here, elsewhere) = (0x1f, 0xffff_ffe0);
    assert_eq!(kind, FaultKind::DivergentBarrier { here, elsewhere });
    for words in [
        "reached by only some threads of a warp (5 lanes are there, 27 are not)",
        "kernel `k`, block (0, 0, 0), thread (0, 0, 0)",
        "bar.sync 0;",
    ] {
        assert!(text.contains(words), "{text}");
    }
    let different = "setp.lt.u32 %p0, %tid, 32;\n@%p0 bar.sync 1;\n@!%p0 bar.sync 2;\n";
    let (kind, text) = fault(different, 64);
    assert!(matches!(kind, FaultKind::Deadlock { .. }), "{kind:?}");
    let words = "warp 0 waits at barrier 1, warp 1 waits at barrier 2";
    assert!(text.contains(words), "{text}");
    for body in ["mov.u32 %r1, 16;\nbar.sync %r1;\n", "mov.u32 %r1, 33;\nbar.sync 0, %r1;\n"] {
        let (kind, _) = fault(body, 64);
        assert!(matches!(kind, FaultKind::BadBarrier { .. }), "{kind:?}");
    }
}

#[test]
fn an_endless_loop_ends_with_its_budget() {
    let (kind, text) = fault("LOOP:\nadd.u32 %r1, %r1, 1;\nbra LOOP;\n", 64);
    let instructions = 10_000_000;
    assert_eq!(kind, FaultKind::Budget { instructions });
    assert!(text.contains("more than 10000000 instructions"), "{text}");
}

#[test]
fn a_trap_reports_thread_and_place() {
    let ptx = kernel(".loc 1 42 7\nsetp.eq.u32 %p0, %global, 77;\n@%p0 trap;\n")
        .replace(".address_size 64\n", ".address_size 64\n.file 1 \"kernels/src/lib.rs\"\n");
    let function = Module::from_ptx(ptx).unwrap().function("k").unwrap();
    let mut simulator = simulator(2);
    let out = simulator.zeroed::<u32>(640).unwrap();
    let error = simulator.launch(&Launch::new(&function, [20, 1, 1], [32, 1, 1], &[out.into()])).unwrap_err();
    let LaunchError::Fault(fault) = &error else { panic!("{error}") };
    assert_eq!((fault.block, fault.thread), ([2, 0, 0], [13, 0, 0]));
    assert_eq!(fault.origin, Some(("kernels/src/lib.rs".to_owned(), 42)));
    assert_eq!(fault.ptx, "@%p0 trap;");
    assert!(error.to_string().ends_with("[kernels/src/lib.rs:42]"), "{error}");
    // The buffer keeps what was written before the fault.
    assert_eq!(simulator.read(out).unwrap().len(), 640);
}

#[test]
fn the_first_faulting_block_is_reported() {
    let body = "setp.ge.u32 %p0, %t0, 37;\n@%p0 trap;\n";
    let module = Module::from_ptx(kernel(body)).unwrap();
    let function = module.function("k").unwrap();
    for threads in [1, 2, 8] {
        let mut simulator = simulator(threads);
        let out = simulator.zeroed::<u32>(3200).unwrap();
        let error = simulator.launch(&Launch::new(&function, [100, 1, 1], [32, 1, 1], &[out.into()])).unwrap_err();
        let LaunchError::Fault(fault) = error else { panic!("{error}") };
        assert_eq!(fault.block, [37, 0, 0], "{threads} host threads");
    }
}

#[test]
fn special_registers_of_three_dimensions() {
    let ptx = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n\
               .reg .b32 %r<20>;\n.reg .b64 %d<4>;\n\
               mov.u32 %r0, %tid.x;\nmov.u32 %r1, %tid.y;\nmov.u32 %r2, %tid.z;\n\
               mov.u32 %r3, %ntid.x;\nmov.u32 %r4, %ntid.y;\nmov.u32 %r5, %ctaid.y;\nmov.u32 %r6, %nctaid.x;\n\
               mov.u32 %r7, %ctaid.x;\nmov.u32 %r8, %laneid;\nmov.u32 %r9, %warpid;\nmov.u32 %r10, %lanemask_lt;\n\
               mad.lo.u32 %r11, %r2, %r4, %r1;\nmad.lo.u32 %r11, %r11, %r3, %r0;\n\
               mad.lo.u32 %r12, %r5, %r6, %r7;\nmad.lo.u32 %r13, %r12, 60, %r11;\n\
               ld.param.u64 %d0, [out];\nmul.wide.u32 %d1, %r13, 16;\nadd.u64 %d0, %d0, %d1;\n\
               st.global.v4.u32 [%d0], {%r11, %r8, %r9, %r10};\nret;\n}\n";
    let function = Module::from_ptx(ptx).unwrap().function("k").unwrap();
    let mut simulator = simulator(2);
    let out = simulator.zeroed::<[u32; 4]>(6 * 60).unwrap();
    simulator.launch(&Launch::new(&function, [2, 3, 1], [5, 4, 3], &[out.into()])).unwrap();
    for (index, words) in simulator.read(out).unwrap().into_iter().enumerate() {
        let thread = index as u32 % 60;
        let lane = thread % 32;
        assert_eq!(words, [thread, lane, thread / 32, (1 << lane) - 1], "{index}");
    }
}

#[test]
fn launches_that_no_gpu_accepts() {
    let mut simulator = simulator(1);
    let out: Arg = simulator.zeroed::<u32>(256).unwrap().into();
    let (out, one) = (&[out][..], [1, 1, 1]);
    for (directive, grid, block, shared, args, words) in [
        ("", [0, 1, 1], one, 0, out, "no blocks"),
        ("", one, [1, 0, 1], 0, out, "no threads"),
        ("", one, [1025, 1, 1], 0, out, "a block of 1025 threads is too large; the maximum is 1024"),
        ("", one, [1, 1, 65], 0, out, "z is at most 64"),
        ("", one, one, 300_000, out, "shared memory"),
        ("", one, one, 0, &[], "0 arguments for 1 parameters"),
        ("", one, one, 0, &[7u32.into()], "argument 0 has 4 bytes"),
        (".maxntid 64, 1, 1", one, [64, 1, 1], 0, out, ""),
        (".maxntid 64, 1, 1", one, [65, 1, 1], 0, out, "at most 64 threads (.maxntid)"),
        (".reqntid 64", one, [32, 1, 1], 0, out, "blocks of (64, 1, 1) (.reqntid)"),
    ] {
        let head = "k(.param .u64 out)\n";
        let ptx = kernel("").replace(head, &format!("{head}{directive}\n"));
        let function = Module::from_ptx(ptx).unwrap().function("k").unwrap();
        let launch = Launch::new(&function, grid, block, args).with_shared_bytes(shared);
        let answer = simulator.launch(&launch).map_err(|error| error.to_string());
        match answer {
            Err(error) => assert!(!words.is_empty() && error.contains(words), "{error}"),
            Ok(()) => assert_eq!(words, ""),
        }
    }
}

#[test]
fn what_a_kernel_cannot_reach_does_not_matter() {
    let ptx = format!(
        "{}.visible .entry other()\n{{\ntex.1d.v4.s32.s32 {{%r1, %r2, %r3, %r4}}, [t, {{%r5}}];\nret;\n}}\n",
        kernel("")
    );
    let module = Module::from_ptx(ptx).unwrap();
    module.function("k").unwrap();
    let error = module.function("other").unwrap_err().to_string();
    assert!(error.contains("kernel `other`: line") && error.contains("tex.1d.v4.s32.s32"), "{error}");
    let error = module.function("third").unwrap_err().to_string();
    assert_eq!(error, "there is no kernel `third`; the module has k, other");
}
