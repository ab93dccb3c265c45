//! The transpose of a matrix of 32-bit floats, from strided writes to padded tiles in shared memory.
//!
//! Each kernel has the parameters `(input: *const f32, output: *mut f32, rows: u32, cols: u32)`. The first rung copies
//! without transposing. The speed of the other rungs is compared with the speed of this copy.
//!
//! Effective bandwidth is computed as in the ladder's source text: one read and one write of every element, rows × cols
//! × 8 bytes, divided by the time.

use std::sync::OnceLock;

use rayon::prelude::*;

use engine::Error;
use engine::launch::{Arg, Launch};
use engine::options::{Opt, Options};
use engine::problem::{Buffer, Facts, Labels, Problem, Role, Verdict, round_down};
use engine::registry::{Column, DeviceProperties, Effort, Ladder, Rung, ShownColumns};

use crate::data::{MAX_ELEMENTS, generate};

/// The blocks of all rungs: the tile shapes, and the block of the rungs whose tile is larger than their block.
const BLOCKS: &[[u32; 3]] = &[[32, 16, 1], [32, 32, 1], [16, 16, 1], [512, 1, 1]];

const WORD: u64 = size_of::<f32>() as u64;

pub(super) const LADDER: Ladder = Ladder {
    name: "transpose",
    summary: "the transpose of a matrix of 32-bit floats",
    rungs: kernels_gpu::transpose::RUNGS,
    options: &[
        Opt::size("rows", "R", "4096", "Rows of the input"),
        Opt::size("cols", "C", "4096", "Columns of the input"),
    ],
    blocks: BLOCKS,
    block_rule: "32x16, 32x32 or 16x16, the compiled tile sizes, or 512 for the rungs with larger tiles",
    sweep,
    problem,
    shown: ShownColumns {
        timed: &[
            Column::Time,
            Column::Bandwidth,
            Column::OfCopy,
            Column::OfPeak,
            Column::OverBefore,
            Column::Published,
        ],
        counted: &[
            Column::Sectors,
            Column::Wavefronts,
            Column::Conflicts,
            Column::Instructions,
            Column::Used,
            Column::PublishedCount,
        ],
        pictures: false,
    },
};

fn sweep(effort: Effort) -> Vec<Options> {
    let large = effort.pick(4096, 1024, 64);
    let small = [
        (4, 4),
        (8, 33),
        (32, 32),
        (33, 15),
        (33, 31),
        (64, 33),
        (65, 33),
        (1, 1),
        (7, 7),
        (17, 17),
        (31, 33),
        (33, 9),
        (16, 33),
        (33, 32),
        (63, 63),
        (96, 33),
        (96, 96),
        (129, 33),
        (255, 33),
        (33, 1000),
    ];
    let shapes = small.into_iter().chain([(4096, 33), (1, 4097), (4097, 1), (1000, 1003), (large, large)]);
    shapes
        .filter(|(rows, cols)| effort != Effort::Least || rows * cols < 10_000)
        .map(|(rows, cols)| Options::default().with("rows", rows).with("cols", cols))
        .collect()
}

fn problem(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let rows = options.size_within("rows", 1..=MAX_ELEMENTS)?;
    let cols = options.size_within("cols", 1..=MAX_ELEMENTS)?;
    if rows * cols > MAX_ELEMENTS {
        let shape = format!("{rows} × {cols}");
        return Err(Error::too_large(LADDER.name, &shape, MAX_ELEMENTS));
    }
    Ok(Box::new(Transpose { rows: rows as u32, cols: cols as u32, input: OnceLock::new() }))
}

/// Returns element `index` of the input: a finite float whose bits identify its index almost uniquely.
///
/// Multiplication by an odd number maps all indices to different bits. Bit 30, the highest bit of the exponent, is
/// cleared, so that no element is an infinity or NaN.
fn element(index: u32) -> u32 {
    index.wrapping_mul(0x9e37_79b1) & !(1 << 30)
}

