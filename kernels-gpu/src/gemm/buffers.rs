//! The shared memory of a block that copies, multiplies and stores at the same time: stages, boxes for the product,
//! barriers.

use super::large_tile::CONSUMERS;
use super::staged_output::STAGING_BYTES;
use crate::copy_async::Shared;
use crate::tensor_core::pipeline::Barriers;
use crate::tensor_core::wgmma::BOX_ALIGN;

/// The parts of [`Buffers::BYTES`] of shared memory.
#[derive(Clone, Copy)]
pub(super) struct Buffers<const STAGES: u32, const STAGE_BYTES: u32> {
    start: *mut u8,
    stages: Shared,
    pub(super) barriers: Barriers<STAGES>,
}

impl<const STAGES: u32, const STAGE_BYTES: u32> Buffers<STAGES, STAGE_BYTES> {
    /// The bytes of all parts.
    pub(super) const BYTES: u32 =
        BOX_ALIGN + STAGES * STAGE_BYTES + CONSUMERS * STAGING_BYTES + Barriers::<STAGES>::BYTES;

    /// The parts of [`Buffers::BYTES`].
    #[inline(always)]
    pub(super) fn of(shared: *mut u8) -> Self {
        let begin = Shared::of(shared);
        let stages = begin.aligned_to(BOX_ALIGN);
        let start = shared.wrapping_add(stages.offset_from(begin) as usize);
        let barriers = Barriers(stages.byte_add(STAGES * STAGE_BYTES + CONSUMERS * STAGING_BYTES));
        Self { start, stages, barriers }
    }

    /// A stage.
    #[inline(always)]
    pub(super) fn stage(&self, index: u32) -> Shared {
        self.stages.byte_add(index * STAGE_BYTES)
    }

    /// A consumer's boxes for the product.
    #[inline(always)]
    pub(super) fn staging(&self, consumer: u32) -> *mut u8 {
        self.start.wrapping_add((STAGES * STAGE_BYTES + consumer * STAGING_BYTES) as usize)
    }
}
