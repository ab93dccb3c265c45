//! The histogram of byte values, of generated data or of a file.
//!
//! Each kernel takes `(input: *const u8, bins: *mut u32, n: u32)` and adds to 256 counters. They are zeroed before
//! every launch, which is not timed.
//!
//! Effective bandwidth is n bytes, each read once, divided by the time.

mod data;

use std::ops::Range;
use std::sync::OnceLock;

use rayon::prelude::*;

use kernels_gpu::histogram::BINS;

use engine::Error;
use engine::launch::{Arg, Launch};
use engine::options::{Kind, Opt, Options};
use engine::problem::{Buffer, Facts, Labels, Problem, Role, Verdict, elements, round_down, with_power};
use engine::registry::{Column, DeviceProperties, Effort, Ladder, Rung, ShownColumns};
use ranks::{Combination, Divide, ElementType, Operation, Piece, RankProblem, Share, Side};

use crate::data::{MOST_IN_PIECES, generate, least_pieces, too_many};
use data::Data;

const DEFAULT_N: u64 = 1 << 24;

/// The most bytes that a 32-bit counter is sure to count without overflow. All of them may have the same value, except
/// for uniform data: in any 2^32 of those bytes in a row, each value occurs 2^24 times.
fn most(data: &str) -> u64 {
    if data == data::NAMES[0] { MOST_IN_PIECES } else { u64::from(u32::MAX) }
}

const BLOCKS: &[[u32; 3]] = &[[128, 1, 1], [256, 1, 1], [512, 1, 1], [1024, 1, 1]];

pub(super) const LADDER: Ladder = Ladder {
    name: "histogram",
    summary: "how often each byte value occurs",
    rungs: kernels_gpu::histogram::RUNGS,
    options: &[
        Opt {
            name: "n",
            metavar: "N",
            kind: Kind::SizeOr("all"),
            default: "all",
            help: "How many bytes; all are 2^24 made-up ones, or those of the file",
        },
        Opt {
            name: "data",
            metavar: "DATA",
            kind: Kind::Text,
            default: "uniform",
            help: "The bytes: uniform, skewed (half of them one value, a quarter another, …), constant, or a file",
        },
    ],
    blocks: BLOCKS,
    block_rule: "128, 256, 512 or 1024",
    sweep,
    problem: |options| Ok(divided(options)?),
    shown: ShownColumns {
        timed: ShownColumns::MEMORY.timed,
        counted: &[
            Column::GlobalAtomics,
            Column::SharedAtomics,
            Column::AtomicSectors,
            Column::Instructions,
            Column::SectorsLoaded,
        ],
        pictures: false,
    },
};

/// Sizes at which a wrong comparison or a wrong offset shows: the last block ends within each of the elements of a thread,
/// whether a thread's elements are neighbours or a block apart; one element after a block of 512; and
/// two blocks of the rung whose blocks take the most.
fn edges() -> impl Iterator<Item = u64> {
    (0..=16).map(|item| 257 * item + 100).chain([513, 1025, 2049, 40_001])
}

fn sweep(effort: Effort) -> Vec<Options> {
    let sizes: &[u64] = effort.pick(
        &[0, 1, 255, 4096, (1 << 20) + 7, DEFAULT_N],
        &[0, 1, 255, 4096, (1 << 20) + 7],
        &[0, 1, 255, 20_011],
    );
    let with = |n: u64, data| Options::default().with("n", n).with("data", data);
    let all = sizes.iter().flat_map(|&n| data::NAMES.map(|data| with(n, data)));
    all.chain(edges().map(|n| with(n, data::NAMES[0]))).collect()
}

pub(super) fn divided(options: &Options) -> Result<Box<dyn Divide>, Error> {
    let given = options.maybe_size("n");
    let out_of_bounds = |value, takes: &str| Error::out_of_bounds(LADDER.name, "n", value, takes);
    let name = options.text("data").to_owned();
    let most = most(&name);
    if let Some(value) = given.filter(|&n| n > most) {
        return Err(out_of_bounds(value, &format!("0 to {most}")));
    }
    let data = Data::named(&name, given.unwrap_or(most + 1))?;
    let n = match &data {
        Data::Generated(_) => given.unwrap_or(DEFAULT_N),
        Data::File(bytes) => {
            let length = bytes.len() as u64;
            let n = given.unwrap_or(length);
            if n > most {
                let takes = format!("0 to {most}, and {name} has more; --n says how many of them to take");
                return Err(out_of_bounds(n, &takes));
            }
            if n > length {
                return Err(out_of_bounds(n, &format!("0 to {length}, the bytes of {name}")));
            }
            n
        }
    };
    Ok(Box::new(Histogram { n, first: 0, name, data, generated: OnceLock::new() }))
}

