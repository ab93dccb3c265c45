//! The problems that a kernel runs on: those of its ladder's check, and further ones of sizes around every edge.

use engine::Options;
use engine::launch::Launch;
use engine::options::Kind;
use engine::registry::Effort;

use crate::kernel::Kernel;

/// The largest cost of a launch that mutants run: larger problems ask the same of more blocks.
const MOST_CHECKED: u64 = 1 << 17;

/// The largest cost of a launch of a further problem.
const MOST_FURTHER: u64 = 1 << 14;

/// Operations that take about as long as a thread's beginning and end.
const OPERATIONS: u64 = 64;

/// Problems of a lower cost are all run, and at most so many of the others.
const SMALL: u64 = 257;
const MOST_LARGE: usize = 24;

/// Sizes around the edges of warps, blocks and tiles.
const SIZES: &[u64] = &[
    1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 96, 127, 128, 129, 191, 255, 256, 257, 383, 511, 512,
    513, 1000, 1023, 1024, 1025, 2047, 2048, 2049, 3333, 4095, 4096, 4097, 6143, 8191, 8192, 8193, 12_289, 16_384,
];

/// The size of all options but one.
const OTHERS: u64 = 33;

/// A problem, and the launches of a kernel on it.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) options: Options,
    /// One with each block that the kernel was compiled for.
    pub(crate) launches: Vec<Launch>,
    /// About how long all launches take: their threads, or more where each has much to do.
    pub(crate) cost: u64,
}

/// The problems of the ladder's check, those of its tests among them, that launch this kernel. The smallest come first.
pub(crate) fn checked(kernel: &Kernel) -> Vec<Case> {
    let mut all = Vec::new();
    for effort in [Effort::Least, Effort::Quick] {
        all.extend((kernel.ladder.sweep)(effort));
    }
    cases(kernel, all, MOST_CHECKED)
}

/// Further problems, which the check does not have: each size varied while the others are small, and all varied together.
pub(crate) fn further(kernel: &Kernel) -> Vec<Case> {
    let ladder = kernel.ladder;
    let takes = |options: &Options| ladder.problem(options).is_ok();
    let is_size = |kind: Kind| matches!(kind, Kind::Size | Kind::SizeOr(_));
    let sizes = ladder.options.iter().filter(|own| is_size(own.kind)).map(|own| own.name);
    let sizes: Vec<&'static str> = sizes.collect();
    // What the ladder refuses stays as it is by default.
    let base = sizes.iter().fold(Options::default(), |options, &name| {
        let with = options.clone().with(name, OTHERS);
        if takes(&with) { with } else { options }
    });
    let mut all = Vec::new();
    for &size in SIZES {
        for &name in &sizes {
            all.push(base.clone().with(name, size));
        }
        all.push(sizes.iter().fold(Options::default(), |options, &name| options.with(name, size)));
    }
    all.retain(takes);
    cases(kernel, all, MOST_FURTHER)
}

fn cases(kernel: &Kernel, all: Vec<Options>, most: u64) -> Vec<Case> {
    let ladder = kernel.ladder;
    let mut cases: Vec<Case> = Vec::new();
    for options in all {
        if cases.iter().any(|own| own.options == options) {
            continue;
        }
        let Ok(problem) = ladder.problem(&options) else { continue };
        let blocks = |_: &_| ladder.blocks_of(kernel.rung, &*problem);
        let Ok((launches, _)) = ladder.launches(vec![kernel.rung], &*problem, blocks, true) else { continue };
        let operations = problem.flops().unwrap_or(0) / OPERATIONS;
        let cost = |launch: &Launch| (launch.blocks() * launch.threads()).max(operations);
        let launches = launches.into_iter().map(|(_, launch)| launch);
        let own = launches.filter(|launch| launch.entry == kernel.entry && cost(launch) <= most);
        let launches: Vec<Launch> = own.collect();
        if !launches.is_empty() {
            let cost = launches.iter().map(cost).sum();
            cases.push(Case { options, launches, cost });
        }
    }
    cases.sort_by_key(|case| case.cost);
    // Of many large ones, some: from the smallest to the largest at equal distances.
    let large = cases.split_off(cases.partition_point(|case| case.cost < SMALL));
    let step = large.len().div_ceil(MOST_LARGE).max(1);
    cases.extend(large.into_iter().rev().step_by(step));
    cases.sort_by_key(|case| case.cost);
    cases
}
