//! Shared code of the rungs for Hopper: the ring of stages in shared memory, the products of one warp group, and the
//! epilogue.
//!
//! A producer fills the stages with tensor copies, and consumers multiply the data in the stages. A stage holds a slice
//! of k: boxes with rows of `a`, followed by the boxes of `b`. The depth of the slice is the length of a row of a box,
//! 128 bytes. Each stage has two mbarriers. A phase of "full" ends when all bytes of the stage have arrived, and a
//! phase of "empty" ends when all consumers have left the stage ([`Ring`], [`Position`]).
//!
//! In the epilogue, a warp group writes its sums to the product in global memory: directly from registers
//! ([`store_from_registers`]), or through shared memory with tensor copies ([`store_through_shared`]).
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use cuda_std::{shared, thread};

use crate::tensor_core::tma::{self, Mbarrier, TensorMap, barrier_sync, fence_mbarrier_init};
use crate::tensor_core::wgmma::{
    self, BOX_ALIGN, BOX_BYTES, BOX_ROWS, Boxes, ROW_BYTES, STEPS, Sums, Tile, stmatrix, store_two_floats,
    swizzled_offset,
};
use crate::tensor_core::{Bf16, Element, F16, Output, Shared};

/// Returns the number of elements along k in a stage: the elements of a row of a box.
pub(super) const fn depth<A>() -> u32 {
    ROW_BYTES / size_of::<A>() as u32
}

/// The dynamic shared memory of a block: `STAGES` stages, then boxes for the product, then the mbarriers of the stages.
#[derive(Clone, Copy)]
pub(super) struct Ring<const STAGES: u32> {
    /// The number of bytes in a stage.
    stage_bytes: u32,
    /// The number of boxes for the product.
    output_boxes: u32,
    /// The first stage, as a pointer and as a shared-memory address.
    pointer: *mut u8,
    address: Shared,
}

impl<const STAGES: u32> Ring<STAGES> {
    /// Returns the number of bytes of dynamic shared memory. It includes space to align the first stage.
    pub(super) const fn bytes(stage_bytes: u32, output_boxes: u32) -> u32 {
        BOX_ALIGN + STAGES * stage_bytes + output_boxes * BOX_BYTES + 2 * STAGES * Mbarrier::BYTES
    }

    /// Returns the block's ring. The launch must provide [`Ring::bytes`] bytes of dynamic shared memory.
    #[inline(always)]
    pub(super) fn of_block(stage_bytes: u32, output_boxes: u32) -> Self {
        let start = shared::dynamic_shared_mem::<u8>();
        let address = Shared::of(start).aligned_to(BOX_ALIGN);
        let pointer = start.wrapping_add(address.offset_from(Shared::of(start)) as usize);
        Self { stage_bytes, output_boxes, pointer, address }
    }

    /// Initializes the mbarriers of all stages. The mbarrier "full" expects one arrival, from the thread that fills the
    /// stage. The mbarrier "empty" expects `leaves` arrivals.
    ///
    /// # Safety
    /// The caller must ensure that one thread of the block calls the function once, and that a barrier of the block or
    /// of the cluster follows before any thread uses the mbarriers.
    #[inline(always)]
    pub(super) unsafe fn init(&self, leaves: u32) {
        for stage in 0..STAGES {
            // SAFETY: the mbarriers are in the block's shared memory, nothing else uses their memory, and a barrier
            // follows.
            unsafe {
                self.full(stage).init(1);
                self.empty(stage).init(leaves);
            }
        }
        fence_mbarrier_init();
    }

    /// Returns the address of a stage.
    #[inline(always)]
    pub(super) fn stage(&self, stage: u32) -> Shared {
        self.address.byte_add(stage * self.stage_bytes)
    }

    /// Returns a pointer to a box for the product.
    #[inline(always)]
    pub(super) fn output_box(&self, index: u32) -> *mut u8 {
        self.pointer.wrapping_add((STAGES * self.stage_bytes + index * BOX_BYTES) as usize)
    }

    /// Returns the mbarrier whose phase ends when the stage is full.
    #[inline(always)]
    pub(super) fn full(&self, stage: u32) -> Mbarrier {
        let first = self.address.byte_add(STAGES * self.stage_bytes + self.output_boxes * BOX_BYTES);
        Mbarrier(first.byte_add(stage * Mbarrier::BYTES))
    }

    /// Returns the mbarrier whose phase ends when the stage is empty.
    #[inline(always)]
    pub(super) fn empty(&self, stage: u32) -> Mbarrier {
        self.full(STAGES + stage)
    }

