//! Wide loads in which neighboring lanes read neighboring vectors.

use core::array;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

use cuda_std::{address_space, thread, warp};
use rung::rung;

use super::shuffle::{scan_warp, sum_of_lanes_before, sum_of_warps_before, sum_warp};
use crate::operation::{Element, Operation, Sum, Wide};

/// The number of 16-byte vectors per thread.
pub(super) const VECTORS: usize = 4;
/// The number of 32-bit words per thread, which is the number of elements if an element is a word.
pub(super) const ITEMS: u32 = VECTORS as u32 * 4;

/// A thread loads four vectors of four elements. The lanes of a warp access neighboring vectors, so every load and
/// store covers whole, consecutive sectors.
///
/// A warp scans four rows of 128 elements, one after another. Each row takes five shuffles, and a sixth shuffle carries
/// the sum to the next row. This scheme takes 24 shuffles for 16 elements, while `scan_coarsened` takes 5 for 8. But it
/// does not load any sector twice.
///
/// # Safety
/// See [`scan`](super). `input` and `output` are aligned to 16 bytes.
#[rung(
    after = scan_coarsened,
    lesson = "neighboring lanes access neighboring 16-byte vectors: whole sectors, and one warp scan per row",
    blocks = [64, 128, 256, 512, 1024],
    default_block = 256,
    items_per_thread = ITEMS
)]
pub unsafe fn scan_vector<const BLOCK: u32>(input: *const i32, output: *mut i32, n: u32) {
    #[address_space(shared)]
    static mut WARP_SUMS: MaybeUninit<[i32; BLOCK as usize / 32]> = MaybeUninit::uninit();
    let warp_sums = (&raw mut WARP_SUMS).cast::<i32>();
    let tile = thread::block_idx_x();

    // SAFETY: the block's slice of the input starts at a multiple of 16 bytes, and no thread writes the input.
    let (sums, warp_sum) = unsafe { SumTile::load::<BLOCK>(input, tile, n) }.scan();
    // SAFETY: all threads of the block call `sum_of_warps_before`, and `warp_sums` has a word for each warp.
    let before = unsafe { sum_of_warps_before::<i32, Sum, BLOCK>(warp_sums, warp_sum) };
    // SAFETY: the block's slice of the output starts at a multiple of 16 bytes, and no other thread writes its
    // elements.
    unsafe { sums.store::<BLOCK>(output, tile, n, before) };
}

/// The tile for sums of 32-bit integers.
pub(super) type SumTile = Tile<i32, Sum, 4>;

/// A thread's elements of a tile: `VECTORS` vectors of `WIDTH` elements, which are 16 bytes each. A warp's part of the
/// tile is contiguous: `VECTORS` rows of 32 vectors, with one vector per lane.
pub(super) struct Tile<T, O, const WIDTH: usize>([Wide<T, WIDTH>; VECTORS], PhantomData<O>);

impl<T: Element, O: Operation<T>, const WIDTH: usize> Tile<T, O, WIDTH> {
    /// Returns the number of elements in a block's tile.
    #[inline(always)]
    pub(super) const fn elements<const BLOCK: u32>() -> u32 {
        BLOCK * (VECTORS * WIDTH) as u32
    }

    /// Returns the index of this thread's first vector in a tile. The thread's other vectors follow at intervals of 32
    /// vectors.
    #[inline(always)]
    fn first<const BLOCK: u32>(tile: u32) -> u32 {
        let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
        tile * (BLOCK * VECTORS as u32) + warp * (32 * VECTORS as u32) + lane
    }

    /// Loads this thread's elements. Elements from `n` on are replaced by the identity.
    ///
    /// # Safety
    /// `input` has `n` elements and is aligned to 16 bytes, and no thread writes it.
    #[inline(always)]
    pub(super) unsafe fn load<const BLOCK: u32>(input: *const T, tile: u32, n: u32) -> Self {
        let first = Self::first::<BLOCK>(tile);
        if (tile + 1) * Self::elements::<BLOCK>() <= n {
            let vectors = input.cast::<Wide<T, WIDTH>>().wrapping_add(first as usize);
            // SAFETY: the whole tile is below n, and tiles start at multiples of 16 bytes.
            return Self(array::from_fn(|row| unsafe { *vectors.add(row * 32) }), PhantomData);
        }
        let element = |row: usize, k: usize| {
            let i = (first + row as u32 * 32) * WIDTH as u32 + k as u32;
            // SAFETY: the input is read only if i < n.
            if i < n { unsafe { *input.add(i as usize) } } else { O::IDENTITY }
        };
        Self(array::from_fn(|row| Wide(array::from_fn(|k| element(row, k)))), PhantomData)
    }

