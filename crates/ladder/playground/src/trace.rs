//! What the warps of one block do: every step, and every change of registers and shared memory.
//!
//! A state is not kept, but looked up: each register of a warp has the list of its writes, in their order, and so has each
//! word of shared memory. A binary search finds the last write before a step. So going back costs what going on does, and
//! a step costs a few dozen bytes to record.

mod history;
mod recorder;
mod search;

use simt::observe::{AccessKind, FramePlace, Path, Reg, Site, Space, StoredValues};

pub(crate) use history::Registers;
pub(crate) use recorder::Recorder;
pub(crate) use search::Target;

/// The most steps that are recorded.
pub(crate) const MOST_STEPS: usize = 1 << 20;
/// The most values of registers that are recorded, of 4 bytes.
pub(crate) const MOST_VALUES: usize = 48 << 20;

/// What the warps of a block did.
#[derive(Default)]
pub(crate) struct Trace {
    /// The block's number in the grid.
    pub(crate) block: u64,
    pub(crate) threads: u32,
    pub(crate) steps: Vec<Step>,
    pub(crate) warps: Vec<Warp>,
    /// The different reconvergence stacks.
    pub(crate) stacks: Vec<Vec<Path>>,
    /// The different frames.
    pub(crate) frames: Vec<FramePlace>,
    /// In the order of their steps.
    pub(crate) accesses: Vec<Access>,
    /// For each word of shared memory, when it changed, and the new value.
    shared: Vec<Vec<(u32, u32)>>,
    /// When threads were released from a barrier, and which barrier it is.
    releases: Vec<(u32, u32)>,
    /// What the instructions read and write, by function and program counter, of those that were executed.
    uses: Vec<Vec<Option<Uses>>>,
    /// Whether the recording ended before the block did.
    pub(crate) is_cut: bool,
}

/// One instruction of one warp.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    pub(crate) site: Site,
    pub(crate) warp: u32,
    /// The lanes that came to it.
    pub(crate) active: u32,
    /// Those that its guard let through.
    pub(crate) lanes: u32,
    /// The reconvergence stack before it, among [`Trace::stacks`].
    pub(crate) stack: u32,
    /// Among [`Trace::frames`].
    pub(crate) frame: u32,
}

/// What a warp did.
#[derive(Default)]
pub(crate) struct Warp {
    /// The numbers of its steps.
    pub(crate) steps: Vec<u32>,
    pub(crate) registers: Registers,
    /// After which steps lanes ended.
    exits: Vec<(u32, u32)>,
    /// After which steps lanes waited at a barrier, and at which.
    waits: Vec<(u32, u32)>,
}

/// A request to memory.
pub(crate) struct Access {
    pub(crate) step: u32,
    pub(crate) space: Space,
    pub(crate) kind: AccessKind,
    pub(crate) bytes: u32,
    pub(crate) mask: u32,
    pub(crate) rank: Option<u32>,
    pub(crate) addresses: [u64; 32],
}

/// The registers that an instruction reads and writes.
pub(crate) struct Uses {
    pub(crate) reads: Box<[Reg]>,
    pub(crate) writes: Box<[Reg]>,
}

/// What a warp does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WarpActivity {
    /// It has not begun.
    Nothing,
    Runs,
    /// It waits at a barrier of the block.
    Waits(u32),
    Ended,
}

impl Trace {
    pub(crate) fn shared_bytes(&self) -> u64 {
        self.shared.len() as u64 * 4
    }

    /// The words of shared memory after a step.
    pub(crate) fn shared_at(&self, step: u32) -> impl Iterator<Item = u32> {
        self.shared.iter().map(move |changes| {
            let before = changes.partition_point(|(at, _)| *at <= step);
            before.checked_sub(1).map_or(0, |last| changes[last].1)
        })
    }

    /// The requests of a step.
    pub(crate) fn accesses_of(&self, step: u32) -> &[Access] {
        let first = self.accesses.partition_point(|own| own.step < step);
        let count = self.accesses[first..].partition_point(|own| own.step == step);
        &self.accesses[first..first + count]
    }

    /// What the instruction at a site reads and writes, if it was executed.
    pub(crate) fn uses(&self, site: Site) -> Option<&Uses> {
        self.uses.get(site.function as usize)?.get(site.pc as usize)?.as_ref()
    }

    /// The last step of a warp up to this one, by its number among the warp's own.
    pub(crate) fn own_step(&self, warp: u32, step: u32) -> Option<usize> {
        let own = &self.warps.get(warp as usize)?.steps;
        own.partition_point(|at| *at <= step).checked_sub(1)
    }

    /// The lanes that have ended after a step.
    pub(crate) fn exited(&self, warp: u32, step: u32) -> u32 {
        let exits = &self.warps[warp as usize].exits;
        exits.iter().take_while(|(at, _)| *at <= step).fold(0, |all, (_, lanes)| all | lanes)
    }

    /// The lanes that have a thread.
    pub(crate) fn threads_of(&self, warp: u32) -> u32 {
        let threads = self.threads.saturating_sub(warp * 32).min(32);
        ((1_u64 << threads) - 1) as u32
    }

    /// What a warp does after a step.
    pub(crate) fn doing(&self, warp: u32, step: u32) -> WarpActivity {
        if self.own_step(warp, step).is_none() {
            return WarpActivity::Nothing;
        }
        if self.exited(warp, step) == self.threads_of(warp) {
            return WarpActivity::Ended;
        }
        let waits = &self.warps[warp as usize].waits;
        let last = waits[..waits.partition_point(|(at, _)| *at <= step)].last();
        let waiting = last.filter(|(since, id)| {
            let released = self.releases.iter().any(|(at, own)| own == id && (*since..=step).contains(at));
            let goes_on = self.own_step(warp, step).is_some_and(|own| self.warps[warp as usize].steps[own] > *since);
            !released && !goes_on
        });
        waiting.map_or(WarpActivity::Runs, |(_, id)| WarpActivity::Waits(*id))
    }

    /// The activity of the warps over the steps: of each warp, so many columns, each with the mean number of lanes of
    /// its steps there, and 0 where it has none.
    pub(crate) fn overview(&self, columns: usize) -> Vec<u32> {
        let columns = columns.clamp(1, 4096);
        let mut all = vec![(0_u32, 0_u32); self.warps.len() * columns];
        let count = self.steps.len().max(1);
        for (number, step) in self.steps.iter().enumerate() {
            // A few steps are drawn wider than a column.
            let from = number * columns / count;
            let to = ((number + 1) * columns / count).max(from + 1);
            for cell in &mut all[step.warp as usize * columns..][from..to.min(columns)] {
                cell.0 += step.active.count_ones();
                cell.1 += 1;
            }
        }
        all.into_iter().map(|(lanes, steps)| lanes.checked_div(steps).unwrap_or(0)).collect()
    }
}

impl Access {
    /// As observers are told of it.
    pub(crate) fn told(&self) -> simt::observe::Access<'_> {
        let Self { space, kind, bytes, mask, rank, ref addresses, .. } = *self;
        simt::observe::Access {
            space,
            kind,
            bytes,
            mask,
            rank,
            stored: StoredValues::default(),
            addresses,
            patterns: None,
        }
    }
}
