//! The two factors of a matrix product.

use rayon::prelude::*;

use super::formats::Format;
use crate::data::{element, generate};
use crate::ladders::product::{Bits, Extent, number};

/// The kind of data in the factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Data {
    /// Numbers from -1 to 1, rounded to the format.
    Uniform,
    /// Like `Uniform`, but half of A's rows and half of B's columns each contain one special number.
    Special,
    /// Numbers with so few bits that no sum of products is rounded, in any order of addition.
    Exact,
}

/// The kinds of data, as the option names them.
pub(super) const DATA: &[&str] = &["uniform", "special", "exact"];

impl Data {
    /// Returns the kind of data named `name`, one of [`DATA`].
    pub(super) fn named(name: &str) -> Self {
        match name {
            "special" => Self::Special,
            "exact" => Self::Exact,
            _ => Self::Uniform,
        }
    }
}

/// A factor: `lines` of `k` elements. The lines of A are its rows, and the lines of B are its columns. Each element of
/// the product is the dot product of a line of A and a line of B.
pub(super) struct Factor {
    format: Format,
    elements: Elements,
    /// The strides in elements: from one element of a line to the next, and from one line to the next.
    steps: [usize; 2],
}

/// The position of a factor within the factor of the whole product. `first` is the index of this factor's first line in
/// the whole factor, and this factor's first position within the lines. `whole` is the size of the whole factor: the
/// number of lines, if lines are adjacent in memory, and the number of elements in a line.
struct FactorOffset {
    first: [usize; 2],
    whole: [usize; 2],
}

enum Elements {
    Half(Vec<u16>),
    Word(Vec<f32>),
}

/// Returns numbers that expose faults in the handling of special cases.
fn specials(format: Format) -> [f64; 9] {
    let (least, normal, largest) = (format.least(), format.least_normal(), format.largest());
    [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, least, least - normal, normal, largest, -largest]
}

impl Factor {
    /// Creates a factor from pseudo-random numbers with this salt. Either the elements of a line are adjacent in
    /// memory, or the elements that have the same position in all lines.
    fn new(
        (format, data, bits): (Format, Data, u32),
        [lines, k]: [usize; 2],
        place: FactorOffset,
        lines_lie_together: bool,
        salt: u32,
    ) -> Self {
        let steps = if lines_lie_together { [lines, 1] } else { [1, k] };
        // An element's number is its index in the whole factor. In memory, this factor consists of a contiguous part of
        // each of the whole factor's rows.
        let (row, whole, first) = match lines_lie_together {
            true => (lines, place.whole[0], [place.first[1], place.first[0]]),
            false => (k, place.whole[1], place.first),
        };
        let number_of = |at: u32| match at as usize {
            at if row == whole => (at + first[0] * row) as u32,
            at => ((first[0] + at / row) * whole + first[1] + at % row) as u32,
        };
        let uniform = |at: u32| format.round(f64::from(element(at ^ salt)) / f64::from(1u32 << 31));
        let value = |at: u32| if data == Data::Exact { number(at ^ salt, bits) } else { uniform(at) };
        let count = (lines * k) as u64;
        let elements = match format.bytes() {
            2 => Elements::Half(generate(count, |at| format.encode(value(number_of(at))))),
            _ => Elements::Word(generate(count, |at| value(number_of(at)))),
        };
        let mut factor = Self { format, elements, steps };
        if data == Data::Special {
            (0..lines).for_each(|line| factor.make_special(line, k, &place, salt));
        }
        factor
    }