    /// Starts the copies that fill a stage with a slice of both factors. The slice starts at `k` and holds the rows of
    /// `a` that start at `row` and the columns of `b` that start at `column`. A box has 64 rows or columns.
    ///
    /// # Safety
    /// The caller must ensure that the maps describe the factors as specified in [`gemm`](super) and that a stage has
    /// space for all boxes. No thread may access the stage before the stage is full, and no other thread may fill it.
    #[inline(always)]
    pub(super) unsafe fn fill<const COLUMN_MAJOR: bool, const A_BOXES: u32, const B_BOXES: u32>(
        &self,
        stage: u32,
        [a_map, b_map]: [&TensorMap; 2],
        [row, column, k]: [u32; 3],
    ) {
        let (boxes, full) = (self.stage(stage), self.full(stage));
        // SAFETY: only this thread arrives, and it announces the bytes of all boxes that it copies. The boxes are in
        // the stage, which no thread accesses before the phase ends.
        unsafe {
            full.arrive_expect_tx((A_BOXES + B_BOXES) * BOX_BYTES);
            for i in 0..A_BOXES {
                a_map.load(k, row + i * BOX_ROWS, boxes.byte_add(i * BOX_BYTES), full);
            }
            for i in 0..B_BOXES {
                let (to, column) = (boxes.byte_add((A_BOXES + i) * BOX_BYTES), column + i * BOX_ROWS);
                let [x, y] = if COLUMN_MAJOR { [k, column] } else { [column, k] };
                b_map.load(x, y, to, full);
            }
        }
    }

    /// Reports that this warp has left a stage, with one arrival per warp.
    ///
    /// # Safety
    /// The caller must ensure that whole warps call the function, once for each time that the stage was full.
    #[inline(always)]
    pub(super) unsafe fn leave(&self, stage: u32) {
        if thread::thread_idx_x().is_multiple_of(32) {
            // SAFETY: the phase ends with the arrivals of all consumers' warps, and this warp has not arrived yet in
            // this phase.
            unsafe { self.empty(stage).arrive() };
        }
    }
}

/// A position in the ring: a stage, and the parity of the phase of "full" in which the stage is filled.
#[derive(Clone, Copy)]
pub(crate) struct Position<const STAGES: u32> {
    pub(crate) stage: u32,
    pub(crate) parity: u32,
}

impl<const STAGES: u32> Position<STAGES> {
    /// The first stage in the first round.
    pub(crate) const START: Self = Self { stage: 0, parity: 0 };

    /// Returns the stage before this one.
    #[inline(always)]
    pub(super) fn previous(&self) -> u32 {
        if self.stage == 0 { STAGES - 1 } else { self.stage - 1 }
    }

    /// Advances to the next stage.
    #[inline(always)]
    pub(crate) fn advance(&mut self) {
        self.stage += 1;
        if self.stage == STAGES {
            self.stage = 0;
            self.parity ^= 1;
        }
    }

    /// Skips `stages` stages that another consumer uses.
    #[inline(always)]
    pub(super) fn skip(&mut self, stages: u32) {
        let stage = self.stage + stages;
        self.stage = stage % STAGES;
        self.parity ^= stage / STAGES % 2;
    }
}

/// The number of rows and of columns in a tile of `gemm_wgmma` and `gemm_tma`, which one warp group computes.
pub(super) const SIDE: u32 = 128;
/// The number of sums per thread for each half of the rows of such a tile.
pub(super) const SUMS: usize = 64;
/// The number of boxes of each factor in a stage for such a tile.
pub(super) const BOXES: u32 = SIDE / BOX_ROWS;
/// The number of bytes in a stage for such a tile: boxes of `a`, then boxes of `b`.
pub(super) const STAGE_BYTES: u32 = 2 * BOXES * BOX_BYTES;

/// Starts the products of a full stage for a tile of `gemm_wgmma` or `gemm_tma`, as one group. The products are added
/// to the sums of both halves of the rows. Unless `is_added`, the first product replaces the sums.
///
/// # Safety
/// The caller must ensure that all threads of the warp group call the function and that the stage is full. No thread
/// may write the stage or access the sums before a wait for the products.
#[inline(always)]
pub(super) unsafe fn multiply<A: Element, const COLUMN_MAJOR: bool>(
    [upper, lower]: &mut [[f32; SUMS]; 2],
    stage: Shared,
    is_added: bool,
) where
    [f32; SUMS]: Sums<A>,
{
    // SAFETY: the stage has the boxes of `a`, followed by the boxes of `b`, and stays full. All threads of the warp
    // group call this function.
    unsafe {
        let upper_a = Tile::<A, Boxes<true>>::at(stage);
        let lower_a = Tile::<A, Boxes<true>>::at(stage.byte_add(BOX_BYTES));
        let b = Tile::<A, Boxes<COLUMN_MAJOR>>::at(stage.byte_add(BOXES * BOX_BYTES));
        wgmma::fence();
        for step in 0..STEPS {
            upper.multiply(upper_a.step(step), b.step(step), is_added || step > 0);
            lower.multiply(lower_a.step(step), b.step(step), is_added || step > 0);
        }
        wgmma::commit();
    }
}

