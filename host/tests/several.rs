//! Several simulated devices, and the results when a device or its process fails.

use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use host::device::Choice;
use host::launch::Launch;
use host::{KERNELS, Ladder, Options, SHARED_LADDERS, ladder};
use ranks::{
    Devices, Error, GroupReport, GroupRequest, Member, Settings, Share, SharedLadder, SharedProblem, Side, measure,
    run_threads,
};

const SETTINGS: Settings = Settings {
    kernels: &KERNELS,
    time_limit: Duration::from_secs(60),
    wait: Duration::from_secs(60),
    through_host: true,
};

/// Returns the problem of a ladder that several devices compute together.
fn shared(ladder: &Ladder, options: &Options) -> SharedProblem {
    SharedLadder::problem_of(SHARED_LADDERS, ladder, options).unwrap()
}

/// Runs a reduction on `ranks` ranks after each has called `before`, and returns the outcome of each rank as text.
fn reduce(ranks: usize, before: impl Fn(Share, &mut Member) -> Result<(), Error> + Sync) -> Vec<String> {
    let ladder = ladder("reduce").unwrap();
    let whole = shared(ladder, &Options::default().with("n", 1003));
    let rungs = ["reduce_atomic".to_owned()];
    let (side, pieces) = (Side::Rows, 1);
    let request = || GroupRequest { ladder, rungs: &rungs, whole: &whole, block: None, runs: None, side, pieces };
    let outcomes = Mutex::new(vec![String::new(); ranks]);
    let results = run_threads(Choice::Sim, &Devices::First(ranks), SETTINGS, |member| {
        let rank = member.rank();
        let result = before(rank, member).and_then(|()| measure(member, &request()));
        let message = match &result {
            Ok(report) => format!("right: {}", report.all_right()),
            Err(error) => error.to_string(),
        };
        outcomes.lock().unwrap()[rank.index] = message;
        result
    });
    let results: Result<Vec<GroupReport>, _> = results;
    let outcomes = outcomes.into_inner().unwrap();
    // A failed run has no results.
    assert_eq!(results.is_ok(), outcomes.iter().all(|message| message == "right: true"), "{outcomes:?}");
    outcomes
}

