//! The sum of n 32-bit integers, wrapping: from neighboured pairs in global memory to warp shuffles.
//!
//! Each kernel takes `(input: *mut i32, output: *mut i32, n: u32)` and writes one word a block, the sum
//! of the elements that the block takes. The host adds these partial sums. As in the text that the ladder
//! comes from, that last step belongs to checking: it is not timed.
//!
//! Effective bandwidth is reckoned as that text does: n × 4 bytes, each element read once, by the time.
//! What an in-place rung writes back and reads again is its own affair, and so are the partial sums.

mod cpu;
mod rungs;

use std::sync::OnceLock;

pub use cpu::{plain_sum, recursive_reduce};

use crate::error::Error;
use crate::launch::{Arg, Launch};
use crate::options::{Kind, Opt, Options};
use crate::problem::{Buffer, POISON, Problem, Role, Verdict, Wanted, round_down, with_power};
use crate::registry::{Effort, Ladder, Rung};
use crate::report::{Shown, columns};

/// The largest size: the kernels count elements in 31 bits.
pub const MAX_N: u64 = (1 << 31) - 1;

/// The powers of two from two warps to the most threads that a block can have.
const BLOCKS: &[[u32; 3]] = &[
    [64, 1, 1],
    [128, 1, 1],
    [256, 1, 1],
    [512, 1, 1],
    [1024, 1, 1],
];

/// The smallest block. Every block's share of the input begins at a multiple of it.
const GRAIN: u64 = 64;

/// Words behind the partial sums that must keep their poison: a kernel that writes past its last block
/// is wrong.
const GUARD: u64 = 16;

const WORD: u64 = size_of::<i32>() as u64;

/// The ladder.
pub(crate) const LADDER: Ladder = Ladder {
    name: "reduce",
    summary: "the sum of n 32-bit integers, wrapping, as one partial sum a block",
    rungs: rungs::RUNGS,
    options: &[Opt {
        name: "n",
        metavar: "N",
        kind: Kind::Size,
        default: "16777216",
        help: "How many elements: 16777216, 1_000_000, 2^24 or 16M (k, M, G are 2^10, 2^20, 2^30)",
    }],
    blocks: BLOCKS,
    block_rule: "a power of two from 64 to 1024",
    sweep,
    problem,
    shown: Shown {
        timed: &[
            columns::TIME,
            columns::OVER_FIRST,
            columns::OVER_BEFORE,
            columns::BANDWIDTH,
            columns::OF_PEAK,
            columns::PUBLISHED,
        ],
        counted: &[
            columns::INSTRUCTIONS,
            columns::SECTORS,
            columns::USED,
            columns::CONFLICTS,
            columns::UNIFORM,
        ],
        pictures: false,
    },
};

fn sweep(effort: Effort) -> Vec<Options> {
    let sizes: &[u64] = match effort {
        Effort::Full | Effort::Quick => &[0, 1, 31, 1000, 1_000_003, (1 << 24) + 1],
        Effort::Least => &[0, 1, 31, 1000, 100_003],
    };
    sizes
        .iter()
        .map(|n| Options::default().with("n", n))
        .collect()
}

fn problem(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let n = options.size("n");
    if n > MAX_N {
        return Err(Error::OutOfBounds {
            ladder: LADDER.name,
            option: "n",
            value: n,
            takes: format!("0 to {MAX_N}"),
        });
    }
    Ok(Box::new(Sum {
        n,
        data: OnceLock::new(),
    }))
}

/// Element `index` of the input: pseudo-random over the full range of `i32`, so that sums wrap and no
/// lane adds only zeros. The same on every machine and in every run.
///
/// The finalizer of MurmurHash3 (Appleby, public domain), a bijection of 32-bit words.
pub fn element(index: u32) -> i32 {
    let mut h = index.wrapping_add(0x9e37_79b9);
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    (h ^ (h >> 16)).cast_signed()
}

/// One sum to compute.
struct Sum {
    n: u64,
    data: OnceLock<Data>,
}

