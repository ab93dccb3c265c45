//! Divergence, barriers, budgets and faults, on whole kernels.
use simt::{Arg, Config, FaultKind, Launch, LaunchError, Machine, Module};

/// A kernel `k(out)` whose body finds its thread index in `%tid` and writes `%r0` to `out[%tid]` of its
/// block at the label DONE.
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

fn machine(threads: usize) -> Machine {
    let config = Config {
        threads,
        max_instructions: 10_000_000,
        ..Config::default()
    };
    Machine::new(config).unwrap()
}

fn try_run(body: &str, blocks: u32, threads: u32) -> Result<Vec<u32>, LaunchError> {
    let module = Module::from_ptx(kernel(body)).unwrap();
    let function = module.function("k").unwrap();
    let mut machine = machine(2);
    let out = machine.zeroed::<u32>((blocks * threads) as usize).unwrap();
    machine.launch(
        &Launch::new(&function, [blocks, 1, 1], [threads, 1, 1], &[out.into()])
            .with_shared_bytes(64),
    )?;
    Ok(machine.read(out).unwrap())
}

fn run(body: &str, threads: u32) -> Vec<u32> {
    try_run(body, 1, threads).unwrap()
}

fn fault(body: &str, threads: u32) -> (FaultKind, String) {
    match try_run(body, 1, threads) {
        Err(LaunchError::Fault(fault)) => (fault.kind.clone(), fault.to_string()),
        other => panic!("{other:?} is no fault"),
    }
}

#[test]
fn an_if_with_an_else_for_odd_lanes() {
    let body = "and.b32 %r1, %tid, 1;\nsetp.eq.u32 %p0, %r1, 1;\n@%p0 bra ODD;\nadd.u32 %r0, %tid, 100;\n\
                bra DONE;\nODD:\nadd.u32 %r0, %tid, 1000;\n";
    let expected: Vec<u32> = (0..64)
        .map(|t| t + if t % 2 == 1 { 1000 } else { 100 })
        .collect();
    assert_eq!(run(body, 64), expected);
}

#[test]
fn a_loop_that_each_lane_leaves_when_it_likes() {
    // r0 = 0 + 1 + … + tid
    let body = "mov.u32 %r1, 0;\nLOOP:\nadd.u32 %r0, %r0, %r1;\nadd.u32 %r1, %r1, 1;\n\
                setp.le.u32 %p0, %r1, %tid;\n@%p0 bra LOOP;\n";
    let expected: Vec<u32> = (0..40).map(|t| t * (t + 1) / 2).collect();
    assert_eq!(run(body, 40), expected);
}

#[test]
fn nested_loops_with_breaks() {
    // The Collatz steps of tid + 1, counted in an inner loop that halves.
    let body = "add.u32 %r1, %tid, 1;\nOUTER:\nsetp.eq.u32 %p0, %r1, 1;\n@%p0 bra DONE;\nINNER:\n\
                and.b32 %r2, %r1, 1;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra ODD;\nshr.u32 %r1, %r1, 1;\n\
                add.u32 %r0, %r0, 1;\nbra INNER;\nODD:\nsetp.eq.u32 %p2, %r1, 1;\n@%p2 bra DONE;\n\
                mad.lo.u32 %r1, %r1, 3, 1;\nadd.u32 %r0, %r0, 1;\nbra OUTER;\n";
    let steps = |mut n: u32| {
        let mut count = 0;
        while n != 1 {
            n = if n.is_multiple_of(2) {
                n / 2
            } else {
                3 * n + 1
            };
            count += 1;
        }
        count
    };
    assert_eq!(run(body, 96), (1..=96).map(steps).collect::<Vec<_>>());
}

#[test]
fn lanes_that_exit_are_gone_and_the_rest_goes_on() {
    let body = "setp.lt.u32 %p0, %tid, 10;\n@%p0 exit;\nmov.u32 %r0, 7;\nbar.sync 0;\n";
    let expected: Vec<u32> = (0..64).map(|t| if t < 10 { 0 } else { 7 }).collect();
    assert_eq!(run(body, 64), expected);
}