/// The number of threads in a warp group.
pub(crate) const WARP_GROUP: u32 = 128;

/// The number of the first consumer's barrier. The next consumer uses the next number. `thread::sync_threads` uses
/// number 0.
pub(crate) const CONSUMER_BARRIER: u32 = 1;

/// The product in global memory: a row-major matrix.
#[derive(Clone, Copy)]
pub(super) struct OutputMatrix<'a, C> {
    /// The map of the matrix, used only if the matrix's rows are a multiple of 16 bytes.
    pub(super) map: &'a TensorMap,
    pub(super) data: *mut C,
    pub(super) rows: u32,
    pub(super) columns: u32,
}

/// Stores a warp group's 64 rows of sums directly from registers: pairs of neighbors, or single elements if pairs are
/// not aligned.
///
/// # Safety
/// The caller must ensure that `c` points to `m` × `n` elements, and that no other thread writes the 64 rows and `2 *
/// N` columns that start at `row` and `column`. The sums must have the layout of
/// [`Sums`](crate::tensor_core::wgmma::Sums).
#[inline(always)]
pub(crate) unsafe fn store_from_registers<C: Output, const N: usize>(
    sums: &[f32; N],
    [row, column]: [u32; 2],
    c: *mut C,
    [m, n]: [u32; 2],
) {
    let t = thread::thread_idx_x() % WARP_GROUP;
    let (row, column) = (row + t / 32 * 16 + t % 32 / 4, column + t % 4 * 2);
    let has_pairs = n % 2 == 0 && c.cast::<C::Pair>().is_aligned();
    for (second_row, row) in [(0, row), (1, row + 8)] {
        if row >= m {
            continue;
        }
        let to = c.wrapping_add((row * n) as usize);
        for i in 0..N / 4 {
            let column = column + 8 * i as u32;
            let (first, second) = (sums[4 * i + 2 * second_row], sums[4 * i + 2 * second_row + 1]);
            if has_pairs && column < n {
                // SAFETY: the row and the column exist. The column and the number of columns are even, so the next
                // column also exists and the pair is aligned.
                unsafe { *to.add(column as usize).cast() = C::pair(first, second) };
            }
        }
        if has_pairs {
            continue;
        }
        for i in 0..N / 4 {
            for j in 0..2 {
                let column = column + (8 * i + j) as u32;
                if column < n {
                    // SAFETY: the row and the column exist.
                    unsafe { *to.add(column as usize) = C::from_f32(sums[4 * i + 2 * second_row + j]) };
                }
            }
        }
    }
}

/// An element type of the product whose boxes a warp group can write to shared memory.
pub(super) trait Staged: Output {
    /// Writes the sums of box number `index` to a box of 64 rows × 128 bytes with a 128-byte swizzle.
    ///
    /// # Safety
    /// The caller must ensure that all threads of the warp group call the function, and that `to` is a box of shared
    /// memory that nothing else accesses.
    unsafe fn write_box<const N: usize>(sums: &[f32; N], index: usize, to: Shared);
}

/// Implements `Staged` for 16-bit elements. `stmatrix` stores four 8 × 8 matrices at a time, which are 16 rows × 16
/// columns.
macro_rules! staged_by_stmatrix {
    ($element:ty) => {
        impl Staged for $element {
            #[inline(always)]
            unsafe fn write_box<const N: usize>(sums: &[f32; N], index: usize, to: Shared) {
                let (warp, lane) = (thread::thread_idx_x() % WARP_GROUP / 32, thread::thread_idx_x() % 32);
                // A box has 64 columns: eight groups of 8 columns. For each group, a thread has four sums.
                for quarter in 0..4 {
                    let first = (index * 8 + quarter * 2) * 4;
                    let fragments = core::array::from_fn(|i| Self::pair(sums[first + 2 * i], sums[first + 2 * i + 1]));
                    let (row, chunk) = (warp * 16 + lane % 16, quarter as u32 * 2 + lane / 16);
                    // SAFETY: the row and the chunk are in the box, and each lane passes a different chunk.
                    unsafe { stmatrix(to.byte_add(swizzled_offset(row, chunk)), fragments) };
                }
            }
        }
    };
}

staged_by_stmatrix!(Bf16);
staged_by_stmatrix!(F16);

