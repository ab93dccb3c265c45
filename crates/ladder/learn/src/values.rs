//! The values of buffers: the data of the exercises, and comparisons.

use bytemuck::cast_slice;

/// The elements of a buffer.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the variants are the types")]
pub enum Values {
    F32(Vec<f32>),
    I32(Vec<i32>),
    U32(Vec<u32>),
    U64(Vec<u64>),
}

macro_rules! from {
    ($($ty:ty => $variant:ident),*) => {$(
        impl From<Vec<$ty>> for Values {
            fn from(values: Vec<$ty>) -> Self {
                Self::$variant(values)
            }
        }

        impl From<&[$ty]> for Values {
            fn from(values: &[$ty]) -> Self {
                Self::$variant(values.to_vec())
            }
        }

        impl From<&Vec<$ty>> for Values {
            fn from(values: &Vec<$ty>) -> Self {
                Self::$variant(values.clone())
            }
        }
    )*};
}
from!(f32 => F32, i32 => I32, u32 => U32, u64 => U64);

impl Values {
    /// Returns the number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::I32(values) => values.len(),
            Self::U32(values) => values.len(),
            Self::U64(values) => values.len(),
        }
    }

    /// Returns whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes of the elements.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::F32(values) => cast_slice(values),
            Self::I32(values) => cast_slice(values),
            Self::U32(values) => cast_slice(values),
            Self::U64(values) => cast_slice(values),
        }
    }

    /// Converts bytes to elements of the same type as `self`.
    #[must_use]
    pub fn like(&self, bytes: &[u8]) -> Self {
        match self {
            Self::F32(_) => Self::F32(bytemuck::pod_collect_to_vec(bytes)),
            Self::I32(_) => Self::I32(bytemuck::pod_collect_to_vec(bytes)),
            Self::U32(_) => Self::U32(bytemuck::pod_collect_to_vec(bytes)),
            Self::U64(_) => Self::U64(bytemuck::pod_collect_to_vec(bytes)),
        }
    }

    /// Returns elements that are not the result of any exercise. They fill outputs before a launch.
    pub(crate) fn poison(&self) -> Self {
        let bytes = vec![0xa5; self.bytes().len()];
        self.like(&bytes)
    }

    /// Returns the bits of an element.
    pub(crate) fn element(&self, index: usize) -> u64 {
        match self {
            Self::F32(values) => values[index].to_bits().into(),
            Self::I32(values) => u64::from(values[index] as u32),
            Self::U32(values) => values[index].into(),
            Self::U64(values) => values[index],
        }
    }

    /// Sorts the elements, for results that are correct in any order.
    pub(crate) fn sort(&mut self) {
        match self {
            Self::F32(values) => values.sort_by(f32::total_cmp),
            Self::I32(values) => values.sort_unstable(),
            Self::U32(values) => values.sort_unstable(),
            Self::U64(values) => values.sort_unstable(),
        }
    }

    /// Returns the index of the first element that differs, both elements as text, and the number of elements that
    /// differ. Floats may differ by `tolerance`, which is relative to `expected`, or absolute if `expected` is below 1.
    #[must_use]
    pub fn difference(&self, expected: &Self, tolerance: f32) -> Option<(usize, [String; 2], usize)> {
        fn first<T: Copy + ToString>(
            found: &[T],
            expected: &[T],
            near: impl Fn(T, T) -> bool,
        ) -> Option<(usize, [String; 2], usize)> {
            let pairs = found.iter().zip(expected).enumerate();
            let mut wrong = pairs.filter(|(_, (found, expected))| !near(**found, **expected));
            let (index, (found, expected)) = wrong.next()?;
            Some((index, [found.to_string(), expected.to_string()], 1 + wrong.count()))
        }
        match (self, expected) {
            (Self::F32(found), Self::F32(expected)) => first(found, expected, |found, expected| {
                found == expected || (found - expected).abs() <= tolerance * expected.abs().max(1.0)
            }),
            (Self::I32(found), Self::I32(expected)) => first(found, expected, |found, expected| found == expected),
            (Self::U32(found), Self::U32(expected)) => first(found, expected, |found, expected| found == expected),
            (Self::U64(found), Self::U64(expected)) => first(found, expected, |found, expected| found == expected),
            _ => unreachable!("the result and the expected values have the same type"),
        }
    }
}

/// Returns `n` distinct numbers with pseudorandom bits, derived from a seed.
#[must_use]
pub fn words(n: usize, seed: u32) -> Vec<u32> {
    let word = |i: u32| {
        let mixed = (i ^ seed.rotate_left(16)).wrapping_add(1).wrapping_mul(0x9e37_79b1);
        (mixed ^ mixed >> 15).wrapping_mul(0x85eb_ca6b).rotate_left(13)
    };
    (0..n as u32).map(word).collect()
}

/// Returns `n` integers from -1000 to 1000. Their sums do not overflow.
#[must_use]
pub fn integers(n: usize, seed: u32) -> Vec<i32> {
    words(n, seed).into_iter().map(|word| (word % 2001) as i32 - 1000).collect()
}

/// Returns `n` floats from -8 to 8 that are multiples of 1/8. Sums and products of a few of them are exact.
#[must_use]
pub fn floats(n: usize, seed: u32) -> Vec<f32> {
    words(n, seed).into_iter().map(|word| (word % 129) as f32 / 8.0 - 8.0).collect()
}
