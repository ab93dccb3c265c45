//! A ring of stages in shared memory between those who fill them and those who use them.

use cuda_std::thread;

use super::barrier::Barrier;
use crate::copy_async::Shared;

/// The barriers of `STAGES` stages: one of each says that the stage is full, one that it is empty.
#[derive(Clone, Copy)]
pub struct Barriers<const STAGES: u32>(pub Shared);

impl<const STAGES: u32> Barriers<STAGES> {
    /// The bytes of the barriers.
    pub const BYTES: u32 = 2 * STAGES * Barrier::BYTES;

    /// The barrier that says that a stage is full.
    #[inline(always)]
    #[must_use]
    pub fn full(self, stage: u32) -> Barrier {
        Barrier(self.0.byte_add(stage * Barrier::BYTES))
    }

    /// The barrier that says that a stage is empty.
    #[inline(always)]
    #[must_use]
    pub fn empty(self, stage: u32) -> Barrier {
        Barrier(self.0.byte_add((STAGES + stage) * Barrier::BYTES))
    }

    /// Has each warp say once that it has left a stage.
    ///
    /// # Safety
    /// That of [`Barrier::arrive`]; whole warps come.
    #[inline(always)]
    pub unsafe fn leave(self, stage: u32) {
        if thread::thread_idx_x().is_multiple_of(32) {
            // SAFETY: as the caller promises.
            unsafe { self.empty(stage).arrive() };
        }
    }

    /// Initializes all of them: one thread fills a stage, and so many say that it is empty.
    ///
    /// # Safety
    /// That of [`Barrier::init`].
    #[inline(always)]
    pub unsafe fn init(self, consumers: u32) {
        for stage in 0..STAGES {
            // SAFETY: as the caller promises.
            unsafe {
                self.full(stage).init(1);
                self.empty(stage).init(consumers);
            }
        }
        super::barrier::publish();
    }
}

/// The place of one who goes through the stages: a stage, and the parity of its phase.
#[derive(Clone, Copy)]
pub struct Position<const STAGES: u32> {
    /// The stage.
    pub stage: u32,
    /// The parity of the phase of the barrier [`Barriers::full`] that ends when the stage is full.
    pub parity: u32,
}

impl<const STAGES: u32> Position<STAGES> {
    /// The first stage of the first round.
    pub const START: Self = Self { stage: 0, parity: 0 };

    /// The stage before this one.
    #[inline(always)]
    #[must_use]
    pub fn before(&self) -> u32 {
        if self.stage == 0 { STAGES - 1 } else { self.stage - 1 }
    }

    /// Goes on to the next stage.
    #[inline(always)]
    pub fn advance(&mut self) {
        self.stage += 1;
        if self.stage == STAGES {
            self.stage = 0;
            self.parity ^= 1;
        }
    }

    /// Goes on by so many stages, which others use.
    #[inline(always)]
    pub fn skip(&mut self, stages: u32) {
        let stage = self.stage + stages;
        self.stage = stage % STAGES;
        self.parity ^= stage / STAGES % 2;
    }
}
