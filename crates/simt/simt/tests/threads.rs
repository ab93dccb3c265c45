//! Tests of threads that wait for each other, under every schedule: lanes of a warp, warps of a block, blocks of a
//! grid.
//!
//! `programs` tests this with CUDA C++ programs; this file has the cases that those programs do not reach, and the
//! faults.

use std::time::{Duration, Instant};

use simt::counters::Value;
use simt::{Config, FaultKind, Launch, LaunchError, Module, Schedule, Simulator};

const SCHEDULES: [(Schedule, usize); 6] = [
    (Schedule::Fixed, 1),
    (Schedule::Fixed, 2),
    (Schedule::RoundRobin, 1),
    (Schedule::Random(1), 1),
    (Schedule::Random(2), 1),
    (Schedule::Random(3), 1),
];

/// Returns a kernel `k(out, shared)` that stores `%r0` to `out[%global]` at its end. `%tid`, `%lane` and `%global` are
/// the thread's index in its block, warp and grid. `shared` is zeroed memory of the grid.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 out, .param .u64 shared)\n{{\n\
         .reg .b32 %r<10>, %tid, %lane, %global, %ctaid, %ntid, %nctaid;\n\
         .reg .b64 %out, %at, %memory;\n.reg .pred %p<6>;\n.shared .align 4 .b32 tile[1024];\n\
         mov.u32 %tid, %tid.x;\nmov.u32 %ctaid, %ctaid.x;\nmov.u32 %ntid, %ntid.x;\nmov.u32 %nctaid, %nctaid.x;\n\
         and.b32 %lane, %tid, 31;\nmad.lo.u32 %global, %ctaid, %ntid, %tid;\nmov.u32 %r0, 0;\n\
         ld.param.u64 %out, [out];\nld.param.u64 %memory, [shared];\nmul.wide.u32 %at, %global, 4;\n\
         add.u64 %at, %out, %at;\n{body}\nst.global.u32 [%at], %r0;\nret;\n}}\n"
    )
}

fn launch(body: &str, (blocks, threads): (u32, u32), config: Config) -> Result<Vec<u32>, LaunchError> {
    let module = Module::from_ptx(kernel(body)).unwrap();
    let function = module.function("k").unwrap();
    let mut simulator = Simulator::new(config).unwrap();
    let out = simulator.zeroed::<u32>((blocks * threads) as usize).unwrap();
    let shared = simulator.zeroed::<u32>(1024).unwrap();
    simulator.launch(&Launch::new(&function, [blocks, 1, 1], [threads, 1, 1], &[out.into(), shared.into()]))?;
    Ok(simulator.read(out).unwrap())
}

/// Asserts that every schedule gives each thread the expected result.
fn assert_results(body: &str, (blocks, threads): (u32, u32), expected: impl Fn(u32) -> u32) {
    let expected: Vec<u32> = (0..blocks * threads).map(expected).collect();
    for (schedule, host_threads) in SCHEDULES {
        let config = Config { schedule, threads: host_threads, max_instructions: 1 << 28, ..Config::default() };
        let result = launch(body, (blocks, threads), config);
        assert_eq!(result.as_ref(), Ok(&expected), "{schedule:?}");
    }
}

/// Asserts that every schedule ends in the same kind of fault.
fn assert_fault(body: &str, (blocks, threads): (u32, u32), is_expected: impl Fn(&FaultKind) -> bool, words: &str) {
    for (schedule, host_threads) in SCHEDULES {
        let config = Config { schedule, threads: host_threads, ..Config::default() };
        match launch(body, (blocks, threads), config) {
            Err(LaunchError::Fault(fault)) => {
                assert!(is_expected(&fault.kind), "{schedule:?}: {fault}");
                assert!(fault.to_string().contains(words), "{schedule:?}: {fault}");
            }
            other => panic!("{schedule:?}: {other:?} is not a fault"),
        }
    }
}

