//! Tests of the sanitizer `sync`: each fault has a correct counterpart.

use simt::{Config, Launch, Module, Schedule, Simulator};
use simt_check::{Check, Checks, Finding, Sanitized};

use crate::programs::{programs, simulator};

/// Returns a kernel `k(out)` with these statements, whose result is in `%r0`.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"a.cu\"\n.visible .entry k(.param .u64 out)\n{{\n\
         .reg .b32 %r<10>, %tid, %lane;\n.reg .b64 %out, %d<6>;\n.reg .pred %p<6>;\n\
         .shared .align 16 .b8 tile[1024];\n.shared .align 8 .b64 bar;\n\
         mov.u32 %tid, %tid.x;\nand.b32 %lane, %tid, 31;\nmov.u32 %r0, 0;\nld.param.u64 %out, [out];\n\
         {body}\nst.global.u32 [%out], %r0;\nret;\n}}\n"
    )
}

fn findings(body: &str, threads: u32, schedule: Schedule) -> Vec<Finding> {
    findings_in(body, (1, threads), schedule)
}

/// Returns the findings of a launch of a cluster of `blocks` blocks.
fn findings_in(body: &str, (blocks, threads): (u32, u32), schedule: Schedule) -> Vec<Finding> {
    let function = Module::from_ptx(kernel(body)).unwrap().function("k").unwrap();
    let mut simulator = Simulator::new(Config { threads: 1, schedule, ..Config::default() }).unwrap();
    let out = simulator.zeroed::<u32>(1024).unwrap();
    let args = [out.into()];
    let launch = Launch::new(&function, [blocks, 1, 1], [threads, 1, 1], &args).with_cluster(Some([blocks, 1, 1]));
    let Sanitized { result, findings, .. } = Checks::NONE.with(Check::Sync).launch(&mut simulator, &launch);
    assert!(result.is_ok() || !findings.is_empty(), "{result:?}");
    findings
}

const SCHEDULES: [Schedule; 4] = [Schedule::Fixed, Schedule::RoundRobin, Schedule::Random(1), Schedule::Random(2)];

/// Asserts that there is one finding, which contains `what`. Its line contains `line`, and the line of the other party
/// `other`.
#[track_caller]
fn assert_finding(body: &str, threads: u32, what: &str, line: &str, other: Option<&str>) {
    for schedule in SCHEDULES {
        let all = findings(body, threads, schedule);
        let [finding] = &all[..] else { panic!("{schedule}: {all:?}\n{body}") };
        assert!(finding.what.contains(what), "{schedule}: {}", finding.what);
        let text = kernel(body);
        let line_of = |number: u32| text.lines().nth(number as usize - 1).unwrap();
        assert!(line_of(finding.ptx_line).contains(line), "{schedule}: {finding}");
        let other_line = finding.other.as_ref().map(|other| line_of(other.ptx_line));
        match other {
            Some(other) => {
                assert!(other_line.is_some_and(|other_line| other_line.contains(other)), "{schedule}: {finding}");
            }
            None => assert_eq!(other_line, None, "{schedule}: {finding}"),
        }
    }
}

#[track_caller]
fn assert_clean(body: &str, threads: u32) {
    for schedule in SCHEDULES {
        let all = findings(body, threads, schedule);
        assert!(all.is_empty(), "{schedule}: {}\n{body}", all[0]);
    }
}

#[test]
fn extra_barrier_findings_on_request() {
    // In `ends`, the second half of the block ends first. In `arms`, each warp has a separate barrier from line 7.
    let ends = "setp.ge.u32 %p1, %tid, 40;\n@%p1 ret;\nbar.sync 0;";
    let arms =
        "setp.ge.u32 %p1, %tid, 32;\n@%p1 bra L;\n.loc 1 7 5\nbar.sync 0;\nbra M;\nL:\n.loc 1 7 5\nbar.sync 0;\nM:";
    let after_the_last = "bar.sync 0;\nsetp.ge.u32 %p1, %tid, 40;\n@%p1 ret;";
    let expected = [
        (
            ends,
            Some(
                "24 threads of the block ended without reaching barrier 0, which the other threads of the block wait at",
            ),
        ),
        (arms, Some("warp 1 waits at barrier 0 here and warp 0 at another instruction")),
        (after_the_last, None),
    ];
    for (body, what) in expected {
        assert_clean(body, 64);
        let function = Module::from_ptx(kernel(body)).unwrap().function("k").unwrap();
        let mut simulator = Simulator::new(Config { threads: 1, ..Config::default() }).unwrap();
        let args = [simulator.zeroed::<u32>(1024).unwrap().into()];
        let launch = Launch::new(&function, [2, 1, 1], [64, 1, 1], &args);
        let Sanitized { result, findings, .. } = "barriers".parse::<Checks>().unwrap().launch(&mut simulator, &launch);
        result.unwrap();
        let found: Vec<&str> = findings.iter().map(|finding| finding.what.as_str()).collect();
        assert_eq!(found.len(), usize::from(what.is_some()), "{found:?}");
        assert!(what.is_none_or(|what| found[0].starts_with(what)), "{found:?}");
        assert!(
            findings
                .iter()
                .all(|finding| (finding.check, finding.times) == (Check::Sync, 2) && finding.other.is_some())
        );
    }
}