#[test]
fn a_branch_through_a_table_of_targets() {
    let body = "and.b32 %r1, %tid, 3;\nTABLE: .branchtargets A, B, A, C;\nbrx.idx %r1, TABLE;\n\
                A:\nmov.u32 %r0, 10;\nbra DONE;\nB:\nmov.u32 %r0, 20;\nbra DONE;\nC:\nmov.u32 %r0, 30;\n";
    let expected: Vec<u32> = (0..32).map(|t| [10, 20, 10, 30][t % 4]).collect();
    assert_eq!(run(body, 32), expected);
    let (kind, _) = fault("TABLE: .branchtargets DONE;\nbrx.idx %tid, TABLE;\n", 32);
    assert_eq!(
        kind,
        FaultKind::BadIndex {
            index: 1,
            targets: 1
        }
    );
}

const REVERSE: &str = "mov.u32 %r1, tile;\nmad.lo.u32 %r2, %tid, 4, %r1;\nst.shared.u32 [%r2], %global;\n\
                       bar.sync 0;\nsub.u32 %r3, %t1, %tid;\nsub.u32 %r3, %r3, 1;\n\
                       mad.lo.u32 %r3, %r3, 4, %r1;\nld.shared.u32 %r0, [%r3];\n";

#[test]
fn shared_memory_crosses_warps_at_a_barrier() {
    let expected: Vec<u32> = (0..50)
        .flat_map(|b| (0..200).map(move |t| b * 200 + 199 - t))
        .collect();
    assert_eq!(try_run(REVERSE, 50, 200).unwrap(), expected);
}

