//! The observer, and what it counts.

use serde::Serialize;
use simt::observe::{Access, AccessKind, Observer, Site, WarpId as Warp};
use simt::observe::Space;

use super::Setup;
use crate::dram::Dram;

/// What is told apart of a warp's accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Loads, asynchronous copies among them.
    Load,
    /// Stores.
    Store,
    /// Atomics, whether or not they return a value.
    Atomic,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Load, Self::Store, Self::Atomic];

    /// In the plural, as a table has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Load => "loads",
            Self::Store => "stores",
            Self::Atomic => "atomics",
        }
    }

    const fn of(kind: AccessKind) -> Self {
        match kind {
            AccessKind::Load | AccessKind::AsyncCopy => Self::Load,
            AccessKind::Store => Self::Store,
            AccessKind::Atomic | AccessKind::Reduction => Self::Atomic,
        }
    }
}

/// Counts of one kind of access.
#[derive(Clone, Debug, Default)]
struct OfKind {
    requests: u64,
    /// Channels that each request wants, added up.
    channels: u64,
    /// Bursts that each request wants of the channel it wants most of, added up.
    queue: u64,
    /// Those of a request for which the bursts were dealt out evenly.
    best_queue: u64,
    /// By window, and in it by bank.
    bursts: Vec<u64>,
}

impl OfKind {
    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.channels += other.channels;
        self.queue += other.queue;
        self.best_queue += other.best_queue;
        for (own, more) in self.bursts.iter_mut().zip(&other.bursts) {
            *own += more;
        }
    }
}

/// All that was counted.
#[derive(Clone, Debug)]
pub(super) struct Counts {
    dram: Dram,
    kinds: [OfKind; Kind::ALL.len()],
}

impl Counts {
    fn new(setup: Setup) -> Self {
        let none = OfKind {
            bursts: vec![0; setup.dram.slots() * setup.windows as usize],
            ..OfKind::default()
        };
        Self {
            dram: setup.dram,
            kinds: std::array::from_fn(|_| none.clone()),
        }
    }

    pub(super) fn traced(&self, kind: Kind) -> Option<Traced<'_>> {
        let counts = &self.kinds[kind as usize];
        (counts.requests > 0).then_some(Traced {
            dram: &self.dram,
            counts,
        })
    }
}

/// The accesses of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Traced<'a> {
    dram: &'a Dram,
    counts: &'a OfKind,
}

impl Traced<'_> {
    /// Accesses of warps.
    pub fn requests(&self) -> u64 {
        self.counts.requests
    }

    /// Bursts that they want, each counted once for a request.
    pub fn bursts(&self) -> u64 {
        self.counts.bursts.iter().sum()
    }

    /// Channels that a request wants bursts of, on average.
    pub fn channels_a_request(&self) -> f64 {
        self.counts.channels as f64 / self.counts.requests as f64
    }

    /// Bursts that a request wants of the channel of which it wants most, on average: as many have to go over one
    /// bus, one after the other.
    pub fn queue(&self) -> f64 {
        self.counts.queue as f64 / self.counts.requests as f64
    }

    /// The same if each request's bursts were spread evenly over all channels.
    pub fn best_queue(&self) -> f64 {
        self.counts.best_queue as f64 / self.counts.requests as f64
    }

    /// How the bursts of all windows spread.
    pub fn whole(&self) -> Spread {
        let mut by_bank = vec![0; self.dram.slots()];
        for window in self.counts.bursts.chunks(self.dram.slots()) {
            for (sum, count) in by_bank.iter_mut().zip(window) {
                *sum += count;
            }
        }
        Spread::new(self.dram, by_bank)
    }

    /// How those of each window do.
    pub fn windows(&self) -> Vec<Spread> {
        let windows = self.counts.bursts.chunks(self.dram.slots());
        windows
            .map(|by_bank| Spread::new(self.dram, by_bank.to_vec()))
            .collect()
    }
}

/// How bursts spread over channels and banks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spread {
    by_channel: Vec<u64>,
    by_bank: Vec<u64>,
}

impl Spread {
    fn new(dram: &Dram, by_bank: Vec<u64>) -> Self {
        let channels = by_bank.chunks(dram.banks() as usize);
        Self {
            by_channel: channels.map(|banks| banks.iter().sum()).collect(),
            by_bank,
        }
    }