impl Staged for f32 {
    #[inline(always)]
    unsafe fn write_box<const N: usize>(sums: &[f32; N], index: usize, to: Shared) {
        let (warp, lane) = (thread::thread_idx_x() % WARP_GROUP / 32, thread::thread_idx_x() % 32);
        // A box has 32 columns: four groups of 8 columns. For each group, a thread has four sums.
        for quarter in 0..4 {
            let first = (index * 4 + quarter) * 4;
            for second_row in 0..2 {
                let row = warp * 16 + lane / 4 + 8 * second_row as u32;
                let offset = swizzled_offset(row, quarter as u32 * 2 + lane % 4 / 2) + lane % 2 * 8;
                let pair = [sums[first + 2 * second_row], sums[first + 2 * second_row + 1]];
                // SAFETY: the row and the chunk are in the box, and each lane writes a different 8 bytes.
                unsafe { store_two_floats(to.byte_add(offset), pair) };
            }
        }
    }
}

/// Stores a warp group's 64 rows of sums through shared memory, one box after another. Each box is written to shared
/// memory and copied to the product. The last copies are still in flight when the function returns.
///
/// # Safety
/// The caller must ensure that all threads of the warp group `consumer` call the function, and that no other thread
/// writes these elements of the product. `slots` must point to `SLOTS` boxes, one or two, that only this warp group
/// uses.
#[inline(always)]
pub(super) unsafe fn store_through_shared<C: Staged, const N: usize, const SLOTS: u32>(
    sums: &[f32; N],
    [row, column]: [u32; 2],
    output: &OutputMatrix<'_, C>,
    slots: *mut u8,
    consumer: u32,
) {
    let columns = ROW_BYTES / size_of::<C>() as u32;
    let starts_copies = thread::thread_idx_x().is_multiple_of(WARP_GROUP);
    for index in 0..2 * N as u32 / columns {
        let slot = slots.wrapping_add((index % SLOTS * BOX_BYTES) as usize);
        if starts_copies {
            // Waits until the last copy from this slot has read the slot.
            match SLOTS {
                1 => tma::wait_read::<0>(),
                _ => tma::wait_read::<1>(),
            }
        }
        // SAFETY: the first barrier separates the slot's last copy from the next writes to the slot. The second barrier
        // separates these writes from the start of the next copy.
        unsafe {
            barrier_sync(CONSUMER_BARRIER + consumer, WARP_GROUP);
            C::write_box(sums, index as usize, Shared::of(slot));
            tma::fence_shared();
            barrier_sync(CONSUMER_BARRIER + consumer, WARP_GROUP);
            copy_box(slot, [row, column + index * columns], output);
        }
    }
}

/// Copies a box from shared memory to the product. If the product's rows are a multiple of 16 bytes, the function
/// starts a tensor copy, which is still in flight when the function returns. Otherwise it copies element by element.
///
/// # Safety
/// The caller must ensure that all threads of the warp group call the function after [`tma::fence_shared`] and a
/// barrier of the threads that wrote the box. No other thread may write these elements of the product.
#[inline(always)]
pub(super) unsafe fn copy_box<C: Copy>(slot: *mut u8, [row, column]: [u32; 2], output: &OutputMatrix<'_, C>) {
    if !(output.columns * size_of::<C>() as u32).is_multiple_of(16) {
        // SAFETY: the box has been written, and only this warp group writes the box's elements of the product.
        unsafe { copy_elements(slot.cast(), [row, column], output) };
    } else if thread::thread_idx_x().is_multiple_of(WARP_GROUP) {
        // SAFETY: the map describes the product. The box is complete, and it is overwritten only after a wait.
        unsafe { output.map.store(column, row, Shared::of(slot)) };
        tma::commit_stores();
    }
}

/// Copies a box from shared memory to the product element by element. Neighboring threads copy neighboring elements.
///
/// # Safety
/// See [`copy_box`].
#[inline(always)]
unsafe fn copy_elements<C: Copy>(from: *const C, [row, column]: [u32; 2], output: &OutputMatrix<'_, C>) {
    let size = size_of::<C>() as u32;
    let columns = ROW_BYTES / size;
    let t = thread::thread_idx_x() % WARP_GROUP;
    let box_column = t % columns;
    let rows = BOX_ROWS.min(output.rows.saturating_sub(row));
    let mut box_row = t / columns;
    while box_row < rows && column + box_column < output.columns {
        let offset = swizzled_offset(box_row, box_column * size / 16) + box_column * size % 16;
        let index = (row + box_row) * output.columns + column + box_column;
        // SAFETY: the offset is in the box, and the row and the column exist in the product.
        unsafe { *output.data.add(index as usize) = *from.add((offset / size) as usize) };
        box_row += WARP_GROUP / columns;
    }
}
