//! The softmax problem: a matrix, its data and the check of its rows.

use std::sync::OnceLock;

use engine::launch::{Arg, Launch};
use engine::options::Options;
use engine::problem::{Buffer, Facts, Labels, Problem, Role, Verdict, round_down};
use engine::registry::{DeviceProperties, Rung};
use kernels_gpu::softmax::longest_row;
use rayon::prelude::*;

use super::reference::{Op, Reference};
use super::{LADDER, OPS, TYPES};
use crate::data::{element, generate};
use crate::ladders::gemm::formats::Format;

/// The names of the kinds of data.
pub(super) const DATA: &[&str] = &["random", "constant", "special", "masked"];

/// The maximum number of rows for a rung with eight blocks per row, because a grid has fewer than 2^31 blocks.
const MOST_CLUSTERS: u64 = (1 << 28) - 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Data {
    /// Numbers with a mean of 0 and a standard deviation of 2.
    Random,
    Constant,
    /// Rows of eight kinds.
    Special,
    /// Each row is -∞ from a random position onward, but has at least one other element.
    Masked,
}

impl Data {
    pub(super) fn named(name: &str) -> Self {
        let all = [Self::Random, Self::Constant, Self::Special, Self::Masked];
        let place = DATA.iter().position(|known| *known == name);
        all[place.expect("the option accepts only these words")]
    }

    /// Returns the element at a row and column of a matrix with `n` columns.
    fn number(self, format: Format, row: u64, column: u64, n: u64) -> f64 {
        let random = normal((row * n + column) as u32);
        // A position in the row that depends on the row's number.
        let place = |salt: u32| u64::from(element(row as u32 ^ salt).cast_unsigned()) % n;
        let is_at = |salt| column == place(salt);
        match self {
            Self::Random => random,
            Self::Constant => 0.75,
            Self::Masked if column > place(1) => f64::NEG_INFINITY,
            Self::Masked => random,
            Self::Special => match row % 8 {
                0 if is_at(1) => f64::NAN,
                1 if is_at(1) => f64::INFINITY,
                2 if is_at(1) || is_at(2) => f64::NEG_INFINITY,
                3 => f64::NEG_INFINITY,
                4 if is_at(1) => format.largest(),
                4 if is_at(2) => -format.largest(),
                // The exponentials range from 1 down to numbers that are too small for f32.
                5 => 20.0 * random,
                6 if is_at(1) => -0.0,
                6 => format.least() * random,
                // A few elements are much larger than all others.
                7 if is_at(1) || is_at(2) || is_at(3) => 60.0,
                _ => random,
            },
        }
    }
}

/// Returns an approximately normally distributed pseudo-random number: the sum of four uniform numbers (Irwin–Hall),
/// with a standard deviation of 2.
fn normal(index: u32) -> f64 {
    let bits = u64::from(element(index).cast_unsigned()) << 32 | u64::from(element(!index).cast_unsigned());
    let uniform = |place: u32| f64::from((bits >> (16 * place)) as u16) / 65_536.0 - 0.5;
    (uniform(0) + uniform(1) + uniform(2) + uniform(3)) * 12.0_f64.sqrt()
}

/// Elements in the format of the device.
enum Elements {
    Half(Vec<u16>),
    Word(Vec<f32>),
}

impl Elements {
    fn new(format: Format, count: u64, number: impl Fn(u64) -> f64 + Sync + Send) -> Self {
        let value = |index: u32| format.round(number(index.into()));
        match format {
            Format::F32 => Self::Word(generate(count, value)),
            _ => Self::Half(generate(count, |index| format.encode(value(index)))),
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Half(elements) => bytemuck::cast_slice(elements),
            Self::Word(elements) => bytemuck::cast_slice(elements),
        }
    }

    fn value(&self, format: Format, at: usize) -> f64 {
        match self {
            Self::Half(elements) => format.decode(elements[at]).into(),
            Self::Word(elements) => elements[at].into(),
        }
    }
}

/// The problem of applying an operation to each row of a matrix.
pub(super) struct Rows {
    m: u64,
    n: u64,
    op: Op,
    format: Format,
    data: Data,
    /// The maximum number of blocks in rungs whose blocks process several rows. `None` for the number of blocks that
    /// suits the device.
    resident: Option<u32>,
    matrix: OnceLock<Elements>,
    weight: OnceLock<Elements>,
}

impl Rows {
    pub(super) fn new([m, n]: [u64; 2], (op, format, data): (Op, Format, Data), resident: Option<u32>) -> Self {
        let (matrix, weight) = Default::default();
        Self { m, n, op, format, data, resident, matrix, weight }
    }

    fn matrix(&self) -> &Elements {
        let number = |at| self.data.number(self.format, at / self.n, at % self.n, self.n);
        self.matrix.get_or_init(|| Elements::new(self.format, self.m * self.n, number))
    }

    /// Returns the weight, which consists of numbers from 0.5 to 1.5 of either sign.
    fn weight(&self) -> &Elements {
        let number = |at| {
            let bits = element(at as u32 ^ 0x5eed);
            (1.0 + f64::from(bits) / f64::from(1u32 << 31) / 2.0) * if bits & 1 == 0 { 1.0 } else { -1.0 }
        };
        self.weight.get_or_init(|| Elements::new(self.format, self.weights(), number))
    }

    /// Returns the number of elements of the weight.
    fn weights(&self) -> u64 {
        if self.op == Op::RmsNorm { self.n } else { 0 }
    }

