//! The problems that a kernel runs on: those of its ladder's check, and further ones of sizes around every edge.

use engine::launch::{Arg, Launch};
use engine::options::Kind;
use engine::registry::Effort;
use engine::{DeviceProperties, Options};

use crate::kernel::Kernel;

/// The largest cost of a launch that mutants run: larger problems ask the same of more blocks.
const MOST_CHECKED: u64 = 1 << 17;

/// The largest cost of a launch of a further problem.
const MOST_FURTHER: u64 = 1 << 14;

/// Operations that take about as long as a thread's beginning and end.
const OPERATIONS: u64 = 64;

/// The cost of the smallest problems together, which are all run, and how many of the larger ones are.
const SMALL: u64 = 1 << 20;
const LARGE: usize = 8;

/// What problems may cost together for all of them to be run.
const CHEAP: u64 = 1 << 15;

/// Sizes around the edges of warps, blocks and tiles.
const SIZES: &[u64] = &[
    1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 96, 127, 128, 129, 191, 255, 256, 257, 383, 511, 512,
    513, 1000, 1023, 1024, 1025, 2047, 2048, 2049, 3333, 4095, 4096, 4097, 6143, 8191, 8192, 8193, 12_289, 16_384,
];

/// How often a kernel is launched that finds what its launches before have left: so often that it finds its own in the place where
/// it leaves something, where it has two places that take turns.
const LAUNCHES: usize = 3;

/// The size of all options but one.
const OTHERS: u64 = 33;

/// A problem, and the launches of a kernel on it.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) options: Options,
    /// One with each block that the kernel was compiled for. Where launches find what those before have left, several of each.
    pub(crate) launches: Vec<Launch>,
    /// Whether they find that.
    pub(crate) keeps_memory: bool,
    /// About how long all launches take: their threads, or more where each has much to do.
    pub(crate) cost: u64,
}

/// Returns the problems of the ladder's check, those of its tests among them, that launch this kernel. The smallest come first.
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
    // The mutants run on the simulator.
    let (ladder, device) = (kernel.ladder, DeviceProperties::default());
    let mut cases: Vec<Case> = Vec::new();
    for options in all {
        if cases.iter().any(|own| own.options == options) {
            continue;
        }
        let Ok(problem) = ladder.problem(&options) else { continue };
        let blocks = |_: &_| ladder.blocks_of(kernel.rung, &*problem);
        let Ok((launches, _)) = ladder.launches(vec![kernel.rung], &*problem, device, blocks, true) else { continue };
        let operations = problem.facts().flops.unwrap_or(0) / OPERATIONS;
        let cost = |launch: &Launch| (launch.blocks() * launch.threads()).max(operations);
        let launches = launches.into_iter().map(|(_, launch)| launch);
        let own = launches.filter(|launch| launch.entry == kernel.entry && cost(launch) <= most);
        let mut launches: Vec<Launch> = own.collect();
        if !launches.is_empty() {
            let buffers = problem.buffers(device);
            let mut given = launches.iter().flat_map(|own| &own.args).flat_map(Arg::buffers);
            let keeps_memory = given.any(|index| buffers.get(index).is_some_and(|own| own.role.is_kept()));
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
    // Of the larger ones some, from the smallest to the largest.
    let large = cases.split_off(count);
    let step = large.len().div_ceil(LARGE).max(1);
    cases.extend(large.into_iter().rev().step_by(step));
    cases.sort_by_key(|case| case.cost);
    cases
}

/// Returns the places of some problems, of which these are the costs, the smallest first: of those with at most this cost, so many, from
/// the smallest to the largest, or as many as together cost [`CHEAP`]; one in any case.
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

/// Begins with the middle, then the middles of the halves, and so on, and goes on from the first to the last: as problems are
/// sorted by their costs, the first few are of all kinds, and most mutants are caught by one of them.
pub(crate) fn middle_first(all: Vec<usize>) -> Vec<usize> {
    let parts = [2, 4, 8, 16].into_iter().flat_map(|parts| (1..parts).step_by(2).map(move |part| (part, parts)));
    let middles = parts.filter_map(|(part, parts)| all.get(all.len() * part / parts));
    let mut ordered: Vec<usize> = Vec::new();
    for &own in middles.chain(&all) {
        if !ordered.contains(&own) {
            ordered.push(own);
        }
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::{CHEAP, few, middle_first};

    #[test]
    fn of_many_problems_some_of_all_costs_are_chosen() {
        let costs: Vec<u64> = (0..100).map(|place| CHEAP / 10 + place).collect();
        // So few are cheap together that the number decides.
        let chosen = few(&costs, (CHEAP / 10 + 79, 20));
        assert_eq!(chosen, (0..20).map(|place| 3 + 4 * place).collect::<Vec<_>>());
        assert_eq!(few(&[1; 100], (1, 20)).len(), 100);
        assert_eq!(few(&[5, 6], (4, 20)), [0]);
        assert!(few(&[], (4, 20)).is_empty());
    }

    #[test]
    fn the_middle_comes_first_and_nothing_is_left_out() {
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