struct Data {
    input: Vec<i32>,
    /// The sum of the first `GRAIN` × i elements at index i, and of all of them at the end: the sum of
    /// any block's share is a difference of two.
    sums: Vec<i32>,
}

impl Data {
    fn new(n: u64) -> Self {
        // The problem's constructor bounds n to 31 bits.
        let input: Vec<i32> = (0..n as u32).map(element).collect();
        let mut total = 0i32;
        let mut sums = vec![0];
        for grain in input.chunks(GRAIN as usize) {
            total = total.wrapping_add(plain_sum(grain));
            sums.push(total);
        }
        Self { input, sums }
    }

    /// The sum of the elements from `start`, a multiple of `GRAIN`, to `end` or the last.
    fn sum(&self, start: u64, end: u64) -> i32 {
        let at = |element: u64| {
            let index = element.div_ceil(GRAIN).min(self.sums.len() as u64 - 1);
            self.sums[index as usize]
        };
        at(end).wrapping_sub(at(start))
    }
}

impl Sum {
    fn data(&self) -> &Data {
        self.data.get_or_init(|| Data::new(self.n))
    }
}

impl Problem for Sum {
    fn size(&self) -> String {
        format!("n = {}", self.n)
    }

    fn title(&self) -> String {
        with_power(self.n)
    }

    fn smaller(&self, share: f64) -> Option<String> {
        Some(format!("--n {}", round_down(self.n, share)))
    }

    fn shape(&self) -> Vec<u64> {
        vec![self.n]
    }

    fn buffers(&self) -> Vec<Buffer> {
        let most_blocks = self.n.div_ceil(GRAIN).max(1);
        vec![
            Buffer {
                role: Role::Input,
                bytes: self.n * WORD,
            },
            Buffer {
                role: Role::Output,
                bytes: (most_blocks + GUARD) * WORD,
            },
        ]
    }

    fn input(&self, index: usize) -> &[u8] {
        if index == 0 {
            bytemuck::cast_slice(&self.data().input)
        } else {
            &[]
        }
    }

    fn args(&self, _: &Rung) -> Vec<Arg> {
        vec![Arg::Buffer(0), Arg::Buffer(1), Arg::U32(self.n as u32)]
    }

    fn bytes(&self) -> u64 {
        self.n * WORD
    }

    fn wanted(&self, launch: &Launch) -> Vec<Wanted> {
        vec![Wanted {
            buffer: 1,
            bytes: ((launch.blocks() + GUARD) * WORD) as usize,
        }]
    }

    fn check(&self, rung: &Rung, launch: &Launch, outputs: &[Vec<u8>]) -> Verdict {
        let sums = outputs.first().map_or(&[][..], Vec::as_slice);
        let words: Vec<i32> = sums
            .chunks_exact(WORD as usize)
            .map(bytemuck::pod_read_unaligned)
            .collect();
        let blocks = launch.blocks() as usize;
        let poison = i32::from_ne_bytes([POISON; 4]);
        let elements = rung.geometry.elements(launch.block);
        let wrong = (0..blocks).find_map(|block| {
            let start = block as u64 * elements;
            let expected = self.data().sum(start, start + elements);
            let found = words.get(block).copied().unwrap_or(poison);
            (found != expected).then(|| {
                let unwritten = if found == poison {
                    ", which is what was there before"
                } else {
                    ""
                };
                format!(
                    "block {block} of {blocks}: its sum is {found}{unwritten}; {expected} is right"
                )
            })
        });
        let past_the_end = || {
            words
                .iter()
                .skip(blocks)
                .position(|&word| word != poison)
                .map(|extra| {
                    format!(
                        "word {} was written, behind the sums of {blocks} blocks",
                        blocks + extra
                    )
                })
        };
        match wrong.or_else(past_the_end) {
            None => Verdict::Right,
            Some(difference) => Verdict::Wrong(difference),
        }
    }
}

#[cfg(test)]
mod tests;