#[test]
fn halves_of_a_warp_meet_after_their_reconvergence_point() {
    for (sync, half) in [("bar.warp.sync -1", 16), ("barrier.sync 0", 5)] {
        let body = format!(
            "setp.lt.u32 %p0, %lane, {half};\nst.shared.u32 [tile], 0;\n@!%p0 bra SKIP;\n{sync};\nSKIP:\n\
             add.u32 %r0, %tid, 1;\n@%p0 bra DONE;\n{sync};\nDONE:\n"
        );
        assert_results(&body, (1, 64), |t| t + 1);
    }
}

/// Asserts the number of store requests of a kernel under every schedule.
fn assert_store_requests(body: &str, (blocks, threads): (u32, u32), expected: u64) {
    let function = Module::from_ptx(kernel(body)).unwrap().function("k").unwrap();
    for (schedule, host_threads) in SCHEDULES {
        let mut simulator = Simulator::new(Config { schedule, threads: host_threads, ..Config::default() }).unwrap();
        let out = simulator.zeroed::<u32>((blocks * threads) as usize).unwrap();
        let args = [out.into(), simulator.zeroed::<u32>(1024).unwrap().into()];
        let launch = Launch::new(&function, [blocks, 1, 1], [threads, 1, 1], &args);
        let counters = simulator.launch_counted(&launch).unwrap();
        let requests = counters.get("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum");
        assert_eq!(requests, Some(Value::Count(expected)), "{schedule:?} on {host_threads} threads: {body}");
    }
}

/// A lane waits for another block, and the rest of its warp waits for that lane, so the warp's next store is one
/// request.
#[test]
fn a_warp_reconverges_after_a_lane_has_waited_for_another_block() {
    let load = "ld.acquire.gpu.global.u32 %r1, [%memory]";
    let atomic = "atom.global.add.u32 %r1, [%memory], 0";
    for (waits_for, poll, then) in [
        (0, load, ""),
        (1, load, ""),
        (1, load, "bar.warp.sync -1;"),
        (1, load, "barrier.sync 0;"),
        // An atomic operation may take a lock, so the rest of the warp continues up to the barrier.
        (1, atomic, "bar.warp.sync -1;"),
        (1, atomic, "barrier.sync 0;"),
        (1, atomic, "bar.sync 0;"),
        (1, atomic, "shfl.sync.idx.b32 %r0, %r1, 3, 31, -1;"),
    ] {
        let body = format!(
            "setp.ne.u32 %p0, %lane, 3;\n@%p0 bra REST;\nsetp.eq.u32 %p1, %ctaid, {waits_for};\n@%p1 bra WRITE;\n\
             WAIT:\n{poll};\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra WAIT;\nbra REST;\n\
             WRITE:\nst.release.gpu.global.u32 [%memory], 7;\nREST:\n{then}\n"
        );
        assert_store_requests(&body, (2, 32), 3);
    }
    // A grid that fills the device; each block waits for the last block.
    let body = format!(
        "setp.ne.u32 %p0, %lane, 3;\n@%p0 bra REST;\nsub.u32 %r2, %nctaid, 1;\nsetp.eq.u32 %p1, %ctaid, %r2;\n\
         @%p1 bra WRITE;\nWAIT:\n{load};\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra WAIT;\nbra REST;\n\
         WRITE:\nst.release.gpu.global.u32 [%memory], 7;\nREST:\n"
    );
    assert_store_requests(&body, (132, 32), 133);
}

/// A lane waits for a lane of its warp that has passed the reconvergence point. The two lanes are one group again after
/// the next barrier, and so are two lanes that have both waited.
#[test]
fn waiting_lanes_reconverge_at_a_barrier() {
    for then in ["bar.warp.sync -1", "barrier.sync 0", "bar.sync 0"] {
        let body = format!(
            "setp.gt.u32 %p0, %lane, 1;\n@%p0 bra REST;\nshl.b32 %r3, %lane, 2;\ncvt.u64.u32 %at, %r3;\n\
             add.u64 %memory, %memory, %at;\nWAIT:\nld.volatile.global.u32 %r1, [%memory];\nsetp.eq.u32 %p2, %r1, 0;\n\
             @%p2 bra WAIT;\nREST:\nsetp.ne.u32 %p0, %lane, 5;\n@%p0 bra END;\nst.v2.u32 [%memory], {{1, 1}};\nEND:\n\
             {then};\nmul.wide.u32 %at, %tid, 4;\nadd.u64 %at, %at, %out;"
        );
        assert_store_requests(&body, (1, 32), 2);
    }
}