#[test]
fn barriers_in_divergent_code() {
    let both = |sync: &str, split: &str| {
        format!("setp.lt.u32 %p0, {split};\n@%p0 bra A;\n{sync} 0; // even\nbra DONE;\nA:\n{sync} 0; // odd\nDONE:\n")
    };
    let aligned = both("bar.sync", "%lane, 16");
    assert_finding(&aligned, 64, "barrier in divergent code: lanes", "bar.sync 0;", Some("bar.sync 0;"));
    assert_clean(&both("barrier.sync", "%lane, 16"), 64);
    // Each warp takes one branch. The PTX is correct, but a source with one barrier in each branch is not.
    let per_warp = both("bar.sync", "%tid, 32");
    let what = "waits at barrier 0 here and warp";
    assert_finding(&per_warp, 64, what, "// odd", Some("// even"));
    assert_finding(&per_warp, 96, what, "// odd", Some("// even"));
    assert_clean(&per_warp, 32);
    assert_clean(&both("barrier.sync", "%tid, 32"), 64);
    assert_clean(&per_warp.replace(" 0;", " 1, 64;"), 64);
    assert_clean(&per_warp.replacen("bar.sync 0", "bar.arrive 1, 64", 1).replace("bar.sync 0", "bar.sync 1, 64"), 64);
    // Warp 0 waits at the barrier of one branch while warp 1 waits at the barrier for all threads.
    let rounds = "setp.lt.u32 %p0, %tid, 32;\nmov.u32 %r1, 0;\nAGAIN:\n@!%p0 bra NEXT;\nbar.sync 0; // some\nNEXT:\n\
                  bar.sync 0; // all\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 2;\n@%p1 bra AGAIN;\n";
    assert_finding(rounds, 64, what, "// all", Some("// some"));
    // Copies of one barrier count as one barrier in the source; barriers from two lines do not.
    let copied = |second: u32| {
        per_warp
            .replace("// even", "")
            .replacen("bar.sync", ".loc 1 7 5\nbar.sync", 1)
            .replace("A:\nbar.sync", &format!("A:\n.loc 1 {second} 5\nbar.sync"))
    };
    assert_clean(&copied(7), 64);
    assert_finding(&copied(8), 64, what, "// odd", Some("bar.sync 0;"));

    let some = "setp.lt.u32 %p0, %lane, 5;\n@!%p0 bra DONE;\nbar.sync 0;\nDONE:\nadd.u32 %r0, %r0, 1; // here\n";
    let what =
        "barrier in divergent code: lanes 0 to 4 of a warp wait at `bar.sync`, and lanes 5 to 31 do not reach it";
    assert_finding(some, 32, what, "bar.sync 0;", Some("// here"));
    assert_clean(&some.replace("%lane, 5", "%lane, 32"), 32);
    // A barrier does not wait for threads that have ended.
    assert_clean("setp.lt.u32 %p0, %lane, 5;\n@%p0 ret;\nbar.sync 0;\n", 64);
    assert_clean("setp.lt.u32 %p0, %lane, 5;\n@!%p0 barrier.sync 0;\n@%p0 barrier.sync 0;\n", 64);
}

