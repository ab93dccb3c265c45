//! A problem divided over several devices: the part of each, and how the parts' results become the whole's.

use std::ops::Range;

/// One of several parts of a problem; each is of a rank, which has a device of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The number of the part, and of the rank that computes it.
    pub rank: usize,
    /// How many parts there are.
    pub ranks: usize,
}

impl Part {
    /// The part of `n` neighbouring things: parts differ by one at most, and together they are all.
    pub fn of(&self, n: u64) -> Range<u64> {
        let begin = |rank: usize| (u128::from(n) * rank as u128 / self.ranks as u128) as u64;
        begin(self.rank)..begin(self.rank + 1)
    }
}

/// Along which side a product of matrices is divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(target_family = "wasm"), derive(clap::ValueEnum))]
pub enum Along {
    /// Rows of the first matrix: each part gives rows of the product.
    #[default]
    Rows,
    /// Columns of the first matrix and rows of the second: each part gives a summand of the whole product.
    K,
}

/// How the parts' results become that of the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// Each part gives as many elements, which are combined one by one, in the memory of every rank.
    Reduce {
        /// Their type.
        element: Element,
        /// How they are combined.
        op: Op,
    },
    /// The same, but each rank has its part of the result, of so many units, each of so many elements.
    Scatter {
        /// Their type.
        element: Element,
        /// How they are combined.
        op: Op,
        /// What is not divided: the elements of a row.
        unit: u64,
    },
    /// The parts are put behind one another, in the memory of every rank.
    Gather,
}

/// The types of elements that are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is its name")]
pub enum Element {
    I32,
    U32,
    I64,
    F32,
    F64,
}

/// How two elements are combined. Integers wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is its name")]
pub enum Op {
    Sum,
    Product,
    Min,
    Max,
}

impl Element {
    /// The size in bytes.
    pub fn bytes(self) -> u64 {
        match self {
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::F64 => 8,
        }
    }

    /// Combines each element of `other` into that of `all`, on the CPU.
    pub fn combine(self, op: Op, all: &mut [u8], other: &[u8]) {
        macro_rules! each {
            ($type:ty, $sum:expr, $product:expr) => {
                for (all, other) in all.chunks_exact_mut(size_of::<$type>()).zip(other.chunks_exact(size_of::<$type>()))
                {
                    let (a, b): ($type, $type) =
                        (bytemuck::pod_read_unaligned(all), bytemuck::pod_read_unaligned(other));
                    let combined: $type = match op {
                        Op::Sum => $sum(a, b),
                        Op::Product => $product(a, b),
                        Op::Min => a.min(b),
                        Op::Max => a.max(b),
                    };
                    all.copy_from_slice(&combined.to_ne_bytes());
                }
            };
        }
        match self {
            Self::I32 => each!(i32, i32::wrapping_add, i32::wrapping_mul),
            Self::U32 => each!(u32, u32::wrapping_add, u32::wrapping_mul),
            Self::I64 => each!(i64, i64::wrapping_add, i64::wrapping_mul),
            Self::F32 => each!(f32, |a, b| a + b, |a, b| a * b),
            Self::F64 => each!(f64, |a, b| a + b, |a, b| a * b),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Element, Op, Part};

    #[test]
    fn parts_are_all_together_and_differ_by_one() {
        for (n, ranks) in [(0, 3), (1, 8), (7, 8), (1000, 7), (u64::MAX, 3)] {
            let parts: Vec<_> = (0..ranks).map(|rank| Part { rank, ranks }.of(n)).collect();
            assert_eq!((parts[0].start, parts[ranks - 1].end), (0, n));
            assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start), "{parts:?}");
            let lengths = || parts.iter().map(|part| part.end - part.start);
            assert!(lengths().max() <= lengths().min().map(|least| least + 1), "{parts:?}");
        }
    }

    #[test]
    fn elements_are_combined_as_their_types_say() {
        let combined = |element: Element, op, a: &[u8], b: &[u8]| {
            let mut all = a.to_vec();
            element.combine(op, &mut all, b);
            all
        };
        let (most, one) = (i32::MAX.to_ne_bytes(), 1i32.to_ne_bytes());
        assert_eq!(combined(Element::I32, Op::Sum, &most, &one), i32::MIN.to_ne_bytes());
        assert_eq!(combined(Element::U32, Op::Max, &most, &u32::MAX.to_ne_bytes()), u32::MAX.to_ne_bytes());
        assert_eq!(combined(Element::I64, Op::Product, &[1; 8], &2i64.to_ne_bytes()), [2; 8]);
        assert_eq!(combined(Element::F32, Op::Min, &f32::NAN.to_ne_bytes(), &2f32.to_ne_bytes()), 2f32.to_ne_bytes());
        assert_eq!(combined(Element::F64, Op::Sum, &0.5f64.to_ne_bytes(), &2f64.to_ne_bytes()), 2.5f64.to_ne_bytes());
    }
}