    /// Bursts of each channel.
    pub fn by_channel(&self) -> &[u64] {
        &self.by_channel
    }

    /// Bursts in all.
    pub fn bursts(&self) -> u64 {
        self.by_channel.iter().sum()
    }

    /// Channels with any.
    pub fn busy_channels(&self) -> u64 {
        busy(&self.by_channel)
    }

    /// Banks with any.
    pub fn busy_banks(&self) -> u64 {
        busy(&self.by_bank)
    }

    /// Bursts of the busiest channel, over those of a channel on average: 1 for an even spread, the number of
    /// channels if all are in one. `None` where there are no bursts.
    pub fn uneven_channels(&self) -> Option<f64> {
        uneven(&self.by_channel)
    }

    /// The same for banks.
    pub fn uneven_banks(&self) -> Option<f64> {
        uneven(&self.by_bank)
    }
}

fn busy(counts: &[u64]) -> u64 {
    counts.iter().filter(|count| **count > 0).count() as u64
}

fn uneven(counts: &[u64]) -> Option<f64> {
    let (sum, most): (u64, u64) = (counts.iter().sum(), counts.iter().copied().max()?);
    (sum > 0).then(|| most as f64 * counts.len() as f64 / sum as f64)
}

/// The observer of a launch.
pub(super) struct Traffic {
    setup: Setup,
    blocks: u64,
    counts: Counts,
    /// The bursts of an access, by number.
    bursts: Vec<u64>,
    /// How many of them each channel has; zeros between accesses.
    queues: Vec<u32>,
}

impl Traffic {
    pub(super) fn new(setup: Setup, blocks: u64) -> Self {
        Self {
            setup,
            blocks: blocks.max(1),
            counts: Counts::new(setup),
            bursts: Vec::new(),
            queues: vec![0; setup.dram.channels() as usize],
        }
    }

    pub(super) fn into_counts(self) -> Counts {
        self.counts
    }

    /// Which window a block is in.
    fn window(&self, block: u64) -> u64 {
        let at = u128::from(block) * u128::from(self.setup.windows) / u128::from(self.blocks);
        (at as u64).min(self.setup.windows - 1)
    }

    /// The bursts that an access touches, each once.
    fn take_apart(&mut self, access: &Access<'_>) {
        let size = self.setup.dram.burst();
        self.bursts.clear();
        let mut left = access.mask;
        while left != 0 {
            let first = access.addresses[left.trailing_zeros() as usize];
            let last = first.saturating_add(u64::from(access.bytes.max(1)) - 1);
            for burst in first / size..=last / size {
                // Neighbouring lanes most often want the same one.
                if self.bursts.last() != Some(&burst) {
                    self.bursts.push(burst);
                }
            }
            left &= left - 1;
        }
        self.bursts.sort_unstable();
        self.bursts.dedup();
    }
}

impl Observer for Traffic {
    fn fork(&self) -> Self {
        Self::new(self.setup, self.blocks)
    }

    fn merge(&mut self, other: Self) {
        for (own, more) in self.counts.kinds.iter_mut().zip(&other.counts.kinds) {
            own.add(more);
        }
    }

    fn access(&mut self, _: Site, warp: Warp, access: &Access<'_>) {
        if access.space != Space::Global || access.mask == 0 {
            return;
        }
        self.take_apart(access);
        let window = self.window(warp.block) as usize;
        let dram = self.setup.dram;
        let counts = &mut self.counts.kinds[Kind::of(access.kind) as usize];
        let by_bank = &mut counts.bursts[window * dram.slots()..][..dram.slots()];
        let (mut channels, mut longest) = (0, 0);
        for &burst in &self.bursts {
            let place = dram.place(burst * dram.burst());
            by_bank[dram.slot(place)] += 1;
            let queue = &mut self.queues[place.channel as usize];
            channels += u64::from(*queue == 0);
            *queue += 1;
            longest = longest.max(*queue);
        }
        for &burst in &self.bursts {
            self.queues[dram.place(burst * dram.burst()).channel as usize] = 0;
        }
        counts.requests += 1;
        counts.channels += channels;
        counts.queue += u64::from(longest);
        counts.best_queue += (self.bursts.len() as u64).div_ceil(dram.channels());
    }
}
