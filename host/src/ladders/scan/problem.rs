//! The scan problem: its data and the check of its result.

use std::sync::OnceLock;

use engine::launch::{Arg, Launch};
use engine::options::Options;
use engine::problem::{Buffer, Facts, Labels, Problem, Role, Verdict, round_down, with_power};
use engine::registry::{DeviceProperties, Rung};
use kernels_gpu::scan::status::HEAD;
use rayon::prelude::*;

use crate::data::{element, generate};
use crate::ladders::number::{NAN_EVERY, Number, Op, Wide as _, gamma};

/// The smallest tile of a block, in 32-bit words, among the rungs that store a state per tile.
const SMALLEST_TILE: u64 = 64 * 16;

/// The maximum number of additions that an element goes through in its tile and in a window or wave of tiles.
const DEPTH: u64 = 60;

/// The names of the kinds of data.
pub(super) const DATA: &[&str] = &["random", "uniform", "constant", "sorted", "reversed", "few", "special"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Data {
    Random,
    Uniform,
    Constant,
    Sorted,
    Reversed,
    Few,
    Special,
}

impl Data {
    pub(super) fn named(name: &str) -> Self {
        let all = [Self::Random, Self::Uniform, Self::Constant, Self::Sorted, Self::Reversed, Self::Few, Self::Special];
        let place = DATA.iter().position(|known| *known == name);
        all[place.expect("the option accepts only these words")]
    }

    /// Returns the maximum number of factors whose products all stay in the range of `f32`. A factor's magnitude is
    /// within 1/1024 of 1, and the product of 2^16 factors of e^(1/1024) is e^64.
    pub(super) fn most_factors(self) -> u64 {
        match self {
            // The product of the magnitudes stays near 1.
            Self::Random | Self::Uniform | Self::Special => u64::MAX,
            Self::Constant | Self::Sorted | Self::Reversed | Self::Few => 1 << 16,
        }
    }

    fn generate<T: Number>(self, n: u64, op: Op) -> Vec<T> {
        let random = |index| T::element(index, op);
        match self {
            Self::Random => generate(n, random),
            // Uniform factors would soon make the product 0.
            Self::Uniform if op == Op::Product => generate(n, random),
            Self::Uniform => generate(n, T::uniform),
            Self::Constant => generate(n, |_| random(0)),
            Self::Few => generate(n, |index| random(element(index).cast_unsigned() % 4)),
            Self::Sorted | Self::Reversed => {
                let mut all = generate(n, random);
                all.par_sort_unstable_by(T::order);
                if self == Self::Reversed {
                    all.reverse();
                }
                all
            }
            Self::Special => generate(n, |index| match index % NAN_EVERY {
                6 => T::SPECIAL[(index / NAN_EVERY) as usize % T::SPECIAL.len()],
                _ => random(index),
            }),
        }
    }
}

/// The problem of scanning `n` elements of a type with an operation.
pub(super) struct Scan<T: Number> {
    pub(super) n: u64,
    pub(super) op: Op,
    pub(super) is_exclusive: bool,
    /// The name of the variant, such as `max_f32_exclusive`. Empty for the inclusive sum of `i32`.
    pub(super) variant: String,
    pub(super) data: Data,
    /// The maximum number of blocks in rungs whose blocks process several tiles. `None` for one block per
    /// multiprocessor.
    pub(super) resident: Option<u32>,
    pub(super) input: OnceLock<Vec<T>>,
}

impl<T: Number> Scan<T> {
    const SIZE: u64 = size_of::<T>() as u64;

    fn input(&self) -> &[T] {
        self.input.get_or_init(|| self.data.generate(self.n, self.op))
    }

    /// Returns the length in 32-bit words. In this unit, a thread's share is the same for every type.
    fn words(&self) -> u64 {
        self.n * Self::SIZE / 4
    }

    /// Returns whether the result is exact in any order of additions.
    fn is_exact(&self) -> bool {
        let is_sum_exact = matches!(self.data, Data::Random | Data::Special);
        T::ROUNDOFF == 0.0 || matches!(self.op, Op::Min | Op::Max) || self.op == Op::Sum && is_sum_exact
    }

    /// Returns the maximum allowed error of a result that combines `elements` elements whose magnitudes add up to
    /// `magnitudes`. The ladder's documentation derives this maximum.
    fn error(&self, launch: &Launch, rung: &Rung, elements: u64, magnitudes: f64, right: T::Wide) -> f64 {
        let magnitude = right.distance(T::Wide::identity(Op::Sum));
        if self.is_exact() || !magnitude.is_finite() {
            return 0.0;
        }
        let of_reference = gamma(elements, f64::EPSILON / 2.0);
        match self.op {
            Op::Product => (gamma(elements, T::ROUNDOFF) + of_reference) * magnitude,
            _ => {
                let tiles = self.words().div_ceil(launch.threads() * u64::from(rung.items_per_thread));
                let additions = elements.min(DEPTH + tiles) as f64 * T::ROUNDOFF;
                (additions / (1.0 - additions) + of_reference) * magnitudes
            }
        }
    }

    /// Returns the text after the size: `, max of f32, exclusive, sorted`, or nothing for the ladder's default sum.
    fn variant_in_words(&self) -> String {
        let mut words = String::new();
        if !self.variant.is_empty() {
            words += ", ";
            words += &self.variant.replace('_', ", ");
        }
        if self.data != Data::Random {
            words += ", ";
            words += DATA[self.data as usize];
        }
        if let Some(resident) = self.resident {
            words += &format!(", at most {resident} blocks");
        }
        words
    }
}

// SAFETY: every argument is one of the buffers or a count, and never an address.
unsafe impl<T: Number> Problem for Scan<T> {
    fn facts(&self) -> Facts {
        let shape = vec![self.words(), self.resident.unwrap_or(u32::MAX).into()];
        Facts { variant: self.variant.clone(), ..Facts::new(shape, 2 * self.n * Self::SIZE) }
    }

    fn labels(&self) -> Labels {
        let (column, variant) = (format!("n = {}", self.n), self.variant_in_words());
        Labels { size: format!("{column}{variant}"), title: with_power(self.n) + &variant, column }
    }

    fn smaller(&self, share: f64) -> Option<Options> {
        Some(Options::default().with("n", round_down(self.n, share)))
    }

    fn buffers(&self, _: DeviceProperties) -> Vec<Buffer> {
        let (bytes, tiles) = (self.n * Self::SIZE, self.words().div_ceil(SMALLEST_TILE).max(1));
        // 64-bit elements take two words per tile.
        let words = HEAD as u64 + tiles * Self::SIZE.div_ceil(4);
        vec![
            Buffer::new("input", Role::Input, bytes),
            Buffer::new("output", Role::Output, bytes),
            Buffer::new("sums", Role::Scratch, tiles * Self::SIZE),
            Buffer::new("barrier", Role::Workspace, size_of::<u32>() as u64),
            Buffer::new("status", Role::Kept, words * size_of::<u64>() as u64),
        ]
    }

    fn argument(&self, name: &str) -> Option<Arg> {
        (name == "n").then_some(Arg::U32(self.n as u32))
    }

    fn input(&self, index: usize) -> &[u8] {
        match index {
            0 => bytemuck::cast_slice(self.input()),
            _ => &[],
        }
    }

    fn check(&self, rung: &Rung, launch: &Launch, outputs: &[Vec<u8>]) -> Verdict {
        let (section, of) = match rung.single_pass {
            true => (usize::MAX, "the output"),
            false => ((launch.threads() * u64::from(rung.items_per_thread)) as usize, "its section"),
        };
        let none = T::Wide::identity(self.op);
        Verdict::of_output(outputs, self.n as usize, |found: &[T]| {
            let (mut sum, mut magnitudes) = (none, 0.0);
            for (index, (&element, &found)) in self.input().iter().zip(found).enumerate() {
                let place = index % section;
                if place == 0 {
                    (sum, magnitudes) = (none, 0.0);
                }
                let (before, element) = (sum, T::Wide::from(element));
                sum = T::Wide::combine(self.op, sum, element);
                magnitudes += element.distance(T::Wide::identity(Op::Sum));
                let right = if self.is_exclusive { before } else { sum };
                let error = || self.error(launch, rung, place as u64 + 1, magnitudes, right);
                let distance = T::Wide::from(found).distance(right);
                if distance == 0.0 || distance <= error() {
                    continue;
                }
                let which = format!("the {} up to element {index} of {of}", self.op.name());
                return Some(Verdict::wrong_element(which, &found, found, right));
            }
            None
        })
    }
}
