//! What the rungs of `softmax` share: the types of elements, the two operations, and the vectors of a row that a thread keeps.
//!
//! # Rows with infinities and NaN
//!
//! | a row with | its softmax | its RMSNorm |
//! |---|---|---|
//! | a NaN | NaN in every element | NaN in every element |
//! | +∞ | NaN in every element | 0, and NaN where the input is infinite |
//! | -∞ and a finite element | 0 where the input is -∞ | 0, and NaN where the input is infinite |
//! | -∞ alone | NaN in every element | NaN in every element |
//! | one finite element | 1 | ± `weight` if the element's square is much larger than 1e-6 |
//! | squares whose sum is above the range of f32 | | 0 |
//!
//! PyTorch gives the same. No operation tests for these rows: the arithmetic of infinities gives them.

use core::array;

use cuda_std::{GpuFloat, thread, warp};

use crate::operation::{Max, Operation, Sum};
use crate::tensor_core::{Bf16, Element as _, F16, Output, Wide};

/// The number that RMSNorm adds to the mean square.
pub const EPSILON: f32 = 1e-6;

/// A type of element.
pub trait RowElement: Output {
    /// The number of elements in 16 bytes.
    const WIDTH: usize;

    /// Returns the value, which an f32 holds exactly.
    fn value(self) -> f32;

    /// Returns element `k` of a vector of 16 bytes.
    fn of_vector(vector: [u32; 4], k: usize) -> Self;

    /// Returns a vector of 16 bytes with these elements.
    fn vector(element: impl Fn(usize) -> Self) -> [u32; 4];

    /// Returns a vector of 16 bytes with these values, each rounded to the nearest element.
    fn rounded(value: impl Fn(usize) -> f32) -> [u32; 4];
}

macro_rules! halves {
    ($($type:ident)*) => {$(
        impl RowElement for $type {
            const WIDTH: usize = 8;

            #[inline(always)]
            fn value(self) -> f32 {
                self.to_f32()
            }

            #[inline(always)]
            fn of_vector(vector: [u32; 4], k: usize) -> Self {
                Self((vector[k / 2] >> (k % 2 * 16)) as u16)
            }

            #[inline(always)]
            fn vector(element: impl Fn(usize) -> Self) -> [u32; 4] {
                array::from_fn(|word| u32::from(element(2 * word).0) | u32::from(element(2 * word + 1).0) << 16)
            }

            #[inline(always)]
            fn rounded(value: impl Fn(usize) -> f32) -> [u32; 4] {
                array::from_fn(|word| Self::pair(value(2 * word), value(2 * word + 1)))
            }
        }
    )*};
}

halves! { Bf16 F16 }

impl RowElement for f32 {
    const WIDTH: usize = 4;

    #[inline(always)]
    fn value(self) -> f32 {
        self
    }

    #[inline(always)]
    fn of_vector(vector: [u32; 4], k: usize) -> Self {
        Self::from_bits(vector[k])
    }

    #[inline(always)]
    fn vector(element: impl Fn(usize) -> Self) -> [u32; 4] {
        array::from_fn(|k| element(k).to_bits())
    }

    #[inline(always)]
    fn rounded(value: impl Fn(usize) -> f32) -> [u32; 4] {
        Self::vector(value)
    }
}

/// What a rung computes of each row, in two steps: a part from each thread's elements and, from all parts of the row, the
/// [`Norm`] that maps each element.
pub trait RowOperation {
    /// What a thread knows of its elements.
    type Part: Copy;

    /// The part of no elements.
    const NONE: Self::Part;

    /// An element that changes no part, for the places after the end of a row.
    const OUTSIDE: f32;

    /// Whether elements are multiplied by a weight.
    const HAS_WEIGHT: bool;

    /// Adds an element to a part.
    fn with(part: Self::Part, value: f32) -> Self::Part;