#[test]
fn barriers_with_other_numbers_and_counts() {
    let counts =
        |one: &str, other: &str| format!("setp.lt.u32 %p0, %tid, 32;\n@%p0 {one}; // one\n@!%p0 {other}; // other\n");
    let all = findings(&counts("bar.sync 1", "bar.sync 1, 64"), 96, Schedule::Fixed);
    assert!(
        all[0]
            .what
            .starts_with("barrier 1 is used with a count of 64 threads and, at the same time, with a count of 96"),
        "{}",
        all[0]
    );
    assert_clean(&counts("bar.sync 1", "bar.sync 1, 64"), 64);
    assert_finding(&counts("bar.sync 1, 64", "bar.sync 1, 96"), 64, "waits for", "bar.sync 1,", Some("bar.sync 1,"));
    assert_finding(&counts("bar.sync 1", "bar.sync 2"), 64, "deadlock: warp", "bar.sync", Some("bar.sync"));
    // The other threads have ended, but the barrier counts them.
    assert_finding(
        &counts("bar.sync 1, 64", "ret"),
        64,
        "barrier 1 has 32 of 64 threads",
        "bar.sync 1, 64",
        Some("ret;"),
    );
    assert_clean(&counts("bar.sync 1", "ret"), 64);

    let popc = "bar.red.popc.u32 %r1, 0, %p0";
    assert_finding(&counts(popc, "bar.sync 0"), 64, "barrier 0 is reached with a reduction", "bar.", Some("bar."));
    assert_clean(&counts(popc, popc).replace("bar.red", "barrier.red"), 64);
    assert_finding(&counts(popc, popc), 64, "waits at barrier 0 here and warp", "bar.red", Some("bar.red"));

    let arrives = |times: usize| {
        let arrive = "@%p0 bar.arrive 1, 96; // early\n".repeat(times);
        format!("setp.lt.u32 %p0, %tid, 32;\n{arrive}@!%p0 bar.sync 1, 96; // late\nbar.sync 0;\n")
    };
    let twice = findings(&arrives(2), 64, Schedule::Fixed);
    assert!(twice[0].what.contains("arrive at barrier 1 for the second time before it is complete"), "{}", twice[0]);
    assert_clean(&arrives(1), 96);
}

#[test]
fn masks() {
    let masks = |mask: &str| format!("mov.u32 %r1, 1;\nshl.b32 %r1, %r1, %lane;\n{mask}\nbar.warp.sync %r1;\n");
    // Lane 0 names lane 1, which names only itself.
    let one_sided = masks("setp.eq.u32 %p0, %lane, 0;\n@%p0 mov.u32 %r1, 3;");
    assert_finding(&one_sided, 32, "lane 0 names lane 1 in its mask 0x00000003", "bar.warp.sync", None);
    assert_clean(&masks(""), 32);
    assert_clean(&masks("setp.lt.u32 %p0, %lane, 2;\n@%p0 mov.u32 %r1, 3;"), 32);
    // A mask may or may not name a lane that has ended.
    assert_clean(&masks("setp.eq.u32 %p0, %lane, 1;\n@%p0 ret;\nsetp.eq.u32 %p0, %lane, 0;\n@%p0 mov.u32 %r1, 3;"), 32);

    let shuffle = |mask: &str, lanes: u32| {
        format!(
            "setp.lt.u32 %p0, %lane, {lanes};\n@!%p0 bra DONE;\nshfl.sync.idx.b32 %r0, %tid, 0, 31, {mask};\nDONE:\n\
             add.u32 %r0, %r0, 1; // here\n"
        )
    };
    let absent = "`shfl.sync.idx.b32` waits for lanes 3 to 31, named in its mask but not executing it";
    assert_finding(&shuffle("-1", 3), 32, absent, "shfl.sync", Some("ret;"));
    // In each round, fewer lanes reach the instruction. In the next case, lanes wait at a barrier instead of ending.
    let rounds = "mov.u32 %r1, %lane;\nAGAIN:\nredux.sync.add.u32 %r0, %tid, -1;\nsub.u32 %r1, %r1, 8;\n\
                  setp.ge.s32 %p0, %r1, 0;\n@%p0 bra AGAIN;\nadd.u32 %r0, %r0, 1;\n";
    assert_finding(rounds, 32, "`redux.sync.add.u32` waits for lanes 0 to 7", "redux", Some("ret;"));
    assert_finding(&(shuffle("-1", 3) + "barrier.sync 0;\n"), 32, absent, "shfl.sync", Some("barrier.sync"));
    // A thread that ends on another path does not need to reach the instruction.
    assert_clean(&shuffle("-1", 3).replace("bra DONE", "ret"), 32);
    assert_clean(&shuffle("7", 3), 32);
    assert_clean(&shuffle("-1", 32), 32);
    let unnamed = "lane 2 executes `shfl.sync.idx.b32` with a mask that does not name it";
    assert_finding(&shuffle("3", 3), 32, unnamed, "shfl.sync", None);
    let unnamed = "lanes 8 to 31 execute `shfl.sync.idx.b32` with a mask that does not name them";
    assert_finding(&shuffle("255", 32), 64, unnamed, "shfl.sync", None);
    assert_finding("elect.sync %r0|%p0, 0;", 32, "lanes 0 to 31 execute `elect.sync`", "elect", None);

    let matrix = |lanes: u32| {
        format!(
            "setp.lt.u32 %p0, %lane, {lanes};\nmov.u32 %r1, tile;\n@!%p0 bra DONE;\n\
             ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r2}}, [%r1];\nDONE:\n"
        )
    };
    let what = "`ldmatrix.sync.aligned.m8n8.x1.shared.b16` is executed without lanes 16 to 31";
    assert_finding(&matrix(16), 32, what, "ldmatrix", None);
    assert_clean(&matrix(32), 32);
}

