//! The transpose of a matrix of 32-bit floats: from strided writes to padded tiles in shared memory.
//!
//! Each kernel takes `(input: *const f32, output: *mut f32, rows: u32, cols: u32)`. The first rung copies
//! and does not transpose: it is what the memory can do.
//!
//! Effective bandwidth is reckoned as the text does that the ladder comes from: one read and one write of
//! every element, rows × cols × 8 bytes, by the time.

use std::borrow::Cow;
use std::sync::OnceLock;

use rayon::prelude::*;

use engine::Error;
use engine::launch::{Arg, Launch};
use engine::options::{Kind, Opt, Options};
use engine::peer::{Call, Peer};
use engine::problem::{Buffer, POISON, Problem, Role, Verdict, Wanted, round_down};
use engine::registry::{Column, Effort, Ladder, Rung, ShownColumns};

/// The most elements: the kernels count them in 31 bits.
pub const MAX_ELEMENTS: u64 = (1 << 31) - 1;

/// The blocks of all rungs: the tiles' own shapes, and the one of the rungs whose tile is larger than their block.
const BLOCKS: &[[u32; 3]] = &[[32, 16, 1], [32, 32, 1], [16, 16, 1], [512, 1, 1]];

/// Words behind the output that must keep their poison.
const GUARD: u64 = 64;

const WORD: u64 = size_of::<f32>() as u64;

/// The ladder.
pub(super) const LADDER: Ladder = Ladder {
    name: "transpose",
    summary: "the transpose of a matrix of 32-bit floats",
    rungs: kernels_gpu::transpose::RUNGS,
    options: &[
        Opt {
            name: "rows",
            metavar: "R",
            kind: Kind::Size,
            default: "4096",
            help: "Rows of the input",
        },
        Opt {
            name: "cols",
            metavar: "C",
            kind: Kind::Size,
            default: "4096",
            help: "Columns of the input",
        },
    ],
    blocks: BLOCKS,
    block_rule: "32x16, 32x32 or 16x16, the tiles that were compiled in, or 512 for the rungs with larger ones",
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
            Column::Instructions,
            Column::Sectors,
            Column::Used,
            Column::Wavefronts,
            Column::Conflicts,
            Column::PublishedCount,
        ],
        pictures: false,
    },
};

fn sweep(effort: Effort) -> Vec<Options> {
    let large = match effort {
        Effort::Full => 4096,
        Effort::Quick => 1024,
        Effort::Least => 64,
    };
    [
        (1, 1),
        (1, 4097),
        (4097, 1),
        (31, 33),
        (1000, 1003),
        (large, large),
    ]
    .into_iter()
    .filter(|(rows, cols)| effort != Effort::Least || rows * cols < 10_000)
    .map(|(rows, cols)| Options::default().with("rows", rows).with("cols", cols))
    .collect()
}

fn problem(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let [rows, cols] = ["rows", "cols"].map(|name| options.size(name));
    for (option, value) in [("rows", rows), ("cols", cols)] {
        if !(1..=MAX_ELEMENTS).contains(&value) {
            return Err(Error::OutOfBounds {
                ladder: LADDER.name,
                option,
                value,
                takes: format!("1 to {MAX_ELEMENTS}"),
            });
        }
    }
    if rows * cols > MAX_ELEMENTS {
        return Err(Error::TooLarge {
            ladder: LADDER.name,
            what: format!("{rows} × {cols}"),
            limit: format!("it takes up to {MAX_ELEMENTS} elements"),
        });
    }
    Ok(Box::new(Transpose {
        rows: rows as u32,
        cols: cols as u32,
        input: OnceLock::new(),
    }))
}

/// Element `index` of the input, as bits that show where an element came from: finite floats, of which
/// hardly two are alike.
///
/// A product with an odd number takes no two indices to the same bits. Bit 30 is the highest of the
/// exponent: without it the exponent is never the one of infinities and NaNs.
fn element(index: u32) -> u32 {
    index.wrapping_mul(0x9e37_79b1) & !(1 << 30)
}

/// One matrix to transpose.
struct Transpose {
    rows: u32,
    cols: u32,
    input: OnceLock<Vec<u32>>,
}

impl Transpose {
    fn input(&self) -> &[u32] {
        self.input.get_or_init(|| {
            (0..self.rows * self.cols)
                .into_par_iter()
                .map(element)
                .collect()
        })
    }

    fn elements(&self) -> u64 {
        u64::from(self.rows) * u64::from(self.cols)
    }
}

impl Transpose {
    /// What checks want: the output and its guard.
    fn output(&self) -> Vec<Wanted> {
        vec![Wanted {
            buffer: 1,
            bytes: ((self.elements() + GUARD) * WORD) as usize,
        }]
    }

