//! Tests of loops in which threads wait. A loop that can never end is a fault, even if it counts or changes values that
//! do not affect it; a loop that ends without help from outside runs to its end.

use std::time::{Duration, Instant};

use simt::observe::{Access, Observer, Reg, Requests, Site, Step, WarpId};
use simt::{Config, FaultKind, Launch, LaunchError, Module, Schedule, Simulator};

/// Returns a kernel with this body; it stores `%r0` to the thread's element.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 memory)\n{{\n\
         .reg .pred %p<4>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .b64 %memory;\n.local .u32 count;\n\
         ld.param.u64 %rd0, [out];\nld.param.u64 %memory, [memory];\nmov.u32 %r8, %tid.x;\nmul.wide.u32 %rd1, %r8, 4;\n\
         add.u64 %rd0, %rd0, %rd1;\nmov.u32 %r1, 0;\nst.local.u32 [count], 0;\n{body}\nst.global.u32 [%rd0], %r0;\nret;\n}}\n"
    )
}

/// Runs the kernel in `blocks` blocks of 64 threads, under each schedule.
fn run(body: &str, blocks: u32, mut check: impl FnMut(Result<Vec<u32>, LaunchError>)) {
    let function = Module::from_ptx(kernel(body)).unwrap().function("k").unwrap();
    for schedule in [Schedule::Fixed, Schedule::RoundRobin, Schedule::Random(3)] {
        let config = Config { schedule, resident_blocks: 10, ..Config::default() };
        let mut simulator = Simulator::new(config).unwrap();
        let (out, memory) = (simulator.zeroed::<u32>(64).unwrap(), simulator.zeroed::<u32>(16).unwrap());
        let args = [out.into(), memory.into()];
        let result = simulator.launch(&Launch::new(&function, [blocks, 1, 1], [64, 1, 1], &args));
        check(result.map(|()| simulator.read(out).unwrap()));
    }
}

#[test]
fn a_warp_that_only_counts_waits_forever() {
    let bodies = [
        // The count is in a register, and so is a product of it.
        "L:\nadd.u32 %r1, %r1, 1;\nmul.lo.u32 %r2, %r1, %r1;\nld.volatile.global.u32 %r0, [%memory];\n\
         setp.eq.u32 %p0, %r0, 0;\n@%p0 bra L;\nadd.u32 %r0, %r1, %r2;",
        // The count is in local memory, as in code without optimization.
        "L:\nld.local.u32 %r1, [count];\nadd.u32 %r1, %r1, 1;\nst.local.u32 [count], %r1;\n\
         ld.volatile.global.u32 %r0, [%memory];\nsetp.eq.u32 %p0, %r0, 0;\n@%p0 bra L;\nld.local.u32 %r0, [count];",
        // The warp waits for a lock that no thread ever releases.
        "st.volatile.global.u32 [%memory], 1;\nL:\nadd.u32 %r1, %r1, 1;\natom.global.cas.b32 %r0, [%memory], 0, 1;\n\
         setp.ne.u32 %p0, %r0, 0;\n@%p0 bra L;\nmov.u32 %r0, %r1;",
        // The warp counts only where a predicate holds, and no instruction reads the carry.
        "L:\nsetp.lt.u32 %p1, %r8, 7;\n@%p1 add.cc.u32 %r1, %r1, 3;\n@%p1 addc.u32 %r2, %r2, 0;\n\
         ld.volatile.global.u32 %r0, [%memory];\nsetp.eq.u32 %p0, %r0, 0;\n@%p0 bra L;\nadd.u32 %r0, %r1, %r2;",
    ];
    for (number, body) in bodies.into_iter().enumerate() {
        // For the first loop, also launch more blocks than fit; the result must be the same.
        for blocks in [1, 12].into_iter().take(if number == 0 { 2 } else { 1 }) {
            let start = Instant::now();
            run(body, blocks, |result| match result {
                Err(LaunchError::Fault(fault)) => {
                    assert!(matches!(fault.kind, FaultKind::Deadlock { .. }), "{body}\n{fault}");
                    assert!(fault.to_string().contains("repeats itself"), "{fault}");
                }
                other => panic!("{other:?} is not a fault"),
            });
            assert!(start.elapsed() < Duration::from_secs(60));
        }
    }
}