#[test]
fn copies_without_a_wait() {
    let copy = |wait: &str| {
        format!(
            "mul.wide.u32 %d1, %tid, 16;\nadd.u64 %d1, %out, %d1;\nmov.u32 %r1, tile;\nshl.b32 %r2, %tid, 4;\n\
                 add.u32 %r1, %r1, %r2;\ncp.async.ca.shared.global [%r1], [%d1], 16;\ncp.async.commit_group;\n{wait}\n"
        )
    };
    let all = findings(&copy(""), 32, Schedule::Fixed);
    let [finding] = &all[..] else { panic!("{all:?}") };
    let what = "asynchronous copy of 16 bytes into the shared memory of block (0, 0, 0) still runs when the block ends";
    assert!(finding.what.starts_with(what), "{finding}");
    assert_eq!(finding.place.as_deref(), Some("byte 0 of variable `tile` of 1024 bytes"));
    for wait in ["cp.async.wait_all;", "cp.async.wait_group 0;"] {
        assert_clean(&copy(wait), 32);
    }
    // This wait leaves the last group pending.
    assert_eq!(findings(&copy("cp.async.wait_group 1;"), 32, Schedule::Fixed).len(), 1);

    let bulk = |wait: &str| {
        format!(
            "setp.ne.u32 %p0, %tid, 0;\n@%p0 bra DONE;\nmbarrier.init.shared.b64 [bar], 1;\n\
             mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;\nmov.u32 %r1, tile;\nmov.u32 %r2, bar;\n\
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%out], 256, [%r2];\n{wait}\nDONE:\n"
        )
    };
    assert_eq!(findings(&bulk(""), 32, Schedule::Fixed).len(), 1);
    assert_clean(&bulk("WAIT:\nmbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;\n@!%p1 bra WAIT;"), 32);
    let store = |wait: &str| {
        format!(
            "setp.ne.u32 %p0, %tid, 0;\n@%p0 bra DONE;\nmov.u32 %r1, tile;\n\
             cp.async.bulk.global.shared::cta.bulk_group [%out], [%r1], 256;\ncp.async.bulk.commit_group;\n{wait}\nDONE:\n"
        )
    };
    let all = findings(&store(""), 32, Schedule::Fixed);
    assert!(all[0].what.starts_with("asynchronous copy of 256 bytes out of the shared memory"), "{}", all[0]);
    assert_clean(&store("cp.async.bulk.wait_group 0;"), 32);
    assert_clean(&store("cp.async.bulk.wait_group.read 0;"), 32);
}

