//! Shared code of the `softmax` rungs: the element types, the two operations, and the vectors of a row that a thread
//! keeps.
//!
//! # Rows with infinities and NaN
//!
//! | a row with | its softmax | its RMSNorm |
//! |---|---|---|
//! | a NaN | NaN in every element | NaN in every element |
//! | +∞ | NaN in every element | 0, and NaN where the input is infinite |
//! | -∞ and a finite element | 0 where the input is -∞ | 0, and NaN where the input is infinite |
//! | only -∞ | NaN in every element | NaN in every element |
//! | one finite element | 1 | ± `weight` if the element's square is much larger than 1e-6 |
//! | squares whose sum is above the range of f32 | | 0 |
//!
//! PyTorch gives the same results. No operation checks for such rows: the results follow from the arithmetic rules for
//! infinities.

use core::array;

use cuda_std::{GpuFloat, thread, warp};

use crate::exp2::exp2;
use crate::operation::{Max, Operation, Sum};
use crate::tensor_core::{Bf16, Element as _, F16, Output, Wide};

/// The number that RMSNorm adds to the mean square.
pub const EPSILON: f32 = 1e-6;

/// An element type.
pub trait RowElement: Output {
    /// The number of elements in 16 bytes.
    const WIDTH: usize;

    /// Returns the value, which an `f32` represents exactly.
    fn value(self) -> f32;

    /// Returns element `k` of a 16-byte vector.
    fn of_vector(vector: [u32; 4], k: usize) -> Self;

    /// Returns a 16-byte vector with these elements.
    fn vector(element: impl Fn(usize) -> Self) -> [u32; 4];

    /// Returns a 16-byte vector with these values, each rounded to the nearest element.
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

/// The operation that a rung applies to each row. The operation first computes *parts*, which are partial results for
/// some of the row's elements. It then computes each output from the part of the whole row.
///
/// A rung that keeps a row replaces each element with its *weight* by [`weigh`](Self::weigh). An output is the product
/// of the weight and a [`factor`](Self::factor), which is the same for all elements of a thread.
pub trait RowOperation {
    /// The partial result for some elements.
    type Part: Copy;

    /// The part of an empty set of elements.
    const NONE: Self::Part;

    /// An element that does not change any part. It fills the positions after the end of a row.
    const OUTSIDE: f32;

    /// Whether the operation multiplies outputs by the elements of `weight`.
    const HAS_WEIGHT: bool;

    /// Returns the part of one element.
    fn of(value: f32) -> Self::Part;

    /// Combines two parts into the part of all their elements.
    fn both(a: Self::Part, b: Self::Part) -> Self::Part;

    /// Replaces values with their weights and returns the part of the values. The values form vectors of `width`
    /// values, and `width` is a constant after inlining. If vector `k` does not exist, its values stay unchanged.
    fn weigh<const N: usize>(values: &mut [f32; N], width: usize, exists: impl Fn(usize) -> bool) -> Self::Part;

    /// Combines the parts of a warp's lanes, `N` per lane, and returns the result to all lanes. All 32 lanes must call
    /// the function together.
    fn of_warp<const N: usize>(parts: [Self::Part; N]) -> Self::Part;

    /// Returns the output of an element of a row of `n` elements, from the part of the row.
    fn output(row: Self::Part, n: u32, value: f32) -> f32;

    /// Returns the value that has the weight 1 relative to a part.
    fn unit(part: Self::Part) -> f32;

    /// Returns the factor that converts the weights relative to a part into outputs.
    #[inline(always)]
    fn factor(part: Self::Part, row: Self::Part, n: u32) -> f32 {
        Self::output(row, n, Self::unit(part))
    }

    /// Returns the part as a word, to be written to the shared memory of another block.
    fn to_word(part: Self::Part) -> u64;

    /// Returns the part that [`to_word`](Self::to_word) encoded as `word`.
    fn of_word(word: u64) -> Self::Part;
}

/// The softmax.
#[derive(Clone, Copy, Debug)]
pub struct Softmax;

/// The part of a softmax: the maximum of some elements and the sum of their exponentials, each divided by the maximum's
/// exponential.
#[derive(Clone, Copy)]
pub struct MaxSum {
    /// The maximum, or -∞ if there are no elements. The maximum ignores a NaN, but the sum includes it.
    pub max: f32,
    /// The sum of all `exp(element - max)`.
    pub sum: f32,
}

/// Returns e to the power `x`, for `x` at most 0, with one instruction for the power of 2 (`ex2.approx`).
///
/// The relative error is at most (4 + 3 |x|) 2^-24: 2 ulp from `ex2.approx`, and the rest from rounding the product and
/// its constant. Powers below 2^-126 are 0.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    exp2(x * core::f32::consts::LOG2_E)
}

