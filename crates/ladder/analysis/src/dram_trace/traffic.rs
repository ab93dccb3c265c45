//! The observer of accesses, and its counts.

use std::array;

use ptx::ast::Space;
use serde::Serialize;
use simt::observe::{Access, AccessKind, Observer, Site, WarpId as Warp};

use profile::dram::Dram;

/// The kinds of accesses that are counted separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Loads, including asynchronous copies.
    Load,
    /// Stores.
    Store,
    /// Atomics, whether or not they return a value.
    Atomic,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Load, Self::Store, Self::Atomic];

    const fn of(kind: AccessKind) -> Self {
        match kind {
            AccessKind::Load | AccessKind::AsyncCopy => Self::Load,
            AccessKind::Store => Self::Store,
            AccessKind::Atomic | AccessKind::Reduction => Self::Atomic,
        }
    }
}

/// The accesses of one kind.
#[derive(Clone, Debug, Serialize)]
pub struct Accesses {
    /// The kind of the accesses.
    pub kind: Kind,
    /// The number of accesses of warps.
    pub requests: u64,
    /// The number of bursts that the accesses touch, with each burst counted once per request.
    pub bursts: u64,
    /// The average number of channels per request.
    pub channels_per_request: f64,
    /// The average number of bursts of a request in its busiest channel. The bus of the channel transfers these bursts
    /// one after another.
    pub queue: f64,
    /// The value that [`Accesses::queue`] would have if each request's bursts were spread evenly over all channels.
    pub best_queue: f64,
    /// The bursts of the busiest channel, divided by the average over all channels: 1 for an even distribution, or the
    /// number of channels if all bursts are in one channel.
    pub busiest_channel_over_mean: Option<f64>,
    /// The same ratio as [`Accesses::busiest_channel_over_mean`], for banks.
    pub busiest_bank_over_mean: Option<f64>,
    /// The number of bursts of each channel.
    pub bursts_by_channel: Vec<u64>,
    /// The bursts of each window.
    pub windows: Vec<Window>,
}

/// The bursts that the blocks of a window touch.
#[derive(Clone, Debug, Serialize)]
pub struct Window {
    /// The first block of the window.
    pub first_block: u64,
    /// The number of blocks of the window.
    pub blocks: u64,
    /// The number of bursts.
    pub bursts: u64,
    /// The number of channels that are accessed.
    pub channels_busy: u64,
    /// The number of banks that are accessed.
    pub banks_busy: u64,
    /// The same as [`Accesses::busiest_channel_over_mean`]; `None` for a window without bursts.
    pub busiest_channel_over_mean: Option<f64>,
    /// The number of bursts of each channel.
    #[serde(skip)]
    pub bursts_by_channel: Vec<u64>,
}

/// The counts for one kind of access.
#[derive(Clone, Debug, Default)]
struct Counts {
    requests: u64,
    /// The sum, over all requests, of the number of channels that a request touches.
    channels: u64,
    /// The sum, over all requests, of the number of bursts in a request's busiest channel.
    queue: u64,
    /// The sum that `queue` would be if each request's bursts were distributed evenly.
    best_queue: u64,
    /// The number of bursts of each window and bank, ordered by window first.
    bursts: Vec<u64>,
}

/// The observer of a launch.
pub(super) struct Traffic {
    dram: Dram,
    windows: u64,
    blocks: u64,
    counts: [Counts; Kind::ALL.len()],
    /// The numbers of the bursts in the current access.
    bursts: Vec<u64>,
    /// The number of these bursts in each channel; zeros between accesses.
    queues: Vec<u32>,
}

impl Traffic {
    pub(super) fn new(dram: Dram, windows: u64, blocks: u64) -> Self {
        let counters = dram.channels * dram.banks * windows;
        Self {
            dram,
            windows,
            blocks: blocks.max(1),
            counts: array::from_fn(|_| Counts { bursts: vec![0; counters as usize], ..Counts::default() }),
            bursts: Vec::new(),
            queues: vec![0; dram.channels as usize],
        }
    }

    /// Returns the accesses of each kind that occurred.
    pub(super) fn accesses(&self) -> Vec<Accesses> {
        let all = Kind::ALL.into_iter().zip(&self.counts);
        let some = all.filter(|(_, counts)| counts.requests > 0);
        some.map(|(kind, counts)| self.of_kind(kind, counts)).collect()
    }

