//! In which order blocks, warps and diverged lanes are executed.

use std::fmt;
use std::str::FromStr;

/// In which order blocks, warps and diverged lanes are executed. Each is an order that a GPU might choose: a kernel whose
/// results differ between schedules has a race.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Schedule {
    /// Each block, and each warp and each group of diverged lanes, as far as it gets without waiting, and several blocks
    /// at the same time on several host threads. The fastest. With one host thread the order is the same each time.
    #[default]
    Fixed,
    /// One instruction at a time of each warp and of each group of diverged lanes, and of several blocks. On one host
    /// thread, and always in the same order.
    RoundRobin,
    /// Turns of random length in random order, on one host thread, and asynchronous copies done at random moments. Blocks
    /// begin in a random order within each [`SHUFFLED`] blocks, because a GPU does not promise an order. Shared memory that
    /// no thread has written holds random bytes, where it is zero otherwise. All is the same each time for the same seed.
    ///
    /// [`SHUFFLED`]: Schedule::SHUFFLED
    Random(u64),
}

/// As it is written on a command line: `fixed`, `round-robin`, `random:7`.
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

    /// Reads what [`Display`](fmt::Display) writes.
    fn from_str(text: &str) -> Result<Self, String> {
        let seed = text.strip_prefix("random:").and_then(|seed| seed.parse().ok());
        match (text, seed) {
            ("fixed", _) => Ok(Schedule::Fixed),
            ("round-robin", _) => Ok(Schedule::RoundRobin),
            (_, Some(seed)) => Ok(Schedule::Random(seed)),
            _ => Err(format!("`{text}` is not an order; write fixed, round-robin or random:SEED, as random:7")),
        }
    }
}

impl Schedule {
    /// The number of successive blocks whose order is random under [`Schedule::Random`].
    pub const SHUFFLED: u64 = 64;

    /// Which of `count` blocks begins as number `index`.
    pub(super) fn block(self, index: u64, count: u64) -> u64 {
        // The last blocks do not fill a whole group, so their groups are smaller.
        let mut group = Self::SHUFFLED;
        while index | (group - 1) >= count {
            group /= 2;
        }
        let random = self.random((index & !(group - 1)) ^ (1 << 63));
        random.map_or(index, |mut random| index ^ random.u64(0..group))
    }

    /// The turns of a block's warps.
    pub(super) fn turns(self, block: u64) -> WarpOrder {
        let random = self.random(block).unwrap_or_else(|| fastrand::Rng::with_seed(0));
        WarpOrder { schedule: self, order: Vec::new(), random }
    }

    /// What a block finds in shared memory that nobody has written; zeros if `None`.
    pub(super) fn poison(self, block: u64) -> Option<fastrand::Rng> {
        self.random(!block)
    }

    /// The random numbers of a random schedule, other ones for each `number`.
    fn random(self, number: u64) -> Option<fastrand::Rng> {
        match self {
            Schedule::Random(seed) => Some(fastrand::Rng::with_seed(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15))),
            Schedule::Fixed | Schedule::RoundRobin => None,
        }
    }

    /// How many blocks a host thread runs at a time, even if none waits for another.
    pub(super) fn blocks_at_a_time(self) -> usize {
        match self {
            Schedule::Fixed => 1,
            Schedule::RoundRobin | Schedule::Random(_) => 8,
        }
    }

    /// How many turns of each warp a block's turn has.
    pub(super) fn rounds(self) -> usize {
        match self {
            Schedule::Fixed => usize::MAX,
            Schedule::RoundRobin | Schedule::Random(_) => 1,
        }
    }
}

/// The turns of a block's warps.
#[derive(Debug)]
pub(super) struct WarpOrder {
    schedule: Schedule,
    order: Vec<usize>,
    random: fastrand::Rng,
}

impl WarpOrder {
    /// The warp of a block of `warps` that is executed as number `place` of a round.
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

    /// How many instructions a warp executes before the next has its turn.
    pub(super) fn turn(&mut self) -> u32 {
        match self.schedule {
            Schedule::Fixed => 4096,
            Schedule::RoundRobin => 1,
            Schedule::Random(_) => 1 << self.random.u32(0..8),
        }
    }

    /// Whether an asynchronous operation is done now that nobody waits for, if `any` is under way.
    pub(super) fn asynchronous(&mut self, any: impl FnOnce() -> bool) -> bool {
        matches!(self.schedule, Schedule::Random(_)) && any() && self.random.u32(0..4) == 0
    }

    /// Which of so many groups of diverged lanes is executed next; they are in the order in which they had turns.
    pub(super) fn group(&mut self, groups: usize) -> usize {
        match self.schedule {
            Schedule::Fixed | Schedule::RoundRobin => groups - 1,
            Schedule::Random(_) => self.random.usize(0..groups),
        }
    }
}