#[test]
fn mbarriers() {
    let once = |body: &str| {
        format!("setp.ne.u32 %p0, %tid, 0;\n@%p0 bra DONE;\nmbarrier.init.shared.b64 [bar], 1; // first\n{body}DONE:\n")
    };
    let second_init = "mbarrier.init.shared.b64 [bar], 2; // again\n";
    assert_finding(
        &once(second_init),
        32,
        "an mbarrier is initialized again while it is in use",
        "// again",
        Some("// first"),
    );
    assert_clean(&once(&format!("mbarrier.inval.shared.b64 [bar];\n{second_init}")), 32);
    let arrive = "mbarrier.arrive.shared.b64 _, [bar]; // arrives\n";
    assert_finding(
        &once("mbarrier.arrive.shared.b64 _, [bar], 2; // two\n"),
        32,
        "2 arrivals, but its phase waits for 1 more of 1",
        "// two",
        None,
    );
    assert_clean(&once(&arrive.repeat(2)), 32);
    assert_finding(
        &format!("mbarrier.arrive.shared.b64 _, [tile];\n{}", once("")),
        32,
        "not initialized",
        "[tile]",
        None,
    );

    // Warp 0 completes phases and warp 1 waits for them; a flag in memory holds their progress.
    let phases = |waits_for_warp_1: bool| {
        let until = |label: &str, value: u32| {
            format!(
                "{label}:\nld.volatile.global.u32 %r1, [%out+64];\nsetp.lt.u32 %p1, %r1, {value};\n@%p1 bra {label};\n"
            )
        };
        let flag = |value: u32| format!("st.volatile.global.u32 [%out+64], {value};\n");
        let wait = |label: &str, parity: u32| {
            format!("{label}:\nmbarrier.try_wait.parity.shared.b64 %p1, [bar], {parity};\n@!%p1 bra {label};\n")
        };
        let last = match waits_for_warp_1 {
            true => [arrive, &flag(2), &until("C", 3), arrive].concat(),
            false => [arrive, arrive, &flag(2)].concat(),
        };
        format!(
            "setp.eq.u32 %p0, %tid, 0;\n@%p0 mbarrier.init.shared.b64 [bar], 1;\nbar.sync 0;\nsetp.ne.u32 %p2, %lane, 0;\n\
             @%p2 bra DONE;\nsetp.ge.u32 %p0, %tid, 32;\n@%p0 bra WAITS;\n{arrive}{}{last}bra DONE;\nWAITS:\n{}{}{}{}{}DONE:\n",
            until("A", 1),
            wait("W0", 0),
            flag(1),
            until("B", 2),
            wait("W1", 1),
            flag(3)
        )
    };
    for schedule in SCHEDULES {
        let all = findings(&phases(false), 64, schedule);
        let missed =
            "waits for phase 1 of an mbarrier, counted from 0, by its parity 1, after 2 more phases have completed";
        assert!(all.iter().any(|finding| finding.what.starts_with(missed)), "{schedule}: {all:?}");
    }
    assert_clean(&phases(true), 64);
}

#[test]
fn clusters() {
    let meet = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";
    // Block 0 reads shared memory of block 1.
    let reads = |before: &str, after: &str| {
        format!(
            "st.shared.u32 [tile], 5;\n{meet}mov.u32 %r2, %cluster_ctarank;\nsetp.ne.u32 %p0, %r2, 0;\nmov.u32 %r1, tile;\n\
             mapa.shared::cluster.u32 %r3, %r1, 1;\n{before}@%p0 bra DONE;\nld.shared::cluster.u32 %r0, [%r3]; // reads\n\
             DONE:\n{after}"
        )
    };
    for schedule in SCHEDULES {
        for bad in [reads("", ""), reads("barrier.cluster.arrive;\n", "barrier.cluster.wait;\n")] {
            let all = findings_in(&bad, (2, 32), schedule);
            let [finding] = &all[..] else { panic!("{schedule}: {all:?}") };
            assert!(finding.help.contains("let all blocks wait for each other"), "{schedule}: {finding}");
        }
        for good in [reads("", meet), reads("", "barrier.cluster.arrive;\nbarrier.cluster.wait;\n")] {
            let all = findings_in(&good, (2, 32), schedule);
            assert!(all.is_empty(), "{schedule}: {all:?}");
        }
        let both = |arrive: &str| {
            format!(
                "setp.lt.u32 %p0, %lane, 9;\n@%p0 bra A;\n{arrive};\nbra DONE;\nA:\n{arrive};\nDONE:\nbarrier.cluster.wait;\n"
            )
        };
        let all = findings_in(&both("barrier.cluster.arrive.aligned"), (2, 64), schedule);
        let what = "cluster barrier in divergent code";
        assert!(all.len() == 1 && all[0].what.starts_with(what), "{schedule}: {all:?}");
        let all = findings_in(&both("barrier.cluster.arrive"), (2, 64), schedule);
        assert!(all.is_empty(), "{schedule}: {all:?}");
    }
}

/// Programs that give a GPU's results have no findings.
#[test]
fn programs_have_no_findings() {
    let mut accused = Vec::new();
    for schedule in [Schedule::Fixed, Schedule::Random(7)] {
        let mut simulator = simulator(schedule, 1);
        for program in programs() {
            let result = program.run(&mut simulator, Checks::NONE.with(Check::Sync));
            let (_, findings) = result.unwrap_or_else(|error| panic!("{}: {error}", program.name));
            accused.extend(findings.iter().map(|finding| format!("{} ({schedule}): {finding}", program.name)));
        }
    }
    assert!(accused.is_empty(), "{}", accused.join("\n"));
}
