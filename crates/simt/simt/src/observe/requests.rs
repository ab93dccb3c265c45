//! What an observer requests of a launch.

/// A set of what an observer requests: calls, and how the launch runs. An observer declares it once, in
/// [`Observer::REQUESTS`](super::Observer::REQUESTS), and a pair of observers requests what either of them does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requests(u8);

impl Requests {
    /// No calls: the machine need not stop to make them.
    pub const NONE: Self = Self(0);
    /// All calls except those that another request is for.
    pub const CALLS: Self = Self(1);
    /// The calls of [`step`](super::Observer::step) and [`frames`](super::Observer::frames), which make a launch much slower.
    pub const STEPS: Self = Self(1 | 1 << 1);
    /// The calls of [`located`](super::Observer::located).
    pub const PLACES: Self = Self(1 | 1 << 2);
    /// The calls of [`issued`](super::Observer::issued) and [`mbarrier`](super::Observer::mbarrier).
    pub const ASYNCHRONOUS: Self = Self(1 | 1 << 3);
    /// The calls of [`mistake`](super::Observer::mistake).
    pub const MISTAKES: Self = Self(1 | 1 << 4);
    /// All blocks run on one host thread, so the calls come in the order in which things happen.
    pub const ONE_THREAD: Self = Self(1 << 5);
    /// The launch continues after an access that cannot be done: out of bounds, misaligned, or a write to constants. The access of
    /// that lane is skipped, and a load gives the lane [`POISON`](crate::memory::POISON).
    pub const SKIPS: Self = Self(1 << 6);

    /// This set and another one together.
    #[must_use]
    pub const fn and(self, more: Self) -> Self {
        Self(self.0 | more.0)
    }

    /// Whether it has all of another set.
    #[must_use]
    #[inline(always)]
    pub const fn has(self, all: Self) -> bool {
        self.0 & all.0 == all.0
    }
}
