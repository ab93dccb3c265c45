//! The problems that a kernel runs on: the problems of its ladder's check, and further problems whose sizes are near
//! the sizes of warps, blocks and tiles.

use engine::launch::{Arg, Launch};
use engine::options::Kind;
use engine::registry::Effort;
use engine::{DeviceProperties, Options};

use crate::kernel::Kernel;

/// The maximum cost of a launch that mutants run. Larger problems only repeat the same work in more blocks.
const MOST_CHECKED: u64 = 1 << 17;

/// The maximum cost of a launch of a further problem.
const MOST_FURTHER: u64 = 1 << 14;

/// The number of operations that take about as long as starting and ending a thread.
const OPERATIONS: u64 = 64;

/// The total cost up to which the smallest problems all run, and the number of larger problems that run in addition.
const SMALL: u64 = 1 << 20;
const LARGE: usize = 8;

/// The total cost up to which all problems run.
const CHEAP: u64 = 1 << 15;

/// Sizes equal to or near the sizes of warps, blocks and tiles.
const SIZES: &[u64] = &[
    1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 96, 127, 128, 129, 191, 255, 256, 257, 383, 511, 512,
    513, 1000, 1023, 1024, 1025, 2047, 2048, 2049, 3333, 4095, 4096, 4097, 6143, 8191, 8192, 8193, 12_289, 16_384,
];

/// The number of launches of a kernel that depends on the memory contents left by earlier launches. A kernel can
/// alternate between two places in memory. With three launches, the last launch uses the same place as the first
/// launch, and finds the results of the first launch there.
const LAUNCHES: usize = 3;

/// The value of the other size options while one size option is varied.
const OTHERS: u64 = 33;

/// A problem, and the launches of a kernel for it.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) options: Options,
    /// One launch for each block shape that the kernel was compiled for, or several launches for each if a launch
    /// depends on earlier launches.
    pub(crate) launches: Vec<Launch>,
    /// Whether launches depend on memory that earlier launches left.
    pub(crate) keeps_memory: bool,
    /// The approximate cost of all launches: the number of their threads, or more if each thread does a lot of work.
    pub(crate) cost: u64,
}

/// Returns the problems of the ladder's check and tests that launch this kernel, smallest first.
pub(crate) fn checked(kernel: &Kernel) -> Vec<Case> {
    let mut all = Vec::new();
    for effort in [Effort::Least, Effort::Quick] {
        all.extend((kernel.ladder.sweep)(effort));
    }
    cases(kernel, all, MOST_CHECKED)
}

/// Returns further problems that the check does not include. Some vary one size while the other sizes are small, and
/// some vary all sizes together.
pub(crate) fn further(kernel: &Kernel) -> Vec<Case> {
    let ladder = kernel.ladder;
    let takes = |options: &Options| ladder.problem(options).is_ok();
    let is_size = |kind: Kind| matches!(kind, Kind::Size | Kind::SizeOr(_));
    let sizes = ladder.options.iter().filter(|option| is_size(option.kind)).map(|option| option.name);
    let sizes: Vec<&'static str> = sizes.collect();
    // An option keeps its default if the ladder rejects this size for the option.
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
    // Mutants run on the simulator, so the launches use the default device properties.
    let (ladder, device) = (kernel.ladder, DeviceProperties::default());
    let mut cases: Vec<Case> = Vec::new();
    for options in all {
        if cases.iter().any(|case| case.options == options) {
            continue;
        }
        let Ok(problem) = ladder.problem(&options) else { continue };
        let blocks = |_: &_| ladder.blocks_of(kernel.rung, &*problem);
        let Ok((launches, _)) = ladder.launches(vec![kernel.rung], &*problem, device, blocks, true) else { continue };
        let operations = problem.facts().flops.unwrap_or(0) / OPERATIONS;
        let cost = |launch: &Launch| (launch.blocks() * launch.threads()).max(operations);
        let launches = launches.into_iter().map(|(_, launch)| launch);
        let kernel_launches = launches.filter(|launch| launch.entry == kernel.entry && cost(launch) <= most);
        let mut launches: Vec<Launch> = kernel_launches.collect();
        if !launches.is_empty() {
            let buffers = problem.buffers(device);
            let mut given = launches.iter().flat_map(|launch| &launch.args).flat_map(Arg::buffers);
            let keeps_memory = given.any(|index| buffers.get(index).is_some_and(|buffer| buffer.role.is_kept()));
            if keeps_memory {
                launches = std::iter::repeat_n(launches, LAUNCHES).flatten().collect();
            }
            let cost = launches.iter().map(cost).sum();
            cases.push(Case { options, launches, keeps_memory, cost });
        }
    }
    cases.sort_by_key(|case| case.cost);
    let mut together = 0;
    let small = cases.iter().take_while(|case| {
        together += case.cost;
        together <= SMALL
    });
    let count = small.count();
    // Keep some of the larger problems, from the smallest to the largest.
    let large = cases.split_off(count);
    let step = large.len().div_ceil(LARGE).max(1);
    cases.extend(large.into_iter().rev().step_by(step));
    cases.sort_by_key(|case| case.cost);
    cases
}

