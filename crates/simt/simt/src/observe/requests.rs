//! The requests that an observer makes of a launch.

/// A set of requests that an observer makes: which of its methods the simulator calls, and how the simulator executes
/// the launch. An observer declares its requests in [`Observer::REQUESTS`](super::Observer::REQUESTS). A pair of
/// observers makes the requests of both observers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requests(u8);

impl Requests {
    /// No calls: the simulator does not stop for the observer.
    pub const NONE: Self = Self(0);
    /// All calls, except the calls that have a separate request below.
    pub const CALLS: Self = Self(1);
    /// The calls of [`step`](super::Observer::step) and [`frames`](super::Observer::frames), which make a launch much
    /// slower.
    pub const STEPS: Self = Self(1 | 1 << 1);
    /// The calls of [`located`](super::Observer::located).
    pub const PLACES: Self = Self(1 | 1 << 2);
    /// The calls of [`issued`](super::Observer::issued) and [`mbarrier`](super::Observer::mbarrier).
    pub const ASYNCHRONOUS: Self = Self(1 | 1 << 3);
    /// The calls of [`mistake`](super::Observer::mistake).
    pub const MISTAKES: Self = Self(1 | 1 << 4);
    /// All blocks run on one host thread, so the calls are in execution order.
    pub const ONE_THREAD: Self = Self(1 << 5);
    /// The launch continues after a lane's access is out of bounds, misaligned, or a write to constants. The lane's
    /// access is skipped; if it is a load, the lane receives [`POISON`](crate::memory::POISON).
    pub const SKIPS: Self = Self(1 << 6);

    /// Returns the union of this set and `more`.
    #[must_use]
    pub const fn and(self, more: Self) -> Self {
        Self(self.0 | more.0)
    }

    /// Returns whether this set contains every request in `all`.
    #[must_use]
    #[inline(always)]
    pub const fn has(self, all: Self) -> bool {
        self.0 & all.0 == all.0
    }
}