/// Checks that rungs are right on one to eight devices.
fn all_right(name: &str, rungs: &[&str], sizes: &[(&'static str, u32)], side: Side, pieces: usize) {
    let ladder = ladder(name).unwrap();
    let options = sizes.iter().fold(Options::default(), |options, (name, size)| options.with(name, size));
    let options = if side == Side::K && name == "gemm" { options.with("out", "f32") } else { options };
    let rungs: Vec<String> = rungs.iter().map(|rung| (*rung).to_owned()).collect();
    for ranks in 1..=8 {
        let options_of_ranks = if name == "allreduce" { options.clone().with("ranks", ranks) } else { options.clone() };
        let whole = shared(ladder, &options_of_ranks);
        let request = || GroupRequest { ladder, rungs: &rungs, whole: &whole, block: None, runs: None, side, pieces };
        let results = run_threads(Choice::Sim, &Devices::First(ranks), SETTINGS, |member| measure(member, &request()));
        for report in results.unwrap() {
            let wrong =
                report.measurements.iter().filter(|measurement| !measurement.verdict.is_right()).collect::<Vec<_>>();
            assert!(wrong.is_empty(), "{name} on {ranks} devices, {side:?}, {pieces} pieces: {wrong:?}");
            assert!(report.measurements.len() >= rungs.len().max(1));
        }
    }
}

#[test]
fn one_to_eight_devices_with_sizes_that_do_not_divide() {
    all_right("reduce", &["reduce_neighbored", "reduce_shfl", "reduce_one_launch"], &[("n", 1003)], Side::Rows, 1);
    all_right("reduce", &["reduce_atomic"], &[("n", 20_011)], Side::Rows, 3);
    all_right("histogram", &["histogram_lanes"], &[("n", 20_011)], Side::Rows, 2);
    all_right("allreduce", &[], &[("n", 1003)], Side::Rows, 1);
}

#[test]
fn products_on_one_to_eight_devices_by_rows_in_pieces_and_by_k() {
    let sizes = [("m", 37), ("n", 24), ("k", 32)];
    for (side, pieces) in [(Side::Rows, 1), (Side::Rows, 3), (Side::K, 1)] {
        all_right("matmul", &["matmul_tiled"], &sizes, side, pieces);
        all_right("gemm", &["gemm_mma"], &sizes, side, pieces);
    }
    // Tensor maps of pieces start within the matrices.
    all_right("gemm", &["gemm_tma"], &sizes, Side::Rows, 2);
}

#[test]
fn arrays_longer_than_kernels_can_count_are_cut_into_pieces() {
    let pieces_of = |n: u64, ranks: usize| {
        let SharedProblem::Divided(whole) = shared(ladder("reduce").unwrap(), &Options::default().with("n", n)) else {
            panic!("the problem is not divided among the ranks")
        };
        let atomic = ladder("reduce").unwrap().rungs.iter().find(|rung| rung.name == "reduce_atomic").unwrap();
        let mut all = Vec::new();
        for index in 0..ranks {
            let part = whole.share(Share { index, count: ranks }, Side::Rows).unwrap().problem;
            let count = part.least_pieces();
            let piece = |index| part.piece(atomic, Share { index, count }).unwrap();
            all.extend((0..count).map(piece).map(|piece| (piece.problem.facts().shape[0], piece.offsets)));
        }
        all
    };
    for (n, ranks, pieces) in
        [(1 << 32, 1, 3), (1 << 32, 2, 4), (1 << 32, 4, 4), ((1 << 31) - 1, 1, 1), (1 << 30, 1, 1)]
    {
        let all = pieces_of(n, ranks);
        assert_eq!(all.len(), pieces);
        assert_eq!(all.iter().map(|(n, _)| n).sum::<u64>(), n);
        assert!(all.iter().all(|(n, offsets)| *n < 1 << 31 && offsets[0].1.is_multiple_of(16)), "{all:?}");
    }
}

#[test]
fn a_kernel_that_faults_on_one_device_fails_on_all_ranks() {
    const WRITES_NOWHERE: &str = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k() {\n.reg .u64 a;\n\
                                  mov.u64 a, 8;\nst.global.u32 [a], 1;\nret;\n}\n";
    let outcomes = reduce(3, |rank, member| {
        if rank.index != 1 {
            return Ok(());
        }
        let code = member.device.load(WRITES_NOWHERE.to_owned())?;
        let entry = "k".to_owned();
        let launch = Launch { code, entry, grid: [1; 3], block: [1; 3], shared_bytes: 0, args: Vec::new() };
        // SAFETY: the simulator checks each address.
        unsafe { member.device.launch(&launch, &[]) }?;
        Ok(())
    });
    assert!(outcomes[1].starts_with("k<<<1, 1, 0>>> failed: "), "{outcomes:?}");
    let expected = format!("rank 1: {}", outcomes[1]);
    assert_eq!([&outcomes[0], &outcomes[2]], [&expected; 2]);
}

#[test]
fn a_device_without_memory_fails_on_all_ranks() {
    let outcomes = reduce(2, |rank, member| match rank.index {
        0 => Ok(()),
        _ => Ok(member.device.alloc(1 << 50).map(drop)?),
    });
    assert!(outcomes[0].starts_with("rank 1: ") && outcomes[0].ends_with(&*outcomes[1]), "{outcomes:?}");
}

#[test]
fn a_thread_that_ends_is_reported_by_all_other_ranks() {
    let begin = Instant::now();
    let outcomes = reduce(3, |rank, _| match rank.index {
        2 => panic!("this rank ends here"),
        _ => Ok(()),
    });
    assert_eq!([&*outcomes[0], &*outcomes[1]], ["rank 2: has ended"; 2]);
    assert!(begin.elapsed() < SETTINGS.wait);
}

/// Returns a command for one rank of the program, like a rank that `lab launch` starts.
fn rank(number: &str, port: &str, wait: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ladder"));
    command.args(["run", "reduce_atomic", "--n", "100", "--device", "sim", "--no-time", "--wait", wait]);
    command.envs([("RANK", number), ("WORLD_SIZE", "2"), ("MASTER_PORT", port)]);
    command
}

#[test]
fn a_process_that_never_connects_or_is_killed_is_named() {
    // The port is free, and it is unlikely that another process takes it so soon.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let stderr_of = |output: std::process::Output| String::from_utf8(output.stderr).unwrap();
    let output = rank("0", &port, "1").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let (wrong, right) = (stderr_of(output), format!("error: rank 1: did not connect to 127.0.0.1:{port} within 1s\n"));
    assert_eq!(wrong, right);

    // Rank 1 waits for rank 0 and is killed before rank 0 connects. Then rank 0 waits for rank 1.
    let mut killed = rank("1", &port, "60").spawn().unwrap();
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(stderr_of(rank("0", &port, "1").output().unwrap()).starts_with("error: rank 1: "));
}
