//! The prefix sum: element `i` of the output is the sum of the elements 0 to `i` of the input, wrapping.
//!
//! Each kernel takes `(input: *const i32, output: *mut i32, …, n: u32)`. The rungs before `scan_three_phases` scan the
//! section of each block; the check compares them section by section.
//!
//! Effective bandwidth counts one read and one write of every element.

use std::sync::OnceLock;

use engine::Error;
use engine::launch::{Arg, Launch};
use engine::options::{Opt, Options};
use engine::problem::{Buffer, Facts, Labels, Problem, Role, Verdict, round_down, with_power};
use engine::registry::{DeviceProperties, Effort, Ladder, Rung, ShownColumns};
use kernels_gpu::scan::status::HEAD;

use crate::data::{MAX_ELEMENTS, element, generate};

/// The smallest number of elements that a block takes, of the rungs that keep something for each tile.
const SMALLEST_TILE: u64 = 64 * 16;

pub(super) const LADDER: Ladder = Ladder {
    name: "scan",
    summary: "the prefix sum of n 32-bit integers, wrapping",
    rungs: kernels_gpu::scan::RUNGS,
    options: &[Opt::size("n", "N", "2^24", "How many elements")],
    blocks: &[[64, 1, 1], [128, 1, 1], [256, 1, 1], [512, 1, 1], [1024, 1, 1]],
    block_rule: "a power of two from 64 to 1024",
    sweep,
    problem,
    shown: ShownColumns::MEMORY,
};

/// Sizes at which a wrong comparison or a wrong offset shows: around warps, rows, blocks, tiles and windows of a look-back.
const EDGES: &[u64] = &[
    0, 1, 2, 3, 4, 5, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1000, 1023, 1024, 1025,
    2047, 2048, 2049, 4095, 4096, 4097, 8191, 8192, 8193, 16_383, 16_385, 32_768, 33_333, 65_535, 65_537, 131_071,
    131_073,
];

fn sweep(effort: Effort) -> Vec<Options> {
    let larger: &[u64] = effort.pick(
        &[262_143, 262_145, 524_287, 999_983, (1 << 20) + 3, 2_097_143, (1 << 22) + 1, (1 << 24) + 1, 33_554_393],
        &[262_145, 999_983, (1 << 20) + 3, (1 << 24) + 1],
        &[262_145],
    );
    EDGES.iter().chain(larger).map(|n| Options::default().with("n", n)).collect()
}

fn problem(options: &Options) -> Result<Box<dyn Problem>, Error> {
    Ok(Box::new(Scan { n: options.size_within("n", 0..=MAX_ELEMENTS)?, data: OnceLock::new() }))
}

/// Returns the prefix sums of the elements: the reference.
pub fn prefix_sums(input: &[i32]) -> Vec<i32> {
    let sums = input.iter().scan(0_i32, |sum, element| {
        *sum = sum.wrapping_add(*element);
        Some(*sum)
    });
    sums.collect()
}

struct Scan {
    n: u64,
    data: OnceLock<Data>,
}

struct Data {
    input: Vec<i32>,
    sums: Vec<i32>,
}

impl Scan {
    fn data(&self) -> &Data {
        self.data.get_or_init(|| {
            let input = generate(self.n, element);
            Data { sums: prefix_sums(&input), input }
        })
    }

    /// The output of a rung that scans sections of so many elements.
    fn sections(&self, section: usize) -> Vec<i32> {
        let sums = &self.data().sums;
        let parts = sums.chunks(section).enumerate().flat_map(|(index, part)| {
            let before = if index > 0 { sums[index * section - 1] } else { 0 };
            part.iter().map(move |sum| sum.wrapping_sub(before))
        });
        parts.collect()
    }
}

// SAFETY: the arguments are buffers, and numbers that the kernels count with.
unsafe impl Problem for Scan {
    fn facts(&self) -> Facts {
        Facts::new(vec![self.n], 2 * self.n * size_of::<i32>() as u64)
    }

    fn labels(&self) -> Labels {
        Labels { title: with_power(self.n), ..Labels::new(format!("n = {}", self.n)) }
    }

    fn smaller(&self, share: f64) -> Option<Options> {
        Some(Options::default().with("n", round_down(self.n, share)))
    }

    fn buffers(&self, _: DeviceProperties) -> Vec<Buffer> {
        let (bytes, tiles) = (self.n * size_of::<i32>() as u64, self.n.div_ceil(SMALLEST_TILE).max(1));
        vec![
            Buffer::new("input", Role::Input, bytes),
            Buffer::new("output", Role::Output, bytes),
            Buffer::new("sums", Role::Scratch, tiles * size_of::<i32>() as u64),
            Buffer::new("barrier", Role::Workspace, size_of::<u32>() as u64),
            Buffer::new("status", Role::Kept, (HEAD as u64 + tiles) * size_of::<u64>() as u64),
        ]
    }

    fn argument(&self, name: &str) -> Option<Arg> {
        (name == "n").then_some(Arg::U32(self.n as u32))
    }

    fn input(&self, index: usize) -> &[u8] {
        match index {
            0 => bytemuck::cast_slice(&self.data().input),
            _ => &[],
        }
    }

    fn check(&self, rung: &Rung, launch: &Launch, outputs: &[Vec<u8>]) -> Verdict {
        let section = launch.threads() * u64::from(rung.items_per_thread);
        let sections;
        let (expected, of) = match rung.single_pass {
            true => (&self.data().sums, "the output"),
            false => {
                sections = self.sections(section as usize);
                (&sections, "its section")
            }
        };
        Verdict::of_elements(outputs, expected, |index| format!("the sum up to element {index} of {of}"))
    }
}