    /// Returns the part of `VECTORS` vectors of `width` elements, which is a constant after inlining. Element `e` of vector `k`
    /// is `value(k, e)`. The elements of a vector that does not exist are [`OUTSIDE`](Self::OUTSIDE).
    fn part<const VECTORS: usize>(
        width: usize,
        exists: impl Fn(usize) -> bool,
        value: impl Fn(usize, usize) -> f32,
    ) -> Self::Part;

    /// Combines the parts of the lanes of a warp, for all lanes. All 32 lanes must call it together.
    fn of_warp(part: Self::Part) -> Self::Part;

    /// Returns the norm of a row of `n` elements from its part.
    fn norm(part: Self::Part, n: u32) -> Norm;

    /// Maps an element.
    fn apply(norm: Norm, value: f32, weight: f32) -> f32;

    /// Returns the part as a word, for the memory of another block.
    fn to_word(part: Self::Part) -> u64;

    /// Returns the part of a word.
    fn of_word(word: u64) -> Self::Part;
}

/// What all elements of a row are mapped with.
#[derive(Clone, Copy)]
pub struct Norm {
    /// What is subtracted from each element first: the maximum of a softmax.
    pub shift: f32,
    /// The factor of each element or of its exponential.
    pub factor: f32,
}

/// The softmax.
#[derive(Clone, Copy, Debug)]
pub struct Softmax;

/// The part of a softmax: the maximum of some elements and the sum of their exponentials, each divided by that of the
/// maximum.
#[derive(Clone, Copy)]
pub struct MaxSum {
    /// The maximum, -∞ of no elements. A NaN is ignored here, and is in the sum.
    pub max: f32,
    /// The sum of all `exp(element - max)`.
    pub sum: f32,
}

/// Returns e to the power `x`, for `x` at most 0, with one instruction for the power of 2 (`ex2.approx`).
///
/// The relative error is at most (4 + 3 |x|) 2^-24: 2 ulp of `ex2.approx`, and the product and its constant, which are rounded.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    GpuFloat::exp2(x * core::f32::consts::LOG2_E)
}

/// Returns the number to subtract from elements with this maximum: 0 in place of -∞, because the difference of two equal
/// infinities is NaN and would spoil the sum of a row that has finite elements elsewhere.
#[inline(always)]
pub(super) fn shift(max: f32) -> f32 {
    if max == f32::NEG_INFINITY { 0.0 } else { max }
}

/// Combines the values of the lanes of a warp, for all lanes. All 32 lanes must call it together.
#[inline(always)]
pub(super) fn combine_warp<O: Operation<f32>>(mut value: f32) -> f32 {
    for lane_mask in [16, 8, 4, 2, 1] {
        // SAFETY: all 32 lanes take part, as the mask says.
        value = O::combine(value, unsafe { warp::warp_shuffle_xor(u32::MAX, value, lane_mask, 32) }.0);
    }
    value
}

impl RowOperation for Softmax {
    type Part = MaxSum;
    const NONE: MaxSum = MaxSum { max: f32::NEG_INFINITY, sum: 0.0 };
    const OUTSIDE: f32 = f32::NEG_INFINITY;
    const HAS_WEIGHT: bool = false;

    #[inline(always)]
    fn with(part: MaxSum, value: f32) -> MaxSum {
        let max = part.max.max(value);
        // A new maximum divides the sum by the exponential of its distance from the old one.
        let sum = part.sum * exp(part.max - shift(max)) + exp(value - shift(max));
        MaxSum { max, sum }
    }

    #[inline(always)]
    fn part<const VECTORS: usize>(
        width: usize,
        exists: impl Fn(usize) -> bool,
        value: impl Fn(usize, usize) -> f32,
    ) -> MaxSum {
        let mut max = f32::NEG_INFINITY;
        for k in 0..VECTORS {
            for e in 0..width {
                max = max.max(value(k, e));
            }
        }
        let (shift, mut sum) = (shift(max), 0.0);
        for k in 0..VECTORS {
            // Without the condition, a short row would take as many exponentials as the longest row.
            if exists(k) {
                for e in 0..width {
                    sum += exp(value(k, e) - shift);
                }
            }
        }
        MaxSum { max, sum }
    }

