//! Element-wise sums of arrays, which the blocks compute between two flags.

use core::array;
use core::ops::{Add, Range};

use cuda_std::thread;

use super::{MAX_RANKS, Table, next_rank};

/// The number of elements in a 16-byte access, the widest access that a thread can make.
pub const WIDTH: u32 = 4;

/// Four neighboring elements, aligned for a 16-byte access (PTX ISA §5.4.2, "Vectors"): the counterpart of CUDA C++'s
/// `float4`.
#[repr(C, align(16))]
#[derive(Clone, Copy, Default)]
pub struct Float4(pub [f32; WIDTH as usize]);

impl Add for Float4 {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(array::from_fn(|k| self.0[k] + other.0[k]))
    }
}

/// The value of one access: one element or four elements.
pub trait Value: Copy + Default + Add<Output = Self> {}
impl Value for f32 {}
impl Value for Float4 {}

/// Arrays of equal length. They belong to one or more ranks.
pub trait Arrays {
    /// Returns, for each of `N` indices, the sum of the arrays' values at that index.
    ///
    /// # Safety
    /// The arrays contain these values, no other thread writes them, and each index is a multiple of the value's width.
    unsafe fn load<T: Value, const N: usize>(&self, indices: [u32; N]) -> [T; N];

    /// Stores a value to each array.
    ///
    /// # Safety
    /// The arrays contain this value, no other thread accesses it, and the index is a multiple of the value's width.
    unsafe fn store<T: Value>(&self, index: u32, value: T);
}

impl<const K: usize> Arrays for [*mut f32; K] {
    #[inline(always)]
    unsafe fn load<T: Value, const N: usize>(&self, indices: [u32; N]) -> [T; N] {
        let mut sums = [T::default(); N];
        let mut k = 0;
        while k < K {
            // SAFETY: the array contains these values, because `load` requires that all arrays contain them.
            sums = add(sums, unsafe { load(self[k], indices) });
            k += 1;
        }
        sums
    }

    #[inline(always)]
    unsafe fn store<T: Value>(&self, index: u32, value: T) {
        for array in *self {
            // SAFETY: the array contains this value, because `store` requires that all arrays contain it.
            unsafe { *array.add(index as usize).cast() = value };
        }
    }
}

/// The arrays of all ranks.
pub struct AllRanks<'a> {
    /// The address of each rank's array.
    pub table: &'a Table<f32>,
    /// The rank whose array comes first. Each rank starts with a different array, so that the ranks do not all use the
    /// same link at the same time.
    pub first: u32,
    /// The number of ranks.
    pub ranks: u32,
}

impl Arrays for AllRanks<'_> {
    #[inline(always)]
    unsafe fn load<T: Value, const N: usize>(&self, indices: [u32; N]) -> [T; N] {
        let mut rank = self.first;
        let mut next = || {
            let array = self.table.of(rank);
            rank = next_rank(rank, self.ranks);
            // SAFETY: the rank's array contains these values, because `load` requires that all arrays contain them.
            unsafe { load(array, indices) }
        };
        if N > 1 {
            // N loads are in flight at the same time.
            let mut sums = next();
            for _ in 1..self.ranks {
                sums = add(sums, next());
            }
            return sums;
        }
        // The loads of all ranks are in flight before the first addition.
        let values: [[T; N]; MAX_RANKS] =
            array::from_fn(|step| if (step as u32) < self.ranks { next() } else { [T::default(); N] });
        values.into_iter().fold([T::default(); N], add)
    }

    #[inline(always)]
    unsafe fn store<T: Value>(&self, index: u32, value: T) {
        let mut rank = self.first;
        for _ in 0..self.ranks {
            // SAFETY: the rank's array contains this value, because `store` requires that all arrays contain it.
            unsafe { *self.table.of(rank).add(index as usize).cast() = value };
            rank = next_rank(rank, self.ranks);
        }
    }
}

/// Stores the sums of the elements of `sources` to each of `destinations`, for a range of indices.
///
/// All blocks of a row divide the range. Blocks of the same group process the same elements, because a block's elements
/// depend only on the range, the block's x and the number of blocks in the row.
///
/// # Safety
/// All threads of a row of blocks of `BLOCK` threads call the function for the same range. The range starts at a
/// multiple of [`WIDTH`]. The arrays contain the range, and start at multiples of 16 bytes. No other block writes the
/// elements that this block loads, or accesses the elements that this block stores.
#[inline(always)]
pub unsafe fn sum<const BLOCK: u32>(range: Range<u32>, sources: &impl Arrays, destinations: &impl Arrays) {
    let stride = thread::grid_dim_x() * BLOCK * WIDTH;
    let mut index = range.start + (thread::block_idx_x() * BLOCK + thread::thread_idx_x()) * WIDTH;
    // No index overflows: the range ends below 2^31, and the stride is at most 2^19.
    // SAFETY: all values are in the range, and no other thread of the block accesses them.
    unsafe {
        // Two values at a time, so that a thread has two loads of each source in flight.
        while index + stride + WIDTH <= range.end {
            let [first, second] = sources.load::<Float4, 2>([index, index + stride]);
            destinations.store(index, first);
            destinations.store(index + stride, second);
            index += 2 * stride;
        }
        if index + WIDTH <= range.end {
            let [value] = sources.load::<Float4, 1>([index]);
            destinations.store(index, value);
        }
        // The first threads of the first block process the one to three elements at the end of the range.
        let rest = (range.end - range.start) % WIDTH;
        if thread::block_idx_x() == 0 && thread::thread_idx_x() < rest {
            let index = range.end - rest + thread::thread_idx_x();
            let [value] = sources.load::<f32, 1>([index]);
            destinations.store(index, value);
        }
    }
}

/// Returns the indices of a chunk if `n` elements are divided into `chunks` chunks of equal length. The last chunks can
/// be shorter or empty. Each chunk starts at a multiple of [`WIDTH`].
#[inline(always)]
#[must_use]
pub fn chunk(n: u32, chunks: u32, number: u32) -> Range<u32> {
    let len = n.div_ceil(WIDTH).div_ceil(chunks) * WIDTH;
    let start = |number: u32| (u64::from(len) * u64::from(number)).min(n.into()) as u32;
    start(number)..start(number + 1)
}

/// Loads `N` values of an array.
///
/// # Safety
/// The array contains these values, no other thread writes them, and each index is a multiple of the value's width.
#[inline(always)]
unsafe fn load<T: Value, const N: usize>(array: *const f32, indices: [u32; N]) -> [T; N] {
    // SAFETY: the array starts at a multiple of 16 bytes and contains these values. Each index is a multiple of the
    // value's width.
    array::from_fn(|k| unsafe { *array.add(indices[k] as usize).cast::<T>() })
}

#[inline(always)]
fn add<T: Value, const N: usize>(a: [T; N], b: [T; N]) -> [T; N] {
    array::from_fn(|k| a[k] + b[k])
}