/// Returns the number to subtract from elements with this maximum. For -∞ the result is 0, because the difference of
/// two equal infinities is NaN, and the sum would be NaN even if other elements of the row are finite.
#[inline(always)]
pub(super) fn shift(max: f32) -> f32 {
    if max == f32::NEG_INFINITY { 0.0 } else { max }
}

/// Combines the values of a warp's lanes and returns the result to all lanes. All 32 lanes must call the function
/// together.
#[inline(always)]
pub(super) fn combine_warp<O: Operation<f32>>(mut value: f32) -> f32 {
    for lane_mask in [16, 8, 4, 2, 1] {
        // SAFETY: the mask names all 32 lanes, and all of them execute the shuffle.
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
    fn of(value: f32) -> MaxSum {
        MaxSum { max: value, sum: 1.0 }
    }

    #[inline(always)]
    fn both(a: MaxSum, b: MaxSum) -> MaxSum {
        let max = a.max.max(b.max);
        // The sum with the smaller maximum is divided by the exponential of the difference of the maxima.
        MaxSum { max, sum: a.sum * exp(a.max - shift(max)) + b.sum * exp(b.max - shift(max)) }
    }

    /// Replaces values with their exponentials, each divided by the exponential of the part's maximum.
    #[inline(always)]
    fn weigh<const N: usize>(values: &mut [f32; N], width: usize, exists: impl Fn(usize) -> bool) -> MaxSum {
        // Two dependency chains, so that an instruction does not wait for the previous instruction.
        let mut maxima = [f32::NEG_INFINITY; 2];
        for i in 0..N {
            maxima[i % 2] = maxima[i % 2].max(values[i]);
        }
        let max = maxima[0].max(maxima[1]);
        let mut sums = [0.0; 2];
        for k in 0..N / width {
            // Without this condition, a short row would take the same number of exponentials as the longest row.
            if exists(k) {
                for i in k * width..(k + 1) * width {
                    values[i] = exp(values[i] - shift(max));
                    sums[i % 2] += values[i];
                }
            }
        }
        MaxSum { max, sum: sums[0] + sums[1] }
    }

    #[inline(always)]
    fn of_warp<const N: usize>(parts: [MaxSum; N]) -> MaxSum {
        let max = combine_warp::<Max>(parts.iter().fold(f32::NEG_INFINITY, |max, part| max.max(part.max)));
        let sum = parts.iter().fold(0.0, |sum, part| sum + part.sum * exp(part.max - shift(max)));
        MaxSum { max, sum: combine_warp::<Sum>(sum) }
    }

    #[inline(always)]
    fn output(row: MaxSum, _: u32, value: f32) -> f32 {
        exp(value - shift(row.max)) * (1.0 / row.sum)
    }

    #[inline(always)]
    fn unit(part: MaxSum) -> f32 {
        part.max
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
    fn of(value: f32) -> f32 {
        value * value
    }

    #[inline(always)]
    fn both(a: f32, b: f32) -> f32 {
        a + b
    }

    /// Leaves the values unchanged, because each value is its weight.
    #[inline(always)]
    fn weigh<const N: usize>(values: &mut [f32; N], _: usize, _: impl Fn(usize) -> bool) -> f32 {
        let mut sums = [0.0; 2];
        for i in 0..N {
            sums[i % 2] = GpuFloat::mul_add(values[i], values[i], sums[i % 2]);
        }
        sums[0] + sums[1]
    }

    #[inline(always)]
    fn of_warp<const N: usize>(parts: [f32; N]) -> f32 {
        combine_warp::<Sum>(parts.iter().fold(0.0, |sum, part| sum + part))
    }

    #[inline(always)]
    fn output(row: f32, n: u32, value: f32) -> f32 {
        value * (1.0 / GpuFloat::sqrt(row / n as f32 + EPSILON))
    }

    #[inline(always)]
    fn unit(_: f32) -> f32 {
        1.0
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

/// Combines the parts of a block's threads and returns the result to all threads.
///
/// # Safety
/// All threads of a block of `BLOCK` call the function together. `parts` is shared memory with an element for each
/// warp. No other code reads this memory between the last barrier before the call and the first barrier after the call.
#[inline(always)]
pub(super) unsafe fn of_block<O: RowOperation, const BLOCK: u32>(parts: *mut O::Part, part: O::Part) -> O::Part {
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    let part = O::of_warp([part]);
    if lane == 0 {
        // SAFETY: `parts` has an element for each warp, and no thread reads the element before the barrier.
        unsafe { *parts.add(warp as usize) = part };
    }
    thread::sync_threads();
    // SAFETY: an element is read only if lane < BLOCK / 32, and all elements were written before the barrier.
    O::of_warp([if lane < BLOCK / 32 { unsafe { *parts.add(lane as usize) } } else { O::NONE }])
}

/// The vectors of a thread in a row of `n` elements: vector `first`, and further vectors at intervals of `stride`
/// vectors. A vector holds 16 bytes of elements. Elements from `n` on do not exist.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub(super) n: u32,
    pub(super) first: u32,
    pub(super) stride: u32,
}

impl Span {
    /// Returns whether a row consists of whole vectors. All threads of a block get the same result.
    #[inline(always)]
    pub(super) fn is_aligned<T: RowElement>(self, row: *const T) -> bool {
        row.addr().is_multiple_of(16) && self.n.is_multiple_of(T::WIDTH as u32)
    }

    /// Returns the index in the row of element 0 of vector number `k`.
    #[inline(always)]
    fn index<T: RowElement>(self, k: usize) -> u32 {
        (self.first + k as u32 * self.stride) * T::WIDTH as u32
    }

    /// Loads vector number `k` of a row. Elements that do not exist are replaced by `outside`.
    ///
    /// # Safety
    /// `row` has `n` elements, which no thread writes. `is_aligned` is the result of [`is_aligned`](Self::is_aligned)
    /// for the row.
    #[inline(always)]
    unsafe fn vector<T: RowElement>(self, row: *const T, is_aligned: bool, k: usize, outside: f32) -> [u32; 4] {
        let (index, outside) = (self.index::<T>(k), T::from_f32(outside));
        if !is_aligned {
            return T::vector(|e| {
                let i = index + e as u32;
                // SAFETY: an element is read only if i < n.
                if i < self.n { unsafe { *row.add(i as usize) } } else { outside }
            });
        }
        match index < self.n {
            // SAFETY: the row consists of whole vectors, so if the first element of a vector exists, all its elements
            // do.
            true => unsafe { *row.add(index as usize).cast::<Wide<u32, 4>>() }.0,
            false => T::vector(|_| outside),
        }
    }

    /// Loads this thread's values of a row: the elements of `N / T::WIDTH` vectors.
    ///
    /// # Safety
    /// `row` has `n` elements, which no thread writes.
    #[inline(always)]
    pub(super) unsafe fn load<T: RowElement, O: RowOperation, const N: usize>(self, row: *const T) -> [f32; N] {
        let load = |is_aligned: bool| {
            array::from_fn::<_, N, _>(|k| match k < N / T::WIDTH {
                // SAFETY: the row has n elements, which no thread writes.
                true => unsafe { self.vector(row, is_aligned, k, O::OUTSIDE) },
                false => [0; 4],
            })
        };
        // One branch for all loads, so that the loads are in flight at the same time.
        let vectors = if self.is_aligned(row) { load(true) } else { load(false) };
        array::from_fn(|i| T::of_vector(vectors[i / T::WIDTH], i % T::WIDTH).value())
    }

    /// Replaces this thread's values with their weights and returns the part of the values.
    #[inline(always)]
    pub(super) fn weigh<T: RowElement, O: RowOperation, const N: usize>(self, values: &mut [f32; N]) -> O::Part {
        O::weigh(values, T::WIDTH, |k| self.index::<T>(k) < self.n)
    }

    /// Multiplies this thread's weights by a factor and stores the products to a row.
    ///
    /// # Safety
    /// `row` has `n` elements, and no other thread accesses this thread's elements. If the operation has a weight,
    /// `weight` has `n` elements, which no thread writes.
    #[inline(always)]
    pub(super) unsafe fn store<T: RowElement, O: RowOperation, const N: usize>(
        self,
        row: *mut T,
        weights: &[f32; N],
        factor: f32,
        weight: *const T,
    ) {
        let is_aligned = self.is_aligned(row);
        for k in 0..N / T::WIDTH {
            let index = self.index::<T>(k);
            if index >= self.n {
                continue;
            }
            // SAFETY: the weight has n elements, which no thread writes. The weight is aligned to 16 bytes.
            let of_columns = if O::HAS_WEIGHT { unsafe { self.vector(weight, is_aligned, k, 0.0) } } else { [0; 4] };
            let rounded = T::rounded(|e| {
                let product = weights[k * T::WIDTH + e] * factor;
                if O::HAS_WEIGHT { product * T::of_vector(of_columns, e).value() } else { product }
            });
            if is_aligned {
                // SAFETY: the row has all elements of the vector, and no other thread accesses them.
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