    #[inline(always)]
    fn of_warp(part: MaxSum) -> MaxSum {
        let max = combine_warp::<Max>(part.max);
        let sum = combine_warp::<Sum>(part.sum * exp(part.max - shift(max)));
        MaxSum { max, sum }
    }

    #[inline(always)]
    fn norm(part: MaxSum, _: u32) -> Norm {
        Norm { shift: shift(part.max), factor: 1.0 / part.sum }
    }

    #[inline(always)]
    fn apply(norm: Norm, value: f32, _: f32) -> f32 {
        exp(value - norm.shift) * norm.factor
    }

    #[inline(always)]
    fn to_word(part: MaxSum) -> u64 {
        u64::from(part.max.to_bits()) << 32 | u64::from(part.sum.to_bits())
    }

    #[inline(always)]
    fn of_word(word: u64) -> MaxSum {
        MaxSum { max: f32::from_bits((word >> 32) as u32), sum: f32::from_bits(word as u32) }
    }
}

/// The RMSNorm. A part is a sum of squares.
#[derive(Clone, Copy, Debug)]
pub struct RmsNorm;

impl RowOperation for RmsNorm {
    type Part = f32;
    const NONE: f32 = 0.0;
    const OUTSIDE: f32 = 0.0;
    const HAS_WEIGHT: bool = true;

    #[inline(always)]
    fn with(sum: f32, value: f32) -> f32 {
        GpuFloat::mul_add(value, value, sum)
    }

    #[inline(always)]
    fn part<const VECTORS: usize>(width: usize, _: impl Fn(usize) -> bool, value: impl Fn(usize, usize) -> f32) -> f32 {
        let mut sum = 0.0;
        for k in 0..VECTORS {
            for e in 0..width {
                sum = Self::with(sum, value(k, e));
            }
        }
        sum
    }

    #[inline(always)]
    fn of_warp(part: f32) -> f32 {
        combine_warp::<Sum>(part)
    }

    #[inline(always)]
    fn norm(sum: f32, n: u32) -> Norm {
        Norm { shift: 0.0, factor: 1.0 / GpuFloat::sqrt(sum / n as f32 + EPSILON) }
    }

    #[inline(always)]
    fn apply(norm: Norm, value: f32, weight: f32) -> f32 {
        value * norm.factor * weight
    }

    #[inline(always)]
    fn to_word(part: f32) -> u64 {
        part.to_bits().into()
    }

    #[inline(always)]
    fn of_word(word: u64) -> f32 {
        f32::from_bits(word as u32)
    }
}

/// Combines the parts of the threads of a block, for all threads.
///
/// # Safety
/// All threads of a block of `BLOCK` call it together. `parts` is shared memory of an element for each warp, which no thread
/// reads after the next barrier and none has read since the last barrier but one.
#[inline(always)]
pub(super) unsafe fn of_block<O: RowOperation, const BLOCK: u32>(parts: *mut O::Part, part: O::Part) -> O::Part {
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    let part = O::of_warp(part);
    if lane == 0 {
        // SAFETY: there is an element for each warp, and no thread reads it before the barrier.
        unsafe { *parts.add(warp as usize) = part };
    }
    thread::sync_threads();
    // SAFETY: lane < BLOCK / 32 where an element is read, and all elements were written before the barrier.
    O::of_warp(if lane < BLOCK / 32 { unsafe { *parts.add(lane as usize) } } else { O::NONE })
}

/// The vectors of a thread in a row of `n` elements: vector `first` and the next ones at a distance of `stride` vectors. A
/// vector is 16 bytes of elements. Elements from `n` on do not exist.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub(super) n: u32,
    pub(super) first: u32,
    pub(super) stride: u32,
}

impl Span {
    /// Returns whether a row consists of whole vectors. The threads of a block agree.
    #[inline(always)]
    pub(super) fn is_aligned<T: RowElement>(self, row: *const T) -> bool {
        row.addr().is_multiple_of(16) && self.n.is_multiple_of(T::WIDTH as u32)
    }

