//! The stages of a pipeline in shared memory: a producer fills them by tensor copies, and consumers multiply from them.
//!
//! A stage holds a slice of k: boxes with rows of `a`, and after them the boxes of `b`. The slice is as deep as a box's
//! row is long, 128 bytes. Two mbarriers belong to each stage. "Full" ends a phase when all bytes of the stage have
//! arrived, and "empty" ends one when all consumers have left the stage.

use cuda_std::{shared, thread};

use crate::copy_async::Shared;
use crate::tensor_core::mbarrier::{self, Mbarrier};
use crate::tensor_core::tma::TensorMap;
use crate::tensor_core::wgmma::{BOX_ALIGN, BOX_BYTES, BOX_ROWS, ROW_BYTES};

/// Returns the elements along k that a stage holds: those of a box's row.
pub(super) const fn depth<A>() -> u32 {
    ROW_BYTES / size_of::<A>() as u32
}

/// The dynamic shared memory of a block: `STAGES` stages, then boxes for the product, then the mbarriers of the stages.
#[derive(Clone, Copy)]
pub(super) struct Ring<const STAGES: u32> {
    /// The bytes of a stage.
    stage_bytes: u32,
    /// The boxes for the product.
    output_boxes: u32,
    /// The first stage, as a pointer and as an address of shared memory.
    pointer: *mut u8,
    address: Shared,
}

impl<const STAGES: u32> Ring<STAGES> {
    /// Returns the bytes of dynamic shared memory. It may begin anywhere, and the first stage is aligned.
    pub(super) const fn bytes(stage_bytes: u32, output_boxes: u32) -> u32 {
        BOX_ALIGN + STAGES * stage_bytes + output_boxes * BOX_BYTES + 2 * STAGES * Mbarrier::BYTES
    }

    /// Returns the block's ring, which must have been launched with [`Ring::bytes`] bytes of dynamic shared memory.
    #[inline(always)]
    pub(super) fn of_block(stage_bytes: u32, output_boxes: u32) -> Self {
        let start = shared::dynamic_shared_mem::<u8>();
        let address = Shared::of(start).aligned_to(BOX_ALIGN);
        let pointer = start.wrapping_add(address.offset_from(Shared::of(start)) as usize);
        Self { stage_bytes, output_boxes, pointer, address }
    }

    /// Initializes the mbarriers of all stages: one thread fills a stage, and `leaves` arrivals say that it is empty.
    ///
    /// # Safety
    /// The caller must ensure that one thread of the block calls it once, and that a barrier of the block or of the
    /// cluster follows before any thread uses the mbarriers.
    #[inline(always)]
    pub(super) unsafe fn init(&self, leaves: u32) {
        for stage in 0..STAGES {
            // SAFETY: the mbarriers are in the block's shared memory, where nothing else is, and a barrier follows.
            unsafe {
                self.full(stage).init(1);
                self.empty(stage).init(leaves);
            }
        }
        mbarrier::fence_init();
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

    /// Returns the mbarrier that ends a phase when the stage is full.
    #[inline(always)]
    pub(super) fn full(&self, stage: u32) -> Mbarrier {
        let first = self.address.byte_add(STAGES * self.stage_bytes + self.output_boxes * BOX_BYTES);
        Mbarrier(first.byte_add(stage * Mbarrier::BYTES))
    }

    /// Returns the mbarrier that ends a phase when the stage is empty.
    #[inline(always)]
    pub(super) fn empty(&self, stage: u32) -> Mbarrier {
        self.full(STAGES + stage)
    }

    /// Starts the copies that fill a stage with the slice of both factors that begins at `k`: the rows of `a` from
    /// `row` on, and the columns of `b` from `column` on. A box has 64 of either.
    ///
    /// # Safety
    /// The caller must ensure that the maps describe the factors as [`gemm`](super) says, that a stage has the bytes of
    /// all boxes, that no thread accesses the stage before it is full, and that no other thread fills it.
    #[inline(always)]
    pub(super) unsafe fn fill<const COLUMN_MAJOR: bool, const A_BOXES: u32, const B_BOXES: u32>(
        &self,
        stage: u32,
        [a_map, b_map]: [&TensorMap; 2],
        [row, column, k]: [u32; 3],
    ) {
        let (boxes, full) = (self.stage(stage), self.full(stage));
        // SAFETY: this thread is the only one that arrives, and it announces the bytes of all boxes that it copies. The
        // boxes are in the stage, which no thread accesses before the phase ends.
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

    /// Says once for each warp that it has left a stage.
    ///
    /// # Safety
    /// The caller must ensure that whole warps call it, once for each time that the stage was full.
    #[inline(always)]
    pub(super) unsafe fn leave(&self, stage: u32) {
        if thread::thread_idx_x().is_multiple_of(32) {
            // SAFETY: the phase ends with the arrivals of all consumers' warps, and this one has not arrived in it.
            unsafe { self.empty(stage).arrive() };
        }
    }
}

/// A place in the ring: a stage, and the parity of the phase of "full" in which the stage is filled.
#[derive(Clone, Copy)]
pub(super) struct Position<const STAGES: u32> {
    pub(super) stage: u32,
    pub(super) parity: u32,
}

impl<const STAGES: u32> Position<STAGES> {
    /// The first stage in the first round.
    pub(super) const START: Self = Self { stage: 0, parity: 0 };

    /// Returns the stage before this one.
    #[inline(always)]
    pub(super) fn previous(&self) -> u32 {
        if self.stage == 0 { STAGES - 1 } else { self.stage - 1 }
    }

    /// Moves to the next stage.
    #[inline(always)]
    pub(super) fn advance(&mut self) {
        self.stage += 1;
        if self.stage == STAGES {
            self.stage = 0;
            self.parity ^= 1;
        }
    }

    /// Skips `stages` stages, which another consumer uses.
    #[inline(always)]
    pub(super) fn skip(&mut self, stages: u32) {
        let stage = self.stage + stages;
        self.stage = stage % STAGES;
        self.parity ^= stage / STAGES % 2;
    }
}