    /// Puts a special number into half of the lines, on average. Each line has at most one special number, so at most
    /// two products of a sum are large enough for their sum to overflow an f32. The result therefore does not depend on
    /// the order of addition.
    fn make_special(&mut self, line: usize, k: usize, place: &FactorOffset, salt: u32) {
        let random = element((place.first[0] + line) as u32 ^ salt.rotate_left(16)).cast_unsigned();
        let position = (element(random).cast_unsigned() as usize % place.whole[1]).wrapping_sub(place.first[1]);
        if random & 1 == 1 && position < k {
            let all = specials(self.format);
            let value = all[(random >> 1) as usize % all.len()] as f32;
            let at = line * self.steps[1] + position * self.steps[0];
            match &mut self.elements {
                Elements::Half(elements) => elements[at] = self.format.encode(value),
                Elements::Word(elements) => elements[at] = value,
            }
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match &self.elements {
            Elements::Half(elements) => bytemuck::cast_slice(elements),
            Elements::Word(elements) => bytemuck::cast_slice(elements),
        }
    }

    /// Reads the elements of a line, starting at position `first`.
    pub(super) fn read_line(&self, line: usize, first: usize, into: &mut [f64]) {
        self.read(line * self.steps[1] + first * self.steps[0], self.steps[0], into);
    }

    /// Reads the elements at position `at` of the lines, starting at line `first`.
    pub(super) fn read_across_lines(&self, at: usize, first: usize, into: &mut [f64]) {
        self.read(first * self.steps[1] + at * self.steps[0], self.steps[1], into);
    }

    fn read(&self, first: usize, step: usize, into: &mut [f64]) {
        match &self.elements {
            Elements::Half(elements) => {
                let elements = elements[first..].iter().step_by(step);
                into.iter_mut().zip(elements).for_each(|(to, &bits)| *to = self.format.decode(bits).into());
            }
            Elements::Word(elements) => {
                let elements = elements[first..].iter().step_by(step);
                into.iter_mut().zip(elements).for_each(|(to, &value)| *to = value.into());
            }
        }
    }
}

/// Two matrices to multiply.
pub(super) struct Inputs {
    /// The sizes m, n and k.
    pub(super) sides: [usize; 3],
    pub(super) data: Data,
    pub(super) a: Factor,
    pub(super) b: Factor,
}

impl Inputs {
    #[cfg(test)]
    pub(super) fn new(sides: [usize; 3], format: Format, b_in_columns: bool, data: Data) -> Self {
        Self::of(sides[1], &Extent::whole(sides), format, b_in_columns, data)
    }

    /// Creates the factors for a part of a product that has `n` columns. The elements have the same values as in the
    /// whole product.
    pub(super) fn of(n: usize, extent: &Extent, format: Format, b_in_columns: bool, data: Data) -> Self {
        // A's elements have at most the number of significand bits of the format. The bits of A and B add up to 15.
        let digits = format.digits().unsigned_abs();
        let Bits { a, b } = Bits::of(extent.whole_depth, Bits { a: digits, b: 15 - digits });
        let place = |first, lines| FactorOffset { first, whole: [lines, extent.whole_depth] };
        let (depth, [m, _, k]) = (extent.depth.start, extent.sides(n));
        let rows = place([extent.rows.start, depth], m);
        let (a, b) = rayon::join(
            || Factor::new((format, data, a), [m, k], rows, false, 0),
            || Factor::new((format, data, b), [n, k], place([0, depth], n), !b_in_columns, u32::MAX),
        );
        Self { sides: [m, n, k], data, a, b }
    }

    /// Returns, for each position in the lines, the sum of B's elements times the columns' weights, and the sum of the
    /// magnitudes of these terms.
    pub(super) fn weighted(&self, weight: impl Fn(usize) -> f64 + Sync) -> Vec<[f64; 2]> {
        /// The number of positions to read at once, so that adjacent elements of B are used while they are in the
        /// cache.
        const PLACES: usize = 64;
        const COLUMNS: usize = 32;
        let [_, n, k] = self.sides;
        let mut sums = vec![[0.0; 2]; k];
        sums.par_chunks_mut(PLACES).enumerate().for_each(|(chunk, sums)| {
            for left in (0..n).step_by(COLUMNS) {
                let mut values = [0.0; COLUMNS];
                let values = &mut values[..COLUMNS.min(n - left)];
                for (at, [sum, size]) in sums.iter_mut().enumerate() {
                    self.b.read_across_lines(chunk * PLACES + at, left, values);
                    for (column, value) in values.iter().enumerate() {
                        *sum += weight(left + column) * value;
                        *size += value.abs();
                    }
                }
            }
        });
        sums
    }
}