#[test]
fn polling_blocks_that_do_not_fit_deadlock() {
    let body = "atom.global.add.u32 %r2, [%memory], 1;\nmov.u32 %r3, %nctaid.x;\nmul.lo.u32 %r3, %r3, 64;\nL:\n\
                add.u32 %r1, %r1, 1;\nld.volatile.global.u32 %r0, [%memory];\nsetp.lt.u32 %p0, %r0, %r3;\n@%p0 bra L;";
    run(body, 12, |result| {
        let fault = result.unwrap_err().to_string();
        assert!(fault.starts_with("deadlock: "), "{fault}");
    });
    run(body, 10, |result| assert_eq!(result.unwrap(), [640; 64]));
}

/// 256 warps wait for each other. After one warp is found to repeat itself, the others are checked sooner. Together
/// they execute a quarter of the instructions that they would if each were first checked after 2^14 instructions.
#[test]
fn many_warps_that_wait_for_each_other_cost_little() {
    let body = "atom.global.add.u32 %r2, [%memory], 1;\nmov.u32 %r3, %nctaid.x;\nshl.b32 %r3, %r3, 10;\nL:\n\
                ld.volatile.global.u32 %r0, [%memory];\nsetp.lt.u32 %p0, %r0, %r3;\n@%p0 bra L;";
    let function = Module::from_ptx(kernel(body)).unwrap().function("k").unwrap();
    let mut simulator =
        Simulator::new(Config { max_instructions: 1_000_000, threads: 1, ..Config::default() }).unwrap();
    let (out, memory) = (simulator.zeroed::<u32>(1024).unwrap(), simulator.zeroed::<u32>(16).unwrap());
    let args = [out.into(), memory.into()];
    simulator.launch(&Launch::new(&function, [8, 1, 1], [1024, 1, 1], &args)).unwrap();
    assert_eq!(simulator.read(out).unwrap(), [8192; 1024]);
}

#[test]
fn counting_loops_end() {
    let bodies = [
        // The number of attempts is limited.
        (
            "100000",
            "L:\nadd.u32 %r1, %r1, 1;\nld.volatile.global.u32 %r0, [%memory];\nsetp.ge.u32 %p1, %r1, 100000;\n\
         @%p1 bra DONE;\nsetp.eq.u32 %p0, %r0, 0;\n@%p0 bra L;\nDONE:\nmov.u32 %r0, %r1;",
        ),
        // The count is in local memory.
        (
            "50000",
            "L:\nld.local.u32 %r1, [count];\nadd.u32 %r1, %r1, 1;\nst.local.u32 [count], %r1;\n\
         ld.volatile.global.u32 %r0, [%memory];\nld.local.u32 %r2, [count];\nsetp.lt.u32 %p0, %r2, 50000;\n@%p0 bra L;\n\
         mov.u32 %r0, %r2;",
        ),
        // The carry decides, after 2^32 / 2^16 rounds.
        (
            "65536",
            "L:\nadd.u32 %r1, %r1, 1;\nadd.cc.u32 %r2, %r2, 65536;\naddc.u32 %r3, 0, 0;\n\
         ld.volatile.global.u32 %r0, [%memory];\nsetp.eq.u32 %p0, %r3, %r0;\n@%p0 bra L;\nmov.u32 %r0, %r1;",
        ),
        // The count decides which address the warp stores to, and the loop reads one of these addresses.
        (
            "9",
            "mov.u32 %r2, 0;\nL:\nadd.u32 %r2, %r2, 1;\nshr.u32 %r3, %r2, 16;\nmul.wide.u32 %rd2, %r3, 4;\n\
         add.u64 %rd2, %rd2, %memory;\nst.volatile.global.u32 [%rd2], 9;\nld.volatile.global.u32 %r0, [%memory+8];\n\
         setp.eq.u32 %p0, %r0, 0;\n@%p0 bra L;",
        ),
    ];
    for (expected, body) in bodies {
        let expected: u32 = expected.parse().unwrap();
        run(body, 1, |result| assert_eq!(result.unwrap(), [expected; 64], "{body}"));
    }
}

