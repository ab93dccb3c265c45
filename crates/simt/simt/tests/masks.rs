//! Tests that warp operations whose masks do not match the executing lanes give an H100's results.

use simt::{Config, FaultKind, Launch, LaunchError, Module, Schedule, Simulator};

/// Rows: the operation, the kernel, and an H100's results: run-length encoded values of the lanes, for each of two
/// results.
const RECORDED: &str = include_str!("fixtures/masks.txt");

/// The instructions of each operation, which run in lane `%r1` and leave the results in `%r2` and `%r3`.
const OPERATIONS: [(&str, &str); 14] = [
    ("bar_warp", "bar.warp.sync MASK; mov.u32 %r2, 1;"),
    ("shfl_idx0", "shfl.sync.idx.b32 %r2|%p3, %r4, 0, 31, MASK; selp.u32 %r3, 1, 0, %p3;"),
    ("shfl_idx20", "shfl.sync.idx.b32 %r2|%p3, %r4, 20, 31, MASK; selp.u32 %r3, 1, 0, %p3;"),
    ("shfl_up", "shfl.sync.up.b32 %r2|%p3, %r4, 1, 0, MASK; selp.u32 %r3, 1, 0, %p3;"),
    ("shfl_down", "shfl.sync.down.b32 %r2|%p3, %r4, 1, 31, MASK; selp.u32 %r3, 1, 0, %p3;"),
    ("shfl_bfly", "shfl.sync.bfly.b32 %r2|%p3, %r4, 8, 31, MASK; selp.u32 %r3, 1, 0, %p3;"),
    ("vote_alllow", "vote.sync.all.pred %p3, %p4, MASK; selp.u32 %r2, 1, 0, %p3;"),
    ("vote_anyhigh", "vote.sync.any.pred %p3, %p5, MASK; selp.u32 %r2, 1, 0, %p3;"),
    ("vote_unilow", "vote.sync.uni.pred %p3, %p4, MASK; selp.u32 %r2, 1, 0, %p3;"),
    ("ballot", "vote.sync.ballot.b32 %r2, %p2, MASK;"),
    ("match_any", "match.any.sync.b32 %r2, %r6, MASK;"),
    ("match_allsame", "match.all.sync.b32 %r2|%p3, %r7, MASK; selp.u32 %r3, 1, 0, %p3;"),
    ("redux_add", "redux.sync.add.u32 %r2, %r4, MASK;"),
    ("elect", "elect.sync %r2|%p3, MASK; selp.u32 %r3, 1, 0, %p3;"),
];

/// Kernels with an operation at `MASK`, whose mask may be `%r10`.
const KERNELS: [(&str, &str); 13] = [
    ("all_ff", "mov.u32 %r10, 255; MASK"),
    ("all_0", "mov.u32 %r10, 0; MASK"),
    ("all_others", "not.b32 %r10, %r8; MASK"),
    ("all_two", "selp.u32 %r10, 255, 0xff00, %p4; MASK"),
    ("half_ff", "mov.u32 %r10, 255; @!%p1 bra J; MASK"),
    ("half_hi", "mov.u32 %r10, 0xffff0000; @!%p1 bra J; MASK"),
    ("exit_ff", "mov.u32 %r10, 255; @!%p1 ret; MASK"),
    ("later_all", "mov.u32 %r10, -1; @!%p6 bra J; MASK"),
    ("later_exit", "mov.u32 %r10, -1; @%p6 bra G; st.global.v2.u32 [%rd1], {%r2, %r3}; ret; G: MASK"),
    (
        "loop_all",
        "mov.u32 %r10, -1; shr.u32 %r12, %r1, 3; L: MASK sub.u32 %r12, %r12, 1; setp.ge.s32 %p7, %r12, 0; @%p7 bra L;",
    ),
    ("arms_mixed", "mov.u32 %r10, -1; @!%p4 bra E; MASK bra J; E: bar.warp.sync %r10;"),
    ("arms_vote", "mov.u32 %r10, -1; @!%p4 bra E; MASK bra J; E: vote.sync.ballot.b32 %r2, 1, %r10;"),
    ("arms_bar", "mov.u32 %r10, -1; @!%p4 bra J; MASK bra J; J: barrier.sync 0;"),
];

fn kernel(operation: &str, body: &str) -> String {
    let end = if body.contains("J:") { "" } else { "J: " };
    let body = body.replace("MASK", &operation.replace("MASK", "%r10"));
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n\
         .reg .b32 %r<13>; .reg .b64 %rd<3>; .reg .pred %p<8>;\n\
         ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 8; add.s64 %rd1, %rd1, %rd2;\n\
         mov.u32 %r2, 0xaaaa; mov.u32 %r3, 7; add.u32 %r4, %r1, 100; shr.u32 %r6, %r1, 2; mov.u32 %r7, 1;\n\
         shl.b32 %r8, %r7, %r1; and.b32 %r9, %r1, 1; setp.ne.u32 %p2, %r9, 0; setp.lt.u32 %p4, %r1, 8;\n\
         setp.ge.u32 %p5, %r1, 8; sub.u32 %r11, %r1, 4; setp.lt.u32 %p1, %r11, 12; setp.lt.u32 %p6, %r1, 2;\n\
         {body}\n{end}st.global.v2.u32 [%rd1], {{%r2, %r3}};\nret;\n}}\n"
    )
}

/// Returns the values in run-length encoding: `aaaa*4 0*12`.
fn run_lengths(values: impl Iterator<Item = u32>) -> String {
    let mut runs: Vec<(u32, usize)> = Vec::new();
    for value in values {
        match runs.last_mut() {
            Some((last, count)) if *last == value => *count += 1,
            _ => runs.push((value, 1)),
        }
    }
    let one =
        |(value, count): &(u32, usize)| if *count == 1 { format!("{value:x}") } else { format!("{value:x}*{count}") };
    runs.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn answer(text: &str, schedule: Schedule) -> String {
    let function = Module::from_ptx(text).unwrap().function("k").unwrap();
    let mut simulator = Simulator::new(Config { threads: 1, schedule, ..Config::default() }).unwrap();
    // A lane that does not store leaves these values.
    let out = simulator.upload(&[[0xaaaa, 7_u32]; 32].concat()).unwrap();
    match simulator.launch(&Launch::new(&function, [1, 1, 1], [32, 1, 1], &[out.into()])) {
        Ok(()) => {
            let words = simulator.read(out).unwrap();
            let every_other = |first: usize| run_lengths(words.iter().skip(first).step_by(2).copied());
            format!("{} | {}", every_other(0), every_other(1))
        }
        Err(LaunchError::Fault(fault)) => match fault.kind {
            FaultKind::UnnamedLanes { .. } => "illegal instruction".to_owned(),
            FaultKind::AbsentLanes { .. } => "hangs".to_owned(),
            _ => panic!("{fault}"),
        },
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn masks_behave_as_on_an_h100() {
    for row in RECORDED.lines() {
        let [operation, name, expected] = row.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{row}") };
        let text = |table: &[(&str, &'static str)], name: &str| table.iter().find(|row| row.0 == name).unwrap().1;
        let kernel = kernel(text(&OPERATIONS, operation), text(&KERNELS, name));
        for schedule in [Schedule::Fixed, Schedule::RoundRobin, Schedule::Random(1), Schedule::Random(2)] {
            assert_eq!(answer(&kernel, schedule), expected, "{operation} {name} {schedule}\n{kernel}");
        }
    }
}
