//! The shared memory of a block that copies, multiplies and stores at the same time: stages, boxes for the product,
//! barriers.

use super::large_tile::CONSUMERS;
use crate::copy_async::Shared;
use crate::tensor_core::pipeline::Barriers;
use crate::tensor_core::wgmma::{BOX_ALIGN, BOX_BYTES};

/// What the parts are made of.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    pub(super) stage_bytes: u32,
    /// The boxes for the product that each consumer has.
    pub(super) slots: u32,
}

/// The parts of [`Buffers::bytes`] of shared memory.
#[derive(Clone, Copy)]
pub(super) struct Buffers<const STAGES: u32> {
    start: *mut u8,
    layout: Layout,
    stages: Shared,
    pub(super) barriers: Barriers<STAGES>,
}

impl<const STAGES: u32> Buffers<STAGES> {
    /// The bytes of all parts.
    pub(super) const fn bytes(layout: Layout) -> u32 {
        BOX_ALIGN + Self::barriers_at(layout) + Barriers::<STAGES>::BYTES
    }

    /// Where the barriers lie behind the first stage.
    const fn barriers_at(Layout { stage_bytes, slots }: Layout) -> u32 {
        STAGES * stage_bytes + CONSUMERS * slots * BOX_BYTES
    }

    /// The parts of [`Buffers::bytes`].
    #[inline(always)]
    pub(super) fn of(shared: *mut u8, layout: Layout) -> Self {
        let begin = Shared::of(shared);
        let stages = begin.aligned_to(BOX_ALIGN);
        let start = shared.wrapping_add(stages.offset_from(begin) as usize);
        Self { start, layout, stages, barriers: Barriers(stages.byte_add(Self::barriers_at(layout))) }
    }

    /// A stage.
    #[inline(always)]
    pub(super) fn stage(&self, index: u32) -> Shared {
        self.stages.byte_add(index * self.layout.stage_bytes)
    }

    /// A consumer's boxes for the product.
    #[inline(always)]
    pub(super) fn staging(&self, consumer: u32) -> *mut u8 {
        let Layout { stage_bytes, slots } = self.layout;
        self.start.wrapping_add((STAGES * stage_bytes + consumer * slots * BOX_BYTES) as usize)
    }
}