#[test]
fn results_do_not_depend_on_the_number_of_host_threads() {
    let module = Module::from_ptx(kernel(REVERSE)).unwrap();
    let function = module.function("k").unwrap();
    let results: Vec<Vec<u32>> = [1, 2, 8]
        .into_iter()
        .map(|threads| {
            let mut machine = machine(threads);
            let out = machine.zeroed::<u32>(100 * 96).unwrap();
            machine
                .launch(&Launch::new(
                    &function,
                    [100, 1, 1],
                    [96, 1, 1],
                    &[out.into()],
                ))
                .unwrap();
            machine.read(out).unwrap()
        })
        .collect();
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn barriers_that_count_and_combine() {
    let odd = "and.b32 %r1, %tid, 1;\nsetp.ne.u32 %p0, %r1, 0;\n";
    let count = run(&format!("{odd}bar.red.popc.u32 %r0, 0, %p0;\n"), 70);
    assert!(count.iter().all(|count| *count == 35), "{count:?}");
    let all = run(
        &format!("{odd}bar.red.and.pred %p1, 0, %p0;\nselp.u32 %r0, 1, 0, %p1;\n"),
        70,
    );
    assert!(all.iter().all(|all| *all == 0), "{all:?}");
    let any = run(
        &format!("{odd}bar.red.or.pred %p1, 0, !%p0;\nselp.u32 %r0, 1, 0, %p1;\n"),
        70,
    );
    assert!(any.iter().all(|any| *any == 1), "{any:?}");
}

#[test]
fn arriving_without_waiting() {
    // Warp 0 writes and arrives; warp 1 waits for both and reads.
    let body = "setp.ge.u32 %p0, %tid, 32;\n@%p0 bra READ;\nst.shared.u32 [tile], 5;\nbar.arrive 1, 64;\n\
                bra DONE;\nREAD:\nbar.sync 1, 64;\nld.shared.u32 %r0, [tile];\n";
    let expected: Vec<u32> = (0..64).map(|t| if t < 32 { 0 } else { 5 }).collect();
    assert_eq!(run(body, 64), expected);
}

#[test]
fn warps_that_ended_are_not_waited_for() {
    let body = "setp.lt.u32 %p0, %tid, 64;\n@%p0 bra DONE;\nbar.sync 0;\nmov.u32 %r0, 3;\n";
    let expected: Vec<u32> = (0..128).map(|t| if t < 64 { 0 } else { 3 }).collect();
    assert_eq!(run(body, 128), expected);
}

#[test]
fn one_warp_may_wait_for_another_in_a_loop() {
    let body = "setp.ge.u32 %p0, %tid, 32;\n@%p0 bra WRITE;\nWAIT:\nld.volatile.shared.u32 %r0, [tile];\n\
                setp.eq.u32 %p1, %r0, 0;\n@%p1 bra WAIT;\nbra DONE;\nWRITE:\nst.volatile.shared.u32 [tile], 9;\n";
    let expected: Vec<u32> = (0..64).map(|t| if t < 32 { 9 } else { 0 }).collect();
    assert_eq!(run(body, 64), expected);
}

#[test]
fn warp_operations_among_the_lanes_that_are_there() {
    let body = "setp.lt.u32 %p0, %tid, 16;\n@!%p0 bra DONE;\nshfl.sync.idx.b32 %r0, %tid, 3, 31, 0xffff;\n";
    let expected: Vec<u32> = (0..32).map(|t| if t < 16 { 3 } else { 0 }).collect();
    assert_eq!(run(body, 32), expected);
    let (kind, text) = fault(&body.replace("0xffff", "-1"), 32);
    assert_eq!(kind, FaultKind::AbsentLanes { lanes: 0xffff_0000 });
    assert!(
        text.contains("names lanes that are not there (0xffff0000)"),
        "{text}"
    );
}

#[test]
fn a_barrier_in_a_branch_of_some_lanes_is_a_fault() {
    let (kind, text) = fault(
        "setp.lt.u32 %p0, %tid, 5;\n@!%p0 bra DONE;\nbar.sync 0;\n",
        64,
    );
    assert_eq!(
        kind,
        FaultKind::DivergentBarrier {
            here: 0x1f,
            elsewhere: 0xffff_ffe0
        }
    );
    assert!(
        text.contains("reached by some threads of a warp only (5 lanes are there, 27 are not)"),
        "{text}"
    );
    assert!(
        text.contains("kernel `k`, block (0, 0, 0), thread (0, 0, 0)"),
        "{text}"
    );
    assert!(text.contains("bar.sync 0;"), "{text}");
}

#[test]
fn warps_at_different_barriers_are_a_deadlock() {
    let (kind, text) = fault(
        "setp.lt.u32 %p0, %tid, 32;\n@%p0 bar.sync 1;\n@!%p0 bar.sync 2;\n",
        64,
    );
    assert!(matches!(kind, FaultKind::Deadlock { .. }), "{kind:?}");
    assert!(
        text.contains("warp 0 waits at barrier 1, warp 1 waits at barrier 2"),
        "{text}"
    );
}

#[test]
fn barriers_out_of_range() {
    let (kind, _) = fault("mov.u32 %r1, 16;\nbar.sync %r1;\n", 32);
    assert!(matches!(kind, FaultKind::BadBarrier { .. }), "{kind:?}");
    let (kind, _) = fault("mov.u32 %r1, 33;\nbar.sync 0, %r1;\n", 64);
    assert!(matches!(kind, FaultKind::BadBarrier { .. }), "{kind:?}");
}

#[test]
fn an_endless_loop_ends_with_its_budget() {
    let (kind, text) = fault("LOOP:\nadd.u32 %r1, %r1, 1;\nbra LOOP;\n", 64);
    assert_eq!(
        kind,
        FaultKind::Budget {
            instructions: 10_000_000
        }
    );
    assert!(text.contains("more than 10000000 instructions"), "{text}");
}

#[test]
fn a_trap_tells_who_and_where() {
    let ptx = kernel(".loc 1 42 7\nsetp.eq.u32 %p0, %global, 77;\n@%p0 trap;\n").replace(
        ".address_size 64\n",
        ".address_size 64\n.file 1 \"kernels/src/lib.rs\"\n",
    );
    let function = Module::from_ptx(ptx).unwrap().function("k").unwrap();
    let mut machine = machine(2);
    let out = machine.zeroed::<u32>(640).unwrap();
    let error = machine
        .launch(&Launch::new(
            &function,
            [20, 1, 1],
            [32, 1, 1],
            &[out.into()],
        ))
        .unwrap_err();
    let LaunchError::Fault(fault) = &error else {
        panic!("{error}")
    };
    assert_eq!((fault.block, fault.thread), ([2, 0, 0], [13, 0, 0]));
    assert_eq!(fault.origin, Some(("kernels/src/lib.rs".to_owned(), 42)));
    assert_eq!(fault.ptx, "@%p0 trap;");
    assert!(
        error.to_string().ends_with("[kernels/src/lib.rs:42]"),
        "{error}"
    );
    // The memory holds what was written before the fault.
    assert_eq!(machine.read(out).unwrap().len(), 640);
}

#[test]
fn the_first_block_that_faults_is_told_whatever_the_host_does() {
    let body = "setp.ge.u32 %p0, %t0, 37;\n@%p0 trap;\n";
    let module = Module::from_ptx(kernel(body)).unwrap();
    let function = module.function("k").unwrap();
    for threads in [1, 2, 8] {
        let mut machine = machine(threads);
        let out = machine.zeroed::<u32>(3200).unwrap();
        let error = machine
            .launch(&Launch::new(
                &function,
                [100, 1, 1],
                [32, 1, 1],
                &[out.into()],
            ))
            .unwrap_err();
        let LaunchError::Fault(fault) = error else {
            panic!("{error}")
        };
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
    let mut machine = machine(2);
    let out = machine.zeroed::<[u32; 4]>(6 * 60).unwrap();
    machine
        .launch(&Launch::new(&function, [2, 3, 1], [5, 4, 3], &[out.into()]))
        .unwrap();
    for (index, words) in machine.read(out).unwrap().into_iter().enumerate() {
        let thread = index as u32 % 60;
        let lane = thread % 32;
        assert_eq!(
            words,
            [thread, lane, thread / 32, (1 << lane) - 1],
            "{index}"
        );
    }
}

#[test]
fn launches_that_no_gpu_takes() {
    let module = Module::from_ptx(kernel("")).unwrap();
    let function = module.function("k").unwrap();
    let mut machine = machine(1);
    let out = machine.zeroed::<u32>(64).unwrap();
    let arg: Arg = out.into();
    let mut refused = |grid, block, shared, args: &[Arg]| {
        machine
            .launch(&Launch::new(&function, grid, block, args).with_shared_bytes(shared))
            .unwrap_err()
            .to_string()
    };
    let one = [1, 1, 1];
    assert!(refused([0, 1, 1], one, 0, std::slice::from_ref(&arg)).contains("no blocks"));
    assert!(refused(one, [1, 0, 1], 0, std::slice::from_ref(&arg)).contains("no threads"));
    assert!(refused(one, [1025, 1, 1], 0, std::slice::from_ref(&arg)).contains("at most 1024"));
    assert!(refused(one, [1, 1, 65], 0, std::slice::from_ref(&arg)).contains("z is at most 64"));
    assert!(refused(one, one, 300_000, std::slice::from_ref(&arg)).contains("shared memory"));
    assert!(refused(one, one, 0, &[]).contains("0 arguments for 1 parameters"));
    assert!(refused(one, one, 0, &[7u32.into()]).contains("argument 0 has 4 bytes"));
}

#[test]
fn blocks_that_a_kernel_was_not_compiled_for() {
    let bounded = |directive: &str| {
        let ptx = kernel("").replace(
            "k(.param .u64 out)\n",
            &format!("k(.param .u64 out)\n{directive}\n"),
        );
        Module::from_ptx(ptx).unwrap().function("k").unwrap()
    };
    let mut machine = machine(1);
    let out = machine.zeroed::<u32>(256).unwrap();
    let most = bounded(".maxntid 64, 1, 1");
    machine
        .launch(&Launch::new(&most, [1, 1, 1], [64, 1, 1], &[out.into()]))
        .unwrap();
    let error = machine
        .launch(&Launch::new(&most, [1, 1, 1], [65, 1, 1], &[out.into()]))
        .unwrap_err();
    assert!(
        error.to_string().contains("at most 64 threads (.maxntid)"),
        "{error}"
    );
    let exactly = bounded(".reqntid 64");
    let error = machine
        .launch(&Launch::new(&exactly, [1, 1, 1], [32, 1, 1], &[out.into()]))
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("blocks of (64, 1, 1) (.reqntid)"),
        "{error}"
    );
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
    assert!(
        error.contains("kernel `other`: line") && error.contains("tex.1d.v4.s32.s32"),
        "{error}"
    );
    let error = module.function("third").unwrap_err().to_string();
    assert_eq!(error, "there is no kernel `third`; there are k, other");
}

#[test]
fn special_registers_are_not_written() {
    for instruction in [
        "mov.u32 %tid.x, 1;",
        "add.u32 %laneid, %r1, 1;",
        "ld.shared.u32 %ntid.x, [tile];",
    ] {
        let module = Module::from_ptx(kernel(instruction)).unwrap();
        let error = module.function("k").unwrap_err().to_string();
        assert!(error.contains("special register"), "{instruction}: {error}");
    }
}
