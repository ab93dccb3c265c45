//! The division of a problem among ranks, and the combination of the ranks' results.

use std::ops::Range;

/// The position of one of `count` ranks, or its share of a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The number of the rank, starting at 0.
    pub index: usize,
    /// The number of ranks.
    pub count: usize,
}

impl Share {
    /// Returns the share of `n` elements. Shares are contiguous, differ by at most one element, and cover all elements.
    pub fn of(&self, n: u64) -> Range<u64> {
        let start = |index: usize| (u128::from(n) * index as u128 / self.count as u128) as u64;
        start(self.index)..start(self.index + 1)
    }
}

/// The dimension along which a matrix product is divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(target_family = "wasm"), derive(clap::ValueEnum))]
pub enum Side {
    /// Rows of the first matrix: each rank computes rows of the product.
    #[default]
    Rows,
    /// Columns of the first matrix and rows of the second: each rank computes a partial sum of the whole product.
    K,
}

/// How the ranks' results are combined into the whole result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combination {
    /// All ranks have the same number of elements. The results are combined element by element, and every rank receives
    /// the combined result.
    Reduce {
        /// The type of the elements.
        element: ElementType,
        /// How elements are combined.
        operation: Operation,
    },
    /// Like [`Combination::Reduce`], but each rank receives only its share of the result, in units of several elements.
    Scatter {
        /// The type of the elements.
        element: ElementType,
        /// How elements are combined.
        operation: Operation,
        /// The number of elements in a unit that is not divided, for example a row.
        unit: u64,
    },
    /// The ranks' results are concatenated, and every rank receives the whole result.
    Gather,
}

/// The types of elements that are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is its name")]
pub enum ElementType {
    I32,
    U32,
    I64,
    F32,
    F64,
}

/// How two elements are combined. Integers wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is its name")]
pub enum Operation {
    Sum,
    Product,
    Min,
    Max,
}

impl ElementType {
    /// Returns the size of an element in bytes.
    pub fn bytes(self) -> u64 {
        match self {
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::F64 => 8,
        }
    }

    /// Combines each element of `other` with the corresponding element of `all`, on the CPU.
    pub fn combine(self, operation: Operation, all: &mut [u8], other: &[u8]) {
        macro_rules! each {
            ($type:ty, $sum:expr, $product:expr) => {
                for (all, other) in all.chunks_exact_mut(size_of::<$type>()).zip(other.chunks_exact(size_of::<$type>()))
                {
                    let (a, b): ($type, $type) =
                        (bytemuck::pod_read_unaligned(all), bytemuck::pod_read_unaligned(other));
                    let combined: $type = match operation {
                        Operation::Sum => $sum(a, b),
                        Operation::Product => $product(a, b),
                        Operation::Min => a.min(b),
                        Operation::Max => a.max(b),
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
    use super::{ElementType, Operation, Share};

    #[test]
    fn shares_cover_all_elements_and_differ_by_one() {
        for (n, count) in [(0, 3), (1, 8), (7, 8), (1000, 7), (u64::MAX, 3)] {
            let shares: Vec<_> = (0..count).map(|index| Share { index, count }.of(n)).collect();
            assert_eq!((shares[0].start, shares[count - 1].end), (0, n));
            assert!(shares.windows(2).all(|pair| pair[0].end == pair[1].start), "{shares:?}");
            let lengths = || shares.iter().map(|part| part.end - part.start);
            assert!(lengths().max() <= lengths().min().map(|least| least + 1), "{shares:?}");
        }
    }

    #[test]
    fn elements_are_combined_according_to_their_types() {
        let combined = |element: ElementType, operation, a: &[u8], b: &[u8]| {
            let mut all = a.to_vec();
            element.combine(operation, &mut all, b);
            all
        };
        let (most, one) = (i32::MAX.to_ne_bytes(), 1i32.to_ne_bytes());
        assert_eq!(combined(ElementType::I32, Operation::Sum, &most, &one), i32::MIN.to_ne_bytes());
        assert_eq!(combined(ElementType::U32, Operation::Max, &most, &u32::MAX.to_ne_bytes()), u32::MAX.to_ne_bytes());
        assert_eq!(combined(ElementType::I64, Operation::Product, &[1; 8], &2i64.to_ne_bytes()), [2; 8]);
        assert_eq!(
            combined(ElementType::F32, Operation::Min, &f32::NAN.to_ne_bytes(), &2f32.to_ne_bytes()),
            2f32.to_ne_bytes()
        );
        assert_eq!(
            combined(ElementType::F64, Operation::Sum, &0.5f64.to_ne_bytes(), &2f64.to_ne_bytes()),
            2.5f64.to_ne_bytes()
        );
    }
}