/// The round overwrites the register with the old value before it ends, so only memory shows that the warp makes
/// progress.
#[test]
fn a_counter_in_memory_counts_as_progress() {
    let body = "setp.ne.u32 %p1, %r8, 0;\n@%p1 bra DONE;\nL:\natom.global.add.u32 %r1, [%memory], 1;\n\
                setp.lt.u32 %p0, %r1, 60000;\nmov.u32 %r1, 0;\n@%p0 bra L;\nDONE:\nmov.u32 %r0, 5;";
    // The predicate is the same at each `L` except for the first and the last.
    run(body, 1, |result| assert_eq!(result.unwrap(), [5; 64]));
}

#[test]
fn blocks_after_a_fault_are_skipped() {
    let function = Module::from_ptx(kernel("")).unwrap().function("k").unwrap();
    let mut simulator = Simulator::new(Config { max_instructions: 1000, ..Config::default() }).unwrap();
    let out = simulator.zeroed::<u32>(64).unwrap();
    let args = [out.into(), out.into()];
    let start = Instant::now();
    let launch = Launch::new(&function, [0x7fff_ffff, 65535, 65535], [64, 1, 1], &args);
    let error = simulator.launch(&launch).unwrap_err().to_string();
    assert!(error.starts_with("more than 1000 instructions executed"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(20));
}

/// Tracks which parameter each 64-bit register was computed from, through additions.
#[derive(Default)]
struct Provenance {
    known: Vec<(Reg, u64)>,
    address: Option<Reg>,
    seen: Vec<String>,
    loaded: Option<(Reg, u64)>,
}

impl Observer for Provenance {
    const REQUESTS: Requests = Requests::STEPS;

    fn fork(&self) -> Self {
        Self::default()
    }

    fn merge(&mut self, other: Self) {
        self.seen.extend(other.seen);
    }

    fn step(&mut self, step: &Step<'_>) {
        let from = step.reads().iter().find_map(|reg| self.known.iter().find(|(known, _)| known == reg));
        let from = from.map(|(_, parameter)| *parameter);
        self.known.retain(|(known, _)| !step.writes().contains(known));
        if let (Some(parameter), [to @ Reg::R64(_)]) = (from, step.writes()) {
            self.known.push((*to, parameter));
        }
        self.loaded = step.writes().first().map(|to| (*to, 0));
        self.address = step.addresses.first().copied();
        if let Some(name) = self.address.and_then(|address| step.registers.name(address)) {
            let address = self.address.unwrap();
            assert_eq!(step.registers.get(&name), Some(step.registers.value(address)));
            self.seen.push(name);
        }
    }

    fn access(&mut self, _: Site, _: WarpId, access: &Access<'_>) {
        if let (simt::observe::Space::Param, Some((to, _))) = (access.space, self.loaded) {
            self.known.push((to, access.addresses[0]));
        } else if let Some((_, parameter)) = self.known.iter().find(|(known, _)| Some(*known) == self.address) {
            self.seen.push(format!("made of the parameter at {parameter}"));
        }
    }
}

#[test]
fn an_observer_that_follows_pointers() {
    let body =
        "add.u64 %rd3, %rd0, 0;\nadd.u64 %rd4, %memory, 8;\nld.global.u32 %r0, [%rd4];\nst.global.u32 [%rd3], %r0;";
    let function = Module::from_ptx(kernel(body)).unwrap().function("k").unwrap();
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let (out, memory) = (simulator.zeroed::<u32>(64).unwrap(), simulator.zeroed::<u32>(16).unwrap());
    let args = [out.into(), memory.into()];
    let launch = Launch::new(&function, [1, 1, 1], [32, 1, 1], &args);
    let seen = simulator.launch_observed(&launch, Provenance::default()).unwrap().seen;
    let parameter = |at: u32| format!("made of the parameter at {at}");
    assert_eq!(
        seen,
        ["%rd4".to_owned(), parameter(8), "%rd3".to_owned(), parameter(0), "%rd0".to_owned(), parameter(0)]
    );
}