    /// Returns a word for each option that differs from its default.
    fn words(&self) -> Vec<&'static str> {
        let op = (self.op == Op::RmsNorm).then_some(OPS[1]);
        let word = match self.format {
            Format::F16 => Some(TYPES[1]),
            Format::F32 => Some(TYPES[2]),
            _ => None,
        };
        [op, word].into_iter().flatten().collect()
    }

    /// Returns the index of the first wrong element, and its correct value.
    fn first_wrong(&self, rung: &Rung, found: &(dyn Fn(usize) -> f32 + Sync)) -> Option<(usize, f64)> {
        let n = self.n as usize;
        // The first rung adds a whole row in one thread.
        let additions = if rung.after.is_empty() { n } else { n.div_ceil(32) + 24 } as f64;
        let weight = |column| if self.op == Op::RmsNorm { self.weight().value(self.format, column) } else { 1.0 };
        // A matrix without elements has no rows to compare.
        let rows = if n == 0 { 0 } else { self.m as usize };
        (0..rows).into_par_iter().find_map_first(|row| {
            let values: Vec<f64> = (0..n).map(|column| self.matrix().value(self.format, row * n + column)).collect();
            let reference = Reference::new(self.op, &values, additions);
            (0..n).find_map(|column| {
                let (at, expected) = (row * n + column, reference.expected(values[column], weight(column)));
                let (found, [least, greatest]) =
                    (found(at), [expected.least, expected.greatest].map(|end| self.format.round(end)));
                let is_right =
                    if expected.right.is_nan() { found.is_nan() } else { least <= found && found <= greatest };
                (!is_right).then_some((at, expected.right))
            })
        })
    }

    fn place(&self, at: usize) -> String {
        let n = self.n as usize;
        format!("row {}, column {}", at / n, at % n)
    }
}

// SAFETY: every argument is one of the buffers or a count, and never an address.
unsafe impl Problem for Rows {
    fn facts(&self) -> Facts {
        let size = self.format.bytes();
        let shape = vec![self.m, self.n, size, self.resident.unwrap_or(u32::MAX).into()];
        let bytes = (2 * self.m * self.n + self.weights()) * size;
        Facts { variant: self.words().join("_"), ..Facts::new(shape, bytes) }
    }

    fn labels(&self) -> Labels {
        let column = format!("{} × {}", self.m, self.n);
        let data = (self.data != Data::Random).then_some(DATA[self.data as usize]);
        let resident = self.resident.map(|resident| format!("at most {resident} blocks"));
        let words = self.words().into_iter().chain(data).map(str::to_owned).chain(resident);
        let size = words.fold(column.clone(), |all, word| all + ", " + &word);
        Labels { title: size.clone(), column, size }
    }

    fn smaller(&self, share: f64) -> Option<Options> {
        let options = Options::default();
        // Reduce the number of rows, unless there is only one row.
        Some(match self.m > 1 {
            true => options.with("m", round_down(self.m, share).max(1)).with("n", self.n),
            false => options.with("m", self.m).with("n", round_down(self.n, share)),
        })
    }

    fn refuses(&self, rung: &Rung) -> Option<String> {
        let (size, variant) = (self.format.bytes(), self.facts().variant);
        let too_long = |rung: &Rung| longest_row(rung, size).is_some_and(|longest| self.n * size > longest);
        let too_many = |rung: &Rung| rung.name.contains("cluster") && self.m > MOST_CLUSTERS;
        let why = match longest_row(rung, size) {
            Some(longest) if too_long(rung) => format!(
                "a row has {} elements, but the rung keeps at most {} in its registers or shared memory; use --n {}",
                self.n,
                longest / size,
                longest / size
            ),
            _ if too_many(rung) => {
                format!("a grid with eight blocks for each of {} rows is too large; use --m {MOST_CLUSTERS}", self.m)
            }
            _ => return None,
        };
        let can = |other: &&Rung| other.computes(&variant) && !too_long(other) && !too_many(other);
        let other = LADDER.rungs.iter().rfind(can).map_or(String::new(), |other| format!(", or {}", other.name));
        Some(why + &other)
    }

    fn buffers(&self, _: DeviceProperties) -> Vec<Buffer> {
        let (size, elements) = (self.format.bytes(), self.m * self.n);
        vec![
            Buffer::new("input", Role::Input, elements * size),
            Buffer::new("weight", Role::Input, self.weights() * size),
            Buffer::new("output", Role::Output, elements * size),
        ]
    }

    fn argument(&self, name: &str) -> Option<Arg> {
        Some(match name {
            "m" => Arg::U32(self.m as u32),
            "n" => Arg::U32(self.n as u32),
            _ => return None,
        })
    }

    fn input(&self, index: usize) -> &[u8] {
        match index {
            0 => self.matrix().bytes(),
            1 => self.weight().bytes(),
            _ => &[],
        }
    }

    fn check(&self, rung: &Rung, _: &Launch, outputs: &[Vec<u8>]) -> Verdict {
        let length = (self.m * self.n) as usize;
        let right = |right: f64| format!("{:e}", self.format.round(right));
        match self.format {
            Format::F32 => Verdict::of_output(outputs, length, |found: &[f32]| {
                let (at, expected) = self.first_wrong(rung, &|at| found[at])?;
                let shown = format_args!("{:e}", found[at]);
                Some(Verdict::wrong_element(self.place(at), &found[at], shown, right(expected)))
            }),
            format => Verdict::of_output(outputs, length, |found: &[u16]| {
                let (at, expected) = self.first_wrong(rung, &|at| format.decode(found[at]))?;
                let shown = format_args!("{:e}", format.decode(found[at]));
                Some(Verdict::wrong_element(self.place(at), &found[at], shown, right(expected)))
            }),
        }
    }
}