    /// Loads this thread's elements of a whole tile from shared memory.
    ///
    /// # Safety
    /// `tile` is shared memory with the elements of a tile and is aligned to 16 bytes, and no thread writes it.
    #[inline(always)]
    pub(super) unsafe fn load_shared<const BLOCK: u32>(tile: *const T) -> Self {
        let vectors = tile.cast::<Wide<T, WIDTH>>().wrapping_add(Self::first::<BLOCK>(0) as usize);
        // SAFETY: the rows of this lane are in the tile.
        Self(array::from_fn(|row| unsafe { *vectors.add(row * 32) }), PhantomData)
    }

    /// Scans the elements of this warp. Returns this lane's part of the inclusive scan, and the sum of all elements,
    /// which is the same in all lanes. All 32 lanes must call the function together.
    #[inline(always)]
    pub(super) fn scan(self) -> (Self, T) {
        self.scan_form::<false>()
    }

    /// Scans like [`scan`](Self::scan), in the inclusive or the exclusive form. In the exclusive form, each element is
    /// the sum of the elements before it.
    #[inline(always)]
    pub(super) fn scan_form<const EXCLUSIVE: bool>(self) -> (Self, T) {
        let mut carry = O::IDENTITY;
        let rows = self.0.map(|Wide(mut row)| {
            for k in 1..WIDTH {
                row[k] = O::combine(row[k - 1], row[k]);
            }
            let lane_sum = row[WIDTH - 1];
            let sum = scan_warp::<T, O>(lane_sum);
            let before = O::combine(carry, sum_of_lanes_before::<T, O>(sum, lane_sum));
            // SAFETY: the mask names all 32 lanes, and all of them execute the shuffle.
            carry = O::combine(carry, unsafe { warp::warp_shuffle_idx(u32::MAX, sum, 31, 32) }.0);
            Wide(array::from_fn(|k| match EXCLUSIVE {
                true if k == 0 => before,
                true => O::combine(before, row[k - 1]),
                false => O::combine(before, row[k]),
            }))
        });
        (Self(rows, PhantomData), carry)
    }

    /// Sums the elements of this warp. Returns the sum to all lanes. All 32 lanes must call the function together.
    #[inline(always)]
    pub(super) fn sum(self) -> T {
        let lane_sum = self.0.into_iter().flat_map(|Wide(row)| row).fold(O::IDENTITY, O::combine);
        sum_warp::<T, O>(lane_sum)
    }

    /// Stores the elements below `n`, each combined with `before`.
    ///
    /// # Safety
    /// `output` has `n` elements and is aligned to 16 bytes. No other thread accesses this thread's elements of the
    /// tile.
    #[inline(always)]
    pub(super) unsafe fn store<const BLOCK: u32>(&self, output: *mut T, tile: u32, n: u32, before: T) {
        let first = Self::first::<BLOCK>(tile);
        let is_whole = (tile + 1) * Self::elements::<BLOCK>() <= n;
        #[expect(clippy::needless_range_loop, reason = "an iterator would put the array into local memory")]
        for row in 0..VECTORS {
            let vector = first + row as u32 * 32;
            let Wide(elements) = self.0[row];
            let sums = elements.map(|element| O::combine(before, element));
            if is_whole {
                // SAFETY: the whole tile is below n, and tiles start at multiples of 16 bytes.
                unsafe { *output.cast::<Wide<T, WIDTH>>().add(vector as usize) = Wide(sums) };
                continue;
            }
            for k in 0..WIDTH {
                let i = vector * WIDTH as u32 + k as u32;
                if i < n {
                    // SAFETY: i < n, and no other thread writes this element.
                    unsafe { *output.add(i as usize) = sums[k] };
                }
            }
        }
    }
}
