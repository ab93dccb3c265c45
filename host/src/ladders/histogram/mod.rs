//! How often each byte value occurs, of made-up bytes or of any file's.
//!
//! Each kernel takes `(input: *const u8, bins: *mut u32, n: u32)` and adds to 256 counters, which are zeroed
//! before every launch, out of the time.
//!
//! Effective bandwidth is reckoned as n bytes, each read once, by the time.

mod data;

use std::sync::OnceLock;

use rayon::prelude::*;

use kernels_gpu::histogram::BINS;

use engine::Error;
use engine::launch::Launch;
use engine::options::{Kind, Opt, Options};
use engine::problem::{Buffer, Problem, Role, Verdict, round_down, with_power};
use engine::registry::{Column, Effort, Ladder, Rung, ShownColumns};

use data::Data;

/// The most bytes: the kernels count them in 31 bits.
pub const MAX_N: u64 = (1 << 31) - 1;

/// The number of made-up bytes where none is asked for.
const DEFAULT_N: u64 = 1 << 24;

const BLOCKS: &[[u32; 3]] = &[[128, 1, 1], [256, 1, 1], [512, 1, 1], [1024, 1, 1]];

/// The ladder.
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
    problem,
    shown: ShownColumns {
        timed: ShownColumns::MEMORY.timed,
        counted: &[
            Column::Instructions,
            Column::SectorsLoaded,
            Column::GlobalAtomics,
            Column::AtomicSectors,
            Column::SharedAtomics,
        ],
        pictures: false,
    },
};

fn sweep(effort: Effort) -> Vec<Options> {
    let sizes: &[u64] = match effort {
        Effort::Full => &[0, 1, 255, 4096, (1 << 20) + 7, DEFAULT_N],
        Effort::Quick => &[0, 1, 255, 4096, (1 << 20) + 7],
        Effort::Least => &[0, 1, 255, 20_011],
    };
    let with = |n: &u64| data::NAMES.map(|data| Options::default().with("n", n).with("data", data));
    sizes.iter().flat_map(with).collect()
}

fn problem(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let asked = options.maybe_size("n");
    let out_of_bounds = |value, takes| Error::OutOfBounds {
        ladder: LADDER.name,
        option: "n",
        value,
        takes,
    };
    if let Some(value) = asked.filter(|&n| n > MAX_N) {
        return Err(out_of_bounds(value, format!("0 to {MAX_N}")));
    }
    let name = options.text("data");
    let data = Data::named(name, asked.unwrap_or(MAX_N + 1))?;
    let n = match (&data, asked) {
        (Data::MadeUp(_), asked) => asked.unwrap_or(DEFAULT_N),
        (Data::File(bytes), None) if bytes.len() as u64 > MAX_N => {
            let takes =
                format!("0 to {MAX_N}, and {name} has more; --n says how many of them to take");
            return Err(out_of_bounds(bytes.len() as u64, takes));
        }
        (Data::File(bytes), None) => bytes.len() as u64,
        (Data::File(bytes), Some(value)) if (bytes.len() as u64) < value => {
            let takes = format!("0 to {}, the bytes of {name}", bytes.len());
            return Err(out_of_bounds(value, takes));
        }
        (Data::File(_), Some(n)) => n,
    };
    Ok(Box::new(Histogram {
        n,
        name: name.to_owned(),
        data,
        made: OnceLock::new(),
    }))
}

/// Bytes to count.
struct Histogram {
    n: u64,
    name: String,
    data: Data,
    made: OnceLock<Vec<u8>>,
}

impl Histogram {
    fn input(&self) -> &[u8] {
        match &self.data {
            Data::File(bytes) => bytes,
            Data::MadeUp(byte) => self
                .made
                .get_or_init(|| (0..self.n as u32).into_par_iter().map(*byte).collect()),
        }
    }
}

impl Problem for Histogram {
    fn size(&self) -> String {
        format!("n = {}, {}", self.n, self.name)
    }

    fn title(&self) -> String {
        format!("{}, {} bytes", with_power(self.n), self.name)
    }

    fn column(&self) -> String {
        format!("n = {}", self.n)
    }

    fn smaller(&self, share: f64) -> Option<String> {
        Some(format!("--n {}", round_down(self.n, share)))
    }

    fn resolved_options(&self, options: Options) -> Options {
        options.with_size("n", self.n)
    }

    fn shape(&self) -> Vec<u64> {
        vec![self.n]
    }

    fn buffers(&self) -> Vec<Buffer> {
        vec![
            Buffer::new(Role::Input, self.n),
            Buffer::new(Role::Sum, BINS as u64 * 4),
        ]
    }

    fn input(&self, index: usize) -> &[u8] {
        if index == 0 { self.input() } else { &[] }
    }

    fn check(&self, _: &Rung, _: &Launch, outputs: &[Vec<u8>]) -> Verdict {
        let found: &[u8] = outputs.first().map_or(&[], Vec::as_slice);
        Verdict::of_elements(found, &counts(self.input()), |byte| {
            format!("the count of byte {byte:#04x}")
        })
    }
}

/// How often each value occurs: the reference.
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