/// Selects problems by their ascending costs and returns their indices. Only problems with a cost of at most `most` are
/// selected, spread from the smallest to the largest. The result has about `count` problems, or more if more of the
/// smallest problems fit into a total cost of [`CHEAP`]. At least one problem is selected.
pub(crate) fn few(costs: &[u64], (most, count): (u64, usize)) -> Vec<usize> {
    let small = costs.iter().take_while(|cost| **cost <= most).count().max(1).min(costs.len());
    let mut together = 0;
    let cheap = costs.iter().take_while(|cost| {
        together += **cost;
        together <= CHEAP
    });
    let step = small.div_ceil(count.max(cheap.count())).max(1);
    let mut few: Vec<usize> = (0..small).rev().step_by(step).collect();
    few.reverse();
    few
}

/// Puts the middle element first, then the middles of the halves and so on, and then the rest in order. Because
/// problems are sorted by cost, the first few problems of the result represent all kinds, and most mutants are caught
/// on one of these few.
pub(crate) fn middle_first(all: Vec<usize>) -> Vec<usize> {
    let parts = [2, 4, 8, 16].into_iter().flat_map(|parts| (1..parts).step_by(2).map(move |part| (part, parts)));
    let middles = parts.filter_map(|(part, parts)| all.get(all.len() * part / parts));
    let mut ordered: Vec<usize> = Vec::new();
    for &index in middles.chain(&all) {
        if !ordered.contains(&index) {
            ordered.push(index);
        }
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::{CHEAP, few, middle_first};

    #[test]
    fn few_selects_problems_of_all_costs() {
        let costs: Vec<u64> = (0..100).map(|place| CHEAP / 10 + place).collect();
        // Fewer than 20 problems have a total cost of at most `CHEAP`, so the count decides.
        let chosen = few(&costs, (CHEAP / 10 + 79, 20));
        assert_eq!(chosen, (0..20).map(|place| 3 + 4 * place).collect::<Vec<_>>());
        assert_eq!(few(&[1; 100], (1, 20)).len(), 100);
        assert_eq!(few(&[5, 6], (4, 20)), [0]);
        assert!(few(&[], (4, 20)).is_empty());
    }

    #[test]
    fn middle_first_keeps_all_problems() {
        assert_eq!(middle_first(vec![10, 11, 12, 13, 14, 15, 16, 17]), [14, 12, 16, 11, 13, 15, 17, 10]);
        assert!(middle_first(Vec::new()).is_empty());
        let all: Vec<usize> = (0..100).collect();
        let ordered = middle_first(all.clone());
        assert_eq!(ordered[..5], [50, 25, 75, 12, 37]);
        let mut sorted = ordered;
        sorted.sort_unstable();
        assert_eq!(sorted, all);
    }
}
