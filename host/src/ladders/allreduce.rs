//! All-reduce: every rank receives the sum of all ranks' arrays, as needed for gradients in data-parallel training.
//!
//! Each kernel receives tables with one address per rank, then the number of elements, the number of ranks, and the
//! number of the rank for which the first row of blocks computes. Here one device holds the memory of all ranks and
//! launches one row of blocks per rank. The kernels do the same work as on several devices, but one memory replaces the
//! links between the ranks. The crate [`ranks`] launches the same kernels with one rank on each of several devices.
//!
//! Effective bandwidth is the bytes of all inputs and all outputs, each counted once, divided by the time.
//!
//! The elements are whole numbers below 2^20. The sum of 8 arrays is therefore exact in any order of addition and is
//! compared exactly.

use std::sync::OnceLock;

use engine::Error;
use engine::launch::{Arg, Launch, TABLE_LENGTH};
use engine::options::{Opt, Options};
use engine::problem::{Buffer, Facts, Labels, Problem, Role, Verdict, elements, round_down, with_power};
use engine::registry::{DeviceProperties, Effort, Ladder, Rung, ShownColumns};
use engine::size::plural;
use kernels_gpu::allreduce::flags::FLAGS_PER_BLOCK;
use kernels_gpu::allreduce::inbox::{self, inbox_bytes};
use kernels_gpu::allreduce::{MAX_BLOCKS, MAX_RANKS};
use ranks::{FIRST_RANK, PeerProblem};
use rayon::prelude::*;

use crate::data::{MAX_ELEMENTS, element, generate};

const _: () = assert!(TABLE_LENGTH == MAX_RANKS);

/// The indices of the roles of buffers. There is one buffer per role and rank.
const INPUTS: usize = 0;
const OUTPUTS: usize = 1;
const FLAGS: usize = 2;
const INBOXES: usize = 3;

pub(super) const LADDER: Ladder = Ladder {
    name: "allreduce",
    summary: "the sum of all ranks' arrays, in every rank's memory",
    rungs: kernels_gpu::allreduce::RUNGS,
    options: &[
        Opt::size("n", "N", "2^16", "Number of f32 elements per rank"),
        Opt::size("ranks", "RANKS", "1", "Ranks on the device, 1 to 8; with --devices, one per device"),
    ],
    blocks: &[[128, 1, 1], [256, 1, 1], [512, 1, 1], [1024, 1, 1]],
    block_rule: "128, 256, 512 or 1024",
    sweep,
    problem: |options| Ok(Box::new(AllReduce::new(options)?)),
    shown: ShownColumns::MEMORY,
};

/// Returns problems with:
/// - every number of ranks;
/// - fewer elements than a single access, with one rank and with several;
/// - empty chunks, and chunks that are not a multiple of an access;
/// - rows of blocks that need several iterations;
/// - arrays that end with the last access of a block of 512 threads, one element before that, and in the next block;
/// - arrays that end in the last access of a rank, with an even and an odd number of ranks.
fn sweep(effort: Effort) -> Vec<Options> {
    let (sizes, ranks): (&[u64], &[u64]) = effort.pick(
        (&[0, 1, 3, 4, 31, 33, 4099, (1 << 20) + 3], &[2, 3, 8]),
        (&[0, 1, 33, 20_011, (1 << 18) + 3], &[3, 8]),
        (&[1, 33], &[3]),
    );
    let with = |n: u64, ranks: u64| Options::default().with("n", n).with("ranks", ranks);
    let all = (1..=MAX_RANKS as u64).map(|ranks| with(1003, ranks));
    let ends = [(1, 1), (2, 1), (3, 1), (2, 2), (4, 4), (7, 7), (33, 4), (33, 7), (2047, 1), (2048, 1), (3333, 1)];
    let ends = ends.into_iter().map(|(n, ranks)| with(n, ranks));
    all.chain(ends).chain(sizes.iter().flat_map(|&n| ranks.iter().map(move |&ranks| with(n, ranks)))).collect()
}

/// The all-reduce of one array of `n` elements per rank.
pub(super) struct AllReduce {
    n: u64,
    ranks: usize,
    /// The input of each rank.
    inputs: OnceLock<Vec<Vec<f32>>>,
    sums: OnceLock<Vec<f32>>,
}

impl AllReduce {
    pub(super) fn new(options: &Options) -> Result<Self, Error> {
        let n = options.size_within("n", 0..=MAX_ELEMENTS)?;
        let ranks = options.size_within("ranks", 1..=MAX_RANKS as u64)?;
        Ok(Self { n, ranks: ranks as usize, inputs: OnceLock::new(), sums: OnceLock::new() })
    }

    fn inputs(&self) -> &[Vec<f32>] {
        let input_of = |rank: u32| generate(self.n, |index| (element(index ^ rank << 28) >> 11) as f32);
        self.inputs.get_or_init(|| (0..self.ranks as u32).map(input_of).collect())
    }

    fn sums(&self) -> &[f32] {
        let inputs = self.inputs();
        let sum = |at: usize| inputs.iter().map(|input| input[at]).sum();
        self.sums.get_or_init(|| (0..self.n as usize).into_par_iter().map(sum).collect())
    }
}