    fn of_kind(&self, kind: Kind, counts: &Counts) -> Accesses {
        let banks = self.dram.banks as usize;
        let banks_in_all = self.queues.len() * banks;
        let mut by_bank = vec![0; banks_in_all];
        let mut windows = Vec::new();
        for (window, window_bursts) in (0..).zip(counts.bursts.chunks(banks_in_all)) {
            add(&mut by_bank, window_bursts);
            let bursts_by_channel = by_channel(window_bursts, banks);
            let first_block = self.first_block(window);
            windows.push(Window {
                first_block,
                blocks: self.first_block(window + 1) - first_block,
                bursts: window_bursts.iter().sum(),
                channels_busy: busy(&bursts_by_channel),
                banks_busy: busy(window_bursts),
                busiest_channel_over_mean: busiest_over_mean(&bursts_by_channel),
                bursts_by_channel,
            });
        }
        let bursts_by_channel = by_channel(&by_bank, banks);
        let per_request = |sum: u64| sum as f64 / counts.requests as f64;
        Accesses {
            kind,
            requests: counts.requests,
            bursts: by_bank.iter().sum(),
            channels_per_request: per_request(counts.channels),
            queue: per_request(counts.queue),
            best_queue: per_request(counts.best_queue),
            busiest_channel_over_mean: busiest_over_mean(&bursts_by_channel),
            busiest_bank_over_mean: busiest_over_mean(&by_bank),
            bursts_by_channel,
            windows,
        }
    }

    /// Returns the window of a block.
    fn window(&self, block: u64) -> u64 {
        let at = u128::from(block) * u128::from(self.windows) / u128::from(self.blocks);
        (at as u64).min(self.windows - 1)
    }

    /// Returns the first block of a window.
    fn first_block(&self, window: u64) -> u64 {
        let begin = u128::from(window) * u128::from(self.blocks);
        begin.div_ceil(u128::from(self.windows)) as u64
    }

    /// Collects the bursts that an access touches, without duplicates.
    fn take_apart(&mut self, access: &Access<'_>) {
        self.bursts.clear();
        let mut left = access.mask;
        while left != 0 {
            let first = access.addresses[left.trailing_zeros() as usize];
            for burst in self.dram.bursts(first, access.bytes.into()) {
                // Adjacent lanes usually touch the same burst.
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

fn add(sums: &mut [u64], more: &[u64]) {
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum += more;
    }
}

fn by_channel(by_bank: &[u64], banks: usize) -> Vec<u64> {
    let channels = by_bank.chunks(banks);
    channels.map(|banks| banks.iter().sum()).collect()
}

fn busy(counts: &[u64]) -> u64 {
    counts.iter().filter(|count| **count > 0).count() as u64
}

fn busiest_over_mean(counts: &[u64]) -> Option<f64> {
    let (sum, most): (u64, u64) = (counts.iter().sum(), counts.iter().copied().max()?);
    (sum > 0).then(|| most as f64 * counts.len() as f64 / sum as f64)
}

impl Observer for Traffic {
    fn fork(&self) -> Self {
        Self::new(self.dram, self.windows, self.blocks)
    }

    fn merge(&mut self, other: Self) {
        for (window_counts, more) in self.counts.iter_mut().zip(&other.counts) {
            window_counts.requests += more.requests;
            window_counts.channels += more.channels;
            window_counts.queue += more.queue;
            window_counts.best_queue += more.best_queue;
            add(&mut window_counts.bursts, &more.bursts);
        }
    }

    fn access(&mut self, _: Site, warp: Warp, access: &Access<'_>) {
        if access.space != Space::Global || access.mask == 0 {
            return;
        }
        self.take_apart(access);
        let dram = self.dram;
        let window = self.window(warp.block);
        let counts = &mut self.counts[Kind::of(access.kind) as usize];
        let mut longest = 0;
        for &burst in &self.bursts {
            let place = dram.place(burst * dram.burst);
            let channel = window * dram.channels + place.channel;
            counts.bursts[(channel * dram.banks + place.bank) as usize] += 1;
            let queue = &mut self.queues[place.channel as usize];
            counts.channels += u64::from(*queue == 0);
            *queue += 1;
            longest = longest.max(*queue);
        }
        self.queues.fill(0);
        counts.requests += 1;
        counts.queue += u64::from(longest);
        counts.best_queue += (self.bursts.len() as u64).div_ceil(dram.channels);
    }
}