#[test]
fn blocks_that_do_not_fit_cannot_wait_for_each_other() {
    let body = "setp.ne.u32 %p0, %tid, 0;\n@%p0 bra DONE;\natom.global.add.u32 %r1, [%memory], 1;\n\
                WAIT:\nld.acquire.gpu.global.u32 %r0, [%memory];\nsetp.lt.u32 %p1, %r0, %nctaid;\n@%p1 bra WAIT;\nDONE:\n";
    let config = Config { resident_blocks: 10, ..Config::default() };
    let fault = launch(body, (12, 32), config).unwrap_err().to_string();
    assert!(fault.starts_with("deadlock: warp 0 repeats itself"), "{fault}");
}

/// A GPU does not guarantee the order in which blocks begin, so a block must not wait for the block with the previous
/// number.
#[test]
fn blocks_begin_in_a_random_order_under_random_schedules() {
    let number_before = "mov.u32 %r1, %ctaid;\n";
    let ticket_before = "setp.ne.u32 %p0, %tid, 0;\n@%p0 bra DONE;\natom.global.add.u32 %r1, [%memory], 1;\n";
    let run = |number: &str, schedule, resident_blocks| {
        let body = format!(
            "{number}mul.wide.u32 %out, %r1, 4;\nadd.u64 %memory, %memory, %out;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra GO;\n\
             WAIT:\nld.acquire.gpu.global.u32 %r2, [%memory];\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra WAIT;\n\
             GO:\nst.release.gpu.global.u32 [%memory+4], 1;\nDONE:\n"
        );
        launch(&body, (150, 1), Config { schedule, resident_blocks, ..Config::default() }).map(drop)
    };
    for seed in 1..5 {
        let random = Schedule::Random(seed);
        for resident_blocks in [1, 2, 150] {
            assert_eq!(run(ticket_before, random, resident_blocks), Ok(()));
        }
        assert_eq!(run(number_before, random, 150), Ok(()));
        let fault = run(number_before, random, 2).unwrap_err().to_string();
        assert!(fault.starts_with("deadlock: warp 0 repeats itself"), "{fault}");
    }
    assert_eq!(run(number_before, Schedule::Fixed, 1), Ok(()));
}

#[test]
fn uninitialized_shared_memory_differs_between_seeds() {
    let under = |schedule| {
        launch("ld.shared.u32 %r0, [tile+64];\n", (2, 32), Config { threads: 1, schedule, ..Config::default() })
            .unwrap()
    };
    assert_eq!(under(Schedule::Fixed), [0; 64]);
    let random = under(Schedule::Random(1));
    assert_eq!(random, under(Schedule::Random(1)));
    assert!(random[0] != random[32] && random != under(Schedule::Random(2)), "{random:?}");
}

/// An operation does not wait for lanes that have ended, wherever they ended.
#[test]
fn operations_do_not_wait_for_exited_lanes() {
    let some = |operation: &str| {
        assert_results(
            &format!("setp.lt.u32 %p0, %lane, 2;\n@!%p0 bra DONE;\n{operation};\nadd.u32 %r0, %r0, 1;\nDONE:\n"),
            (1, 64),
            |tid| if tid % 32 < 2 { 1 } else { 0 },
        );
    };
    some("bar.warp.sync -1");
    some("vote.sync.all.pred %p1, %p0, -1;\n@!%p1 trap");
    some("match.all.sync.b32 %r1|%p1, %r0, -1;\n@!%p1 trap;\nsetp.ne.u32 %p1, %r1, 3;\n@%p1 trap");
    some("shfl.sync.bfly.b32 %r1, %lane, 1, 31, -1;\nadd.u32 %r1, %r1, %lane;\nsetp.ne.u32 %p1, %r1, 1;\n@%p1 trap");
    // Each round waits for fewer lanes.
    assert_results(
        "shr.u32 %r1, %lane, 3;\nAGAIN:\nredux.sync.add.u32 %r2, 1, -1;\nadd.u32 %r0, %r0, %r2;\n\
         sub.u32 %r1, %r1, 1;\nsetp.ge.s32 %p0, %r1, 0;\n@%p0 bra AGAIN;\n",
        (1, 64),
        |tid| [32, 56, 72, 80][tid as usize % 32 / 8],
    );
}

