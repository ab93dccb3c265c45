//! The order in which blocks, warps and diverged lanes are executed.

use std::fmt;
use std::str::FromStr;

/// The order in which blocks, warps and diverged lanes are executed. A GPU might choose any of these orders, so a
/// kernel whose results differ between schedules has a race.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Schedule {
    /// Runs each block, each warp and each group of diverged lanes until it waits. Several blocks run at the same time
    /// on several host threads. This schedule is the fastest. With one host thread, the order is deterministic.
    #[default]
    Fixed,
    /// Alternates after each instruction between warps, between groups of diverged lanes, and between several blocks.
    /// This schedule uses one host thread and is deterministic.
    RoundRobin,
    /// Runs turns of random length in random order on one host thread, and completes asynchronous copies at random
    /// times. Blocks start in a random order within each group of [`SHUFFLED`] blocks, because a GPU does not guarantee
    /// an order. Shared memory that no thread has written contains random bytes instead of zeros. The same seed
    /// produces the same order and values.
    ///
    /// [`SHUFFLED`]: Schedule::SHUFFLED
    Random(u64),
}

/// Formats the schedule as on a command line: `fixed`, `round-robin`, `random:7`.
impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Schedule::Fixed => f.write_str("fixed"),
            Schedule::RoundRobin => f.write_str("round-robin"),
            Schedule::Random(seed) => write!(f, "random:{seed}"),
        }
    }
}

impl FromStr for Schedule {
    type Err = String;

    /// Parses the output of [`Display`](fmt::Display).
    fn from_str(text: &str) -> Result<Self, String> {
        let seed = text.strip_prefix("random:").and_then(|seed| seed.parse().ok());
        match (text, seed) {
            ("fixed", _) => Ok(Schedule::Fixed),
            ("round-robin", _) => Ok(Schedule::RoundRobin),
            (_, Some(seed)) => Ok(Schedule::Random(seed)),
            _ => Err(format!("`{text}` is not an order; write fixed, round-robin or random:SEED, such as random:7")),
        }
    }
}

impl Schedule {
    /// The size of a group of successive blocks whose order is random under [`Schedule::Random`].
    pub const SHUFFLED: u64 = 64;

    /// Returns the number of the block that is at position `index` in the starting order of `count` blocks.
    pub(super) fn block(self, index: u64, count: u64) -> u64 {
        // The last blocks do not fill a whole group, so they are divided into smaller groups.
        let mut group = Self::SHUFFLED;
        while index | (group - 1) >= count {
            group /= 2;
        }
        let random = self.random((index & !(group - 1)) ^ (1 << 63));
        random.map_or(index, |mut random| index ^ random.u64(0..group))
    }

    /// Returns the order of a block's warps.
    pub(super) fn turns(self, block: u64) -> WarpOrder {
        let random = self.random(block).unwrap_or_else(|| fastrand::Rng::with_seed(0));
        WarpOrder { schedule: self, order: Vec::new(), random }
    }

    /// Returns the random number generator for the initial bytes of shared memory, or `None` if they are zeros.
    pub(super) fn poison(self, block: u64) -> Option<fastrand::Rng> {
        self.random(!block)
    }

    /// Returns the generator of a random schedule, seeded differently for each `number`.
    fn random(self, number: u64) -> Option<fastrand::Rng> {
        match self {
            Schedule::Random(seed) => Some(fastrand::Rng::with_seed(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15))),
            Schedule::Fixed | Schedule::RoundRobin => None,
        }
    }

    /// Returns the number of blocks that a host thread runs at a time if no block waits for another.
    pub(super) fn blocks_at_a_time(self) -> usize {
        match self {
            Schedule::Fixed => 1,
            Schedule::RoundRobin | Schedule::Random(_) => 8,
        }
    }

    /// Returns the number of turns of each warp in a turn of its block.
    pub(super) fn rounds(self) -> usize {
        match self {
            Schedule::Fixed => usize::MAX,
            Schedule::RoundRobin | Schedule::Random(_) => 1,
        }
    }
}

/// The order and the length of the turns of a block's warps.
#[derive(Debug)]
pub(super) struct WarpOrder {
    schedule: Schedule,
    order: Vec<usize>,
    random: fastrand::Rng,
}

impl WarpOrder {
    /// Returns the warp that runs at position `place` of a round, in a block of `warps` warps.
    #[inline]
    pub(super) fn warp(&mut self, place: usize, warps: usize) -> usize {
        if !matches!(self.schedule, Schedule::Random(_)) {
            return place;
        }
        if place == 0 {
            self.order.clear();
            self.order.extend(0..warps);
            self.random.shuffle(&mut self.order);
        }
        self.order[place]
    }

    /// Returns the number of instructions in a warp's turn.
    pub(super) fn turn(&mut self) -> u32 {
        match self.schedule {
            Schedule::Fixed => 4096,
            Schedule::RoundRobin => 1,
            Schedule::Random(_) => 1 << self.random.u32(0..8),
        }
    }

    /// Returns whether an asynchronous operation completes now although no thread waits for it. `any` returns whether
    /// an operation is in flight.
    pub(super) fn asynchronous(&mut self, any: impl FnOnce() -> bool) -> bool {
        matches!(self.schedule, Schedule::Random(_)) && any() && self.random.u32(0..4) == 0
    }

    /// Returns which of the `groups` groups of diverged lanes runs next. The groups are ordered by their last turns.
    pub(super) fn group(&mut self, groups: usize) -> usize {
        match self.schedule {
            Schedule::Fixed | Schedule::RoundRobin => groups - 1,
            Schedule::Random(_) => self.random.usize(0..groups),
        }
    }
}