struct Transpose {
    rows: u32,
    cols: u32,
    input: OnceLock<Vec<u32>>,
}

impl Transpose {
    fn input(&self) -> &[u32] {
        self.input.get_or_init(|| generate(self.elements(), element))
    }

    fn elements(&self) -> u64 {
        u64::from(self.rows) * u64::from(self.cols)
    }
}

// SAFETY: every argument is one of the buffers or a count, and never an address.
unsafe impl Problem for Transpose {
    fn facts(&self) -> Facts {
        Facts::new(vec![self.rows.into(), self.cols.into()], 2 * self.elements() * WORD)
    }

    fn labels(&self) -> Labels {
        let size = format!("{} × {}", self.rows, self.cols);
        Labels { title: format!("{size} f32"), ..Labels::new(size) }
    }

    fn smaller(&self, share: f64) -> Option<Options> {
        let side = round_down(self.elements().isqrt(), share.sqrt());
        Some(Options::default().with("rows", side).with("cols", side))
    }

    fn buffers(&self, _: DeviceProperties) -> Vec<Buffer> {
        let bytes = self.elements() * WORD;
        vec![Buffer::new("input", Role::Input, bytes), Buffer::new("output", Role::Output, bytes)]
    }

    fn input(&self, index: usize) -> &[u8] {
        match index {
            0 => bytemuck::cast_slice(self.input()),
            _ => &[],
        }
    }

    fn argument(&self, name: &str) -> Option<Arg> {
        Some(match name {
            "rows" => Arg::U32(self.rows),
            "cols" => Arg::U32(self.cols),
            _ => return None,
        })
    }

    fn check(&self, rung: &Rung, _: &Launch, outputs: &[Vec<u8>]) -> Verdict {
        let input = self.input();
        let (rows, cols) = (self.rows as usize, self.cols as usize);
        Verdict::of_output(outputs, input.len(), |found: &[u32]| {
            let (width, at) = match rung.is_bound {
                true => (cols, (0..input.len()).find(|&at| found[at] != input[at])?),
                false => (rows, first_difference(found, input, rows, cols)?),
            };
            let (row, column) = (at / width, at % width);
            let right = match rung.is_bound {
                true => input[at],
                false => input[column * cols + row],
            };
            let [shown, right] = [found[at], right].map(|bits| format!("{:e}", f32::from_bits(bits)));
            let which = format_args!("row {row}, column {column} of the output");
            Some(Verdict::wrong_element(which, &found[at], shown, right))
        })
    }
}

/// Returns the first position at which `found` is not the transpose of `input`. The comparison proceeds square by
/// square. Reading a large matrix column by column would miss every cache, while a square fits into the nearest cache.
/// All cores compare bands of the input's rows, and the first band with a difference determines the result.
fn first_difference(found: &[u32], input: &[u32], rows: usize, cols: usize) -> Option<usize> {
    const SIDE: usize = 64;
    let bands = input.par_chunks(SIDE * cols).enumerate();
    bands.find_map_first(|(band, input)| {
        let (top, height) = (band * SIDE, input.len() / cols);
        let mut square = [0; SIDE * SIDE];
        for left in (0..cols).step_by(SIDE) {
            let columns = left..(left + SIDE).min(cols);
            for (row, line) in input.chunks(cols).enumerate() {
                for (column, &value) in line[columns.clone()].iter().enumerate() {
                    square[column * SIDE + row] = value;
                }
            }
            let is_right = square
                .chunks(SIDE)
                .zip(columns.clone())
                .all(|(right, column)| found[column * rows + top..][..height] == right[..height]);
            if !is_right {
                let mut places = (0..height).flat_map(|row| columns.clone().map(move |column| (row, column)));
                let (row, column) =
                    places.find(|&(row, column)| found[column * rows + top + row] != input[row * cols + column])?;
                return Some(column * rows + top + row);
            }
        }
        None
    })
}

#[cfg(test)]
mod tests;