#[test]
fn endless_waits_are_faults() {
    let absent = |kind: &FaultKind| matches!(kind, FaultKind::AbsentLanes { .. });
    assert_fault(
        "setp.lt.u32 %p0, %lane, 3;\n@!%p0 bra DONE;\nshfl.sync.idx.b32 %r0, %tid, 3, 31, -1;\nDONE:\nbarrier.sync 0;\n",
        (1, 32),
        absent,
        "names lanes that are not there (0xfffffff8)",
    );
    let deadlock = |kind: &FaultKind| matches!(kind, FaultKind::Deadlock { .. });
    assert_fault(
        "WAIT:\nld.volatile.global.u32 %r0, [%memory];\nsetp.eq.u32 %p0, %r0, 0;\n@%p0 bra WAIT;\n",
        (20, 64),
        deadlock,
        "repeats itself and reads no new value",
    );
    // Each iteration stores the value that the memory already holds.
    assert_fault(
        "mov.u32 %r3, 0x71000000;\ncvt.u64.u32 %at, %r3;\nshl.b64 %at, %at, 16;\nWAIT:\nst.volatile.global.u32 [%memory+4], 1;\n\
         st.u32 [%at+8], 7;\nst.shared.u32 [tile], 3;\nred.global.max.u32 [%memory+8], 5;\nst.v2.u32 [%memory+16], {1, 2};\n\
         ld.volatile.global.u32 %r0, [%memory];\nsetp.eq.u32 %p0, %r0, 0;\n@%p0 bra WAIT;\n",
        (1, 64),
        deadlock,
        "warp 0 repeats itself and reads no new value",
    );
    assert_fault(
        "setp.lt.u32 %p0, %tid, 32;\n@%p0 barrier.sync 1;\n@!%p0 barrier.sync 2;\n",
        (1, 64),
        deadlock,
        "warp 0 waits at barrier 1, warp 1 waits at barrier 2",
    );
}

#[test]
fn budget_and_time_limit_apply_to_the_launch() {
    let config = Config { max_instructions: 100, ..Config::default() };
    let error = launch("", (300, 32), config).unwrap_err().to_string();
    assert!(error.starts_with("more than 100 instructions executed"), "{error}");
    let config = Config { time_limit: Some(Duration::from_millis(50)), ..Config::default() };
    let start = Instant::now();
    let endless = "LOOP:\nadd.u32 %r1, %r1, 1;\nsetp.ne.u32 %p0, %nctaid, 0;\n@%p0 bra LOOP;\n";
    let error = launch(endless, (4, 32), config).unwrap_err().to_string();
    assert!(error.starts_with("time limit of 50ms exceeded"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn endless_recursion_without_local_memory_is_a_fault() {
    let ptx = ".version 8.0\n.target sm_90\n.address_size 64\n.func f()\n{\n.reg .b32 %r<9>;\nadd.u32 %r1, %r1, 1;\n\
               call f, ();\nret;\n}\n.visible .entry k()\n{\ncall f, ();\nret;\n}\n";
    let function = Module::from_ptx(ptx).unwrap().function("k").unwrap();
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let error = simulator.launch(&Launch::new(&function, [1, 1, 1], [32, 1, 1], &[])).unwrap_err().to_string();
    assert!(error.starts_with("calls nested too deeply"), "{error}");
}