    /// Compares an output with the transpose of the input, or with the input.
    fn check_output(&self, is_copy: bool, outputs: &[Vec<u8>]) -> Verdict {
        let bytes = outputs.first().map_or(&[][..], Vec::as_slice);
        let found: Cow<'_, [u32]> = match bytemuck::try_cast_slice(bytes) {
            Ok(found) => Cow::Borrowed(found),
            // The bytes are not where words can be.
            Err(_) => bytes
                .chunks_exact(WORD as usize)
                .map(bytemuck::pod_read_unaligned)
                .collect(),
        };
        let elements = self.elements() as usize;
        let poison = u32::from_ne_bytes([POISON; 4]);
        if found.len() < elements {
            return Verdict::Wrong(format!(
                "the output has {} elements of {elements}",
                found.len()
            ));
        }
        let (rows, cols) = (self.rows as usize, self.cols as usize);
        let (width, input) = (if is_copy { cols } else { rows }, self.input());
        let wrong = if is_copy {
            (0..elements).find(|&at| found[at] != input[at])
        } else {
            first_difference(&found, input, rows, cols)
        };
        if let Some(at) = wrong {
            let (row, column) = (at / width, at % width);
            let right = if is_copy {
                input[at]
            } else {
                input[column * cols + row]
            };
            let unwritten = if found[at] == poison {
                ", which is what was there before"
            } else {
                ""
            };
            return Verdict::Wrong(format!(
                "row {row}, column {column} of the output is {:e}{unwritten}; {:e} is right",
                f32::from_bits(found[at]),
                f32::from_bits(right)
            ));
        }
        match found[elements..].iter().position(|&word| word != poison) {
            None => Verdict::Right,
            Some(extra) => Verdict::Wrong(format!(
                "element {} was written, behind the output's {elements}",
                elements + extra
            )),
        }
    }
}

impl Problem for Transpose {
    fn size(&self) -> String {
        format!("{} × {}", self.rows, self.cols)
    }

    fn title(&self) -> String {
        format!("{} × {} f32", self.rows, self.cols)
    }

    fn smaller(&self, share: f64) -> Option<String> {
        let side = round_down(self.elements().isqrt(), share.sqrt());
        Some(format!("--rows {side} --cols {side}"))
    }

    fn shape(&self) -> Vec<u64> {
        vec![self.rows.into(), self.cols.into()]
    }

    fn buffers(&self) -> Vec<Buffer> {
        vec![
            Buffer {
                role: Role::Input,
                bytes: self.elements() * WORD,
            },
            Buffer {
                role: Role::Output,
                bytes: (self.elements() + GUARD) * WORD,
            },
        ]
    }

    fn input(&self, index: usize) -> &[u8] {
        if index == 0 {
            bytemuck::cast_slice(self.input())
        } else {
            &[]
        }
    }

    fn args(&self, _: &Rung) -> Vec<Arg> {
        vec![
            Arg::Buffer(0),
            Arg::Buffer(1),
            Arg::U32(self.rows),
            Arg::U32(self.cols),
        ]
    }

    fn bytes(&self) -> u64 {
        2 * self.elements() * WORD
    }

    fn wanted(&self, _: &Launch) -> Vec<Wanted> {
        self.output()
    }

    fn check(&self, rung: &Rung, _: &Launch, outputs: &[Vec<u8>]) -> Verdict {
        self.check_output(rung.is_bound, outputs)
    }

    fn peers(&self) -> Vec<Peer> {
        let (rows, cols) = (self.rows, self.cols);
        vec![
            Peer {
                name: "memcpy",
                call: Call::Copy {
                    from: 0,
                    to: 1,
                    bytes: self.elements() * WORD,
                },
                is_bound: true,
            },
            Peer {
                name: "cuBLAS geam",
                call: Call::Transpose {
                    input: 0,
                    output: 1,
                    rows,
                    cols,
                },
                is_bound: false,
            },
        ]
    }

    fn wanted_of_peer(&self, _: &Peer) -> Vec<Wanted> {
        self.output()
    }

    fn check_peer(&self, peer: &Peer, outputs: &[Vec<u8>]) -> Verdict {
        self.check_output(peer.is_bound, outputs)
    }
}

/// Where `found` first is not the transpose of `input`, square by square, because a walk down the columns
/// of a large matrix misses every cache: a square is turned in the nearest one. By bands of the input's rows
/// on all cores, of which the first with a difference has the last word.
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
                let mut places =
                    (0..height).flat_map(|row| columns.clone().map(move |column| (row, column)));
                let (row, column) = places.find(|&(row, column)| {
                    found[column * rows + top + row] != input[row * cols + column]
                })?;
                return Some(column * rows + top + row);
            }
        }
        None
    })
}

#[cfg(test)]
mod tests;