// SAFETY: every argument is a table of the buffers or a count, and never an address.
unsafe impl Problem for AllReduce {
    fn facts(&self) -> Facts {
        let data = self.ranks as u64 * self.n * size_of::<f32>() as u64;
        Facts::new(vec![self.ranks as u64, self.n], 2 * data)
    }

    fn labels(&self) -> Labels {
        let ranks = plural(self.ranks as u64, "rank");
        let title = format!("{}, {ranks}", with_power(self.n));
        Labels { title, ..Labels::new(format!("n = {}, {ranks}", self.n)) }
    }

    fn smaller(&self, share: f64) -> Option<Options> {
        Some(Options::default().with("n", round_down(self.n, share)))
    }

    fn refuses(&self, rung: &Rung) -> Option<String> {
        let max = u64::from(inbox::MAX_ELEMENTS);
        let is_too_long = rung.parameters.contains(&"inboxes") && self.n > max;
        is_too_long.then(|| format!("its inboxes hold at most {max} elements; use --n {max} or less"))
    }

    fn buffers(&self, _: DeviceProperties) -> Vec<Buffer> {
        let data = self.n * size_of::<f32>() as u64;
        let flags = (FLAGS_PER_BLOCK * MAX_BLOCKS as usize * size_of::<u32>()) as u64;
        let inbox = inbox_bytes(self.ranks as u32, self.n);
        // Kernels receive tables of these buffers, so no kernel parameter has the name of a buffer.
        let buffers_per_rank = [
            Buffer::new("input of a rank", Role::Input, data),
            Buffer::new("output of a rank", Role::Output, data),
            Buffer::new("flags of a rank", Role::Workspace, flags),
            Buffer::new("inbox of a rank", Role::Kept, inbox),
        ];
        buffers_per_rank.into_iter().flat_map(|buffer| vec![buffer; self.ranks]).collect()
    }

    fn input(&self, index: usize) -> &[u8] {
        self.inputs().get(index).map_or(&[], |input| bytemuck::cast_slice(input))
    }

    fn argument(&self, name: &str) -> Option<Arg> {
        let table = |role: usize| Arg::Table { first: role * self.ranks, count: self.ranks };
        Some(match name {
            "inputs" => table(INPUTS),
            "outputs" => table(OUTPUTS),
            "flags" => table(FLAGS),
            "inboxes" => table(INBOXES),
            "n" => Arg::U32(self.n as u32),
            "ranks" => Arg::U32(self.ranks as u32),
            FIRST_RANK => Arg::U32(0),
            _ => return None,
        })
    }

    fn check(&self, _: &Rung, _: &Launch, outputs: &[Vec<u8>]) -> Verdict {
        if outputs.len() != self.ranks {
            return Verdict::Wrong(format!("there are outputs of {} ranks instead of {}", outputs.len(), self.ranks));
        }
        let expected = self.sums();
        let wrong = outputs.iter().enumerate().find_map(|(rank, output)| {
            let found = elements::<f32>(output);
            if found.len() != expected.len() {
                let (found, right) = (found.len(), expected.len());
                return Some(Verdict::Wrong(format!("rank {rank} has {found} results instead of {right}")));
            }
            let at = found.iter().zip(expected).position(|(found, right)| found != right)?;
            Some(Verdict::wrong_element(format!("element {at} of rank {rank}"), &found[at], found[at], expected[at]))
        });
        wrong.unwrap_or(Verdict::Right)
    }
}

impl PeerProblem for AllReduce {
    fn check_output(&self, output: &[u8]) -> Verdict {
        let (found, sums) = (elements::<f32>(output), self.sums());
        let parts = |all| <[f32]>::par_chunks(all, 1 << 16);
        if found.len() == sums.len() && parts(&found).zip(parts(sums)).all(|(found, right)| found == right) {
            return Verdict::Right;
        }
        Verdict::of_elements(&[output.to_vec()], sums, |at| format!("element {at}"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn sums_are_exact_and_a_wrong_one_is_named_with_its_rank() {
        let problem = LADDER.problem(&Options::default().with("n", 1000).with("ranks", 8)).unwrap();
        let rung = &LADDER.rungs[0];
        let launch = LADDER.launch(rung, &*problem, None, DeviceProperties::default()).unwrap();
        let inputs: Vec<Vec<f32>> = (0..8).map(|rank| elements(problem.input(rank)).into_owned()).collect();
        assert_ne!(inputs[0], inputs[1]);
        let mut sum: Vec<f32> = (0..1000).map(|at| inputs.iter().rev().map(|input| input[at]).sum()).collect();
        let outputs = |sum: &[f32]| vec![bytemuck::cast_slice::<_, u8>(sum).to_vec(); 8];
        assert_eq!(problem.check(rung, &launch, &outputs(&sum)), Verdict::Right);
        assert!(!problem.check(rung, &launch, &outputs(&sum)[..7]).is_right());
        sum[7] += 1.0;
        let mut wrong = outputs(&sum);
        wrong[..3].clone_from_slice(
            &outputs(&{
                sum[7] -= 1.0;
                sum
            })[..3],
        );
        match problem.check(rung, &launch, &wrong) {
            Verdict::Wrong(why) => assert!(why.starts_with("element 7 of rank 3 is "), "{why}"),
            Verdict::Right => panic!("right"),
        }
    }
}