    /// Returns the index in the row of element 0 of vector number `k`.
    #[inline(always)]
    fn index<T: RowElement>(self, k: usize) -> u32 {
        (self.first + k as u32 * self.stride) * T::WIDTH as u32
    }

    /// Loads vector number `k` of a row, with `outside` in place of elements that do not exist.
    ///
    /// # Safety
    /// `row` has `n` elements, which no thread writes. `is_aligned` is what [`is_aligned`](Self::is_aligned) returns for it.
    #[inline(always)]
    unsafe fn vector<T: RowElement>(self, row: *const T, is_aligned: bool, k: usize, outside: f32) -> [u32; 4] {
        let (index, outside) = (self.index::<T>(k), T::from_f32(outside));
        if !is_aligned {
            return T::vector(|e| {
                let i = index + e as u32;
                // SAFETY: i < n where an element is read.
                if i < self.n { unsafe { *row.add(i as usize) } } else { outside }
            });
        }
        match index < self.n {
            // SAFETY: a row of whole vectors that has the first element of a vector has all of its elements.
            true => unsafe { *row.add(index as usize).cast::<Wide<u32, 4>>() }.0,
            false => T::vector(|_| outside),
        }
    }

    /// Loads this thread's vectors of a row.
    ///
    /// # Safety
    /// `row` has `n` elements, which no thread writes.
    #[inline(always)]
    pub(super) unsafe fn load<T: RowElement, O: RowOperation, const VECTORS: usize>(
        self,
        row: *const T,
    ) -> [[u32; 4]; VECTORS] {
        // SAFETY: the row has n elements, which no thread writes.
        let load = |is_aligned: bool| array::from_fn(|k| unsafe { self.vector(row, is_aligned, k, O::OUTSIDE) });
        // One branch for all loads, so that they are in flight together.
        if self.is_aligned(row) { load(true) } else { load(false) }
    }

    /// Returns the part of this thread's vectors.
    #[inline(always)]
    pub(super) fn part<T: RowElement, O: RowOperation, const VECTORS: usize>(
        self,
        vectors: &[[u32; 4]; VECTORS],
    ) -> O::Part {
        let exists = |k| self.index::<T>(k) < self.n;
        O::part::<VECTORS>(T::WIDTH, exists, |k, e| T::of_vector(vectors[k], e).value())
    }

    /// Maps this thread's vectors and stores them to a row.
    ///
    /// # Safety
    /// `row` has `n` elements, and no other thread accesses this thread's elements. `weight` has `n` elements if the operation
    /// has a weight, which no thread writes.
    #[inline(always)]
    pub(super) unsafe fn store<T: RowElement, O: RowOperation, const VECTORS: usize>(
        self,
        row: *mut T,
        vectors: &[[u32; 4]; VECTORS],
        norm: Norm,
        weight: *const T,
    ) {
        let is_aligned = self.is_aligned(row);
        #[expect(clippy::needless_range_loop, reason = "an iterator would put the array into local memory")]
        for k in 0..VECTORS {
            let index = self.index::<T>(k);
            if index >= self.n {
                continue;
            }
            // SAFETY: the weight has n elements, which no thread writes. It is at a multiple of 16, as each aligned row is.
            let weights = if O::HAS_WEIGHT { unsafe { self.vector(weight, is_aligned, k, 0.0) } } else { [0; 4] };
            let value = |e| O::apply(norm, T::of_vector(vectors[k], e).value(), T::of_vector(weights, e).value());
            let rounded = T::rounded(value);
            if is_aligned {
                // SAFETY: the row has all elements of the vector, which no other thread accesses.
                unsafe { *row.add(index as usize).cast::<Wide<u32, 4>>() = Wide(rounded) };
                continue;
            }
            for e in 0..T::WIDTH {
                let i = index + e as u32;
                if i < self.n {
                    // SAFETY: i < n, and no other thread accesses this element.
                    unsafe { *row.add(i as usize) = T::of_vector(rounded, e) };
                }
            }
        }
    }
}