struct Histogram {
    n: u64,
    /// The index of its first byte, where it is a part of the data.
    first: u64,
    name: String,
    data: Data,
    generated: OnceLock<Vec<u8>>,
}

impl Histogram {
    /// Those of its bytes.
    fn range(&self, range: Range<u64>) -> Self {
        let data = match &self.data {
            Data::File(bytes) => Data::File(bytes[range.start as usize..range.end as usize].to_vec()),
            Data::Generated(byte) => Data::Generated(*byte),
        };
        let (n, first) = (range.end - range.start, self.first + range.start);
        Self { n, first, name: self.name.clone(), data, generated: OnceLock::new() }
    }

    fn input(&self) -> &[u8] {
        match &self.data {
            Data::File(bytes) => bytes,
            Data::Generated(byte) => {
                self.generated.get_or_init(|| generate(self.n, |index| byte(index.wrapping_add(self.first as u32))))
            }
        }
    }
}

// SAFETY: the arguments are buffers, and numbers that the kernels count with.
unsafe impl Problem for Histogram {
    fn facts(&self) -> Facts {
        Facts { chosen: Options::default().with_size("n", self.n), ..Facts::new(vec![self.n], self.n) }
    }

    fn labels(&self) -> Labels {
        Labels {
            size: format!("n = {}, {}", self.n, self.name),
            title: format!("{}, {} bytes", with_power(self.n), self.name),
            column: format!("n = {}", self.n),
        }
    }

    fn smaller(&self, share: f64) -> Option<Options> {
        Some(Options::default().with("n", round_down(self.n, share)))
    }

    fn refuses(&self, _: &Rung) -> Option<String> {
        too_many(self.n)
    }

    fn buffers(&self, _: DeviceProperties) -> Vec<Buffer> {
        vec![Buffer::new("input", Role::Input, self.n), Buffer::new("bins", Role::Sum, BINS as u64 * 4)]
    }

    fn input(&self, index: usize) -> &[u8] {
        if index == 0 { self.input() } else { &[] }
    }

    fn argument(&self, name: &str) -> Option<Arg> {
        Some(match name {
            "n" => Arg::U32(self.n as u32),
            _ => return None,
        })
    }

    fn check(&self, _: &Rung, _: &Launch, outputs: &[Vec<u8>]) -> Verdict {
        Verdict::of_elements(outputs, &counts(self.input()), |byte| format!("the count of byte {byte:#04x}"))
    }
}

impl Divide for Histogram {
    fn share(&self, share: Share, _: Side) -> Result<RankProblem, String> {
        Ok(RankProblem { problem: Box::new(self.range(share.of(self.n))), broadcast: Vec::new(), scattered: None })
    }

    fn combination(&self, _: &Rung) -> Combination {
        Combination::Reduce { element: ElementType::U32, operation: Operation::Sum }
    }

    fn least_pieces(&self) -> usize {
        least_pieces(self.n)
    }

    fn piece(&self, _: &Rung, piece: Share) -> Result<Piece, String> {
        let range = crate::data::piece(piece, self.n);
        let offsets = vec![(0, range.start)];
        Ok(Piece { problem: Box::new(self.range(range)), offsets })
    }

    fn reference(&self) -> Vec<u8> {
        bytemuck::cast_slice(&counts(self.input())).to_vec()
    }

    fn check_combined(&self, references: &[Vec<u8>], output: &[u8]) -> Verdict {
        let mut expected = vec![0u32; BINS];
        for part in references {
            expected.iter_mut().zip(&*elements::<u32>(part)).for_each(|(all, part)| *all += part);
        }
        Verdict::of_elements(&[output.to_vec()], &expected, |byte| {
            format!("the count of byte {byte:#04x} in all parts")
        })
    }
}

/// The number of occurrences of each value: the reference.
pub fn counts(bytes: &[u8]) -> [u32; BINS] {
    const PART: usize = 1 << 20;
    let of_a_part = |part: &[u8]| {
        let mut counts = [0u32; BINS];
        for &byte in part {
            counts[usize::from(byte)] += 1;
        }
        counts
    };
    let both = |a: [u32; BINS], b: [u32; BINS]| std::array::from_fn(|byte| a[byte] + b[byte]);
    let parts = bytes.par_chunks(PART).map(of_a_part);
    parts.reduce(|| [0; BINS], both)
}

#[cfg(test)]
mod tests;
