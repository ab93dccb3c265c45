//! The trace of one block: every step of its warps, and every change of registers and shared memory.
//!
//! A trace does not store states. Each register of a warp and each word of shared memory has an ordered list of its
//! writes. A binary search finds the last write before a step. Moving backward therefore costs the same as moving
//! forward, and a recorded step takes only a few dozen bytes.

mod history;
mod recorder;
mod search;

use simt::observe::{AccessKind, FramePlace, Path, Reg, Site, Space, StoredValues};

pub(crate) use history::Registers;
pub(crate) use recorder::Recorder;
pub(crate) use search::Target;

/// The maximum number of recorded steps.
pub(crate) const MOST_STEPS: usize = 1 << 20;
/// The maximum number of recorded 4-byte register values.
pub(crate) const MOST_VALUES: usize = 48 << 20;

/// The trace of a block.
#[derive(Default)]
pub(crate) struct Trace {
    /// The index of the block in the grid.
    pub(crate) block: u64,
    pub(crate) threads: u32,
    pub(crate) steps: Vec<Step>,
    pub(crate) warps: Vec<Warp>,
    /// The distinct reconvergence stacks.
    pub(crate) stacks: Vec<Vec<Path>>,
    /// The distinct call frames.
    pub(crate) frames: Vec<FramePlace>,
    /// The requests to memory, in the order of their steps.
    pub(crate) accesses: Vec<Access>,
    /// For each word of shared memory, the steps that changed the word and the new values.
    shared: Vec<Vec<(u32, u32)>>,
    /// The steps at which threads were released from a barrier, each with the barrier's number.
    releases: Vec<(u32, u32)>,
    /// The registers that each executed instruction reads and writes, by function and program counter.
    uses: Vec<Vec<Option<Uses>>>,
    /// Whether the recording ended before the block ended.
    pub(crate) is_cut: bool,
}

/// One instruction of one warp.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    pub(crate) site: Site,
    pub(crate) warp: u32,
    /// The lanes that reached the instruction.
    pub(crate) active: u32,
    /// The lanes that executed the instruction, because its guard was true.
    pub(crate) lanes: u32,
    /// The index in [`Trace::stacks`] of the reconvergence stack before the step.
    pub(crate) stack: u32,
    /// The index of the frame in [`Trace::frames`].
    pub(crate) frame: u32,
}

/// The trace of a warp.
#[derive(Default)]
pub(crate) struct Warp {
    /// The numbers of the warp's steps.
    pub(crate) steps: Vec<u32>,
    pub(crate) registers: Registers,
    /// The steps after which lanes exited, each with the mask of these lanes.
    exits: Vec<(u32, u32)>,
    /// The steps after which lanes waited at a barrier, each with the barrier's number.
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

/// The activity of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WarpActivity {
    /// The warp has not started.
    Nothing,
    Runs,
    /// The warp waits at this barrier of the block.
    Waits(u32),
    Ended,
}

impl Trace {
    pub(crate) fn shared_bytes(&self) -> u64 {
        self.shared.len() as u64 * 4
    }

    /// Returns the words of shared memory after a step.
    pub(crate) fn shared_at(&self, step: u32) -> impl Iterator<Item = u32> {
        self.shared.iter().map(move |changes| {
            let before = changes.partition_point(|(at, _)| *at <= step);
            before.checked_sub(1).map_or(0, |last| changes[last].1)
        })
    }

    /// Returns the requests of a step.
    pub(crate) fn accesses_of(&self, step: u32) -> &[Access] {
        let first = self.accesses.partition_point(|access| access.step < step);
        let count = self.accesses[first..].partition_point(|access| access.step == step);
        &self.accesses[first..first + count]
    }

    /// Returns the registers that the instruction at a site reads and writes, if it was executed.
    pub(crate) fn uses(&self, site: Site) -> Option<&Uses> {
        self.uses.get(site.function as usize)?.get(site.pc as usize)?.as_ref()
    }

    /// Returns the last step of a warp up to `step`, as an index into the warp's steps.
    pub(crate) fn step_index(&self, warp: u32, step: u32) -> Option<usize> {
        let steps = &self.warps.get(warp as usize)?.steps;
        steps.partition_point(|at| *at <= step).checked_sub(1)
    }

    /// Returns the lanes that have exited after a step.
    pub(crate) fn exited(&self, warp: u32, step: u32) -> u32 {
        let exits = &self.warps[warp as usize].exits;
        exits.iter().take_while(|(at, _)| *at <= step).fold(0, |all, (_, lanes)| all | lanes)
    }

    /// Returns the lanes of a warp that have a thread.
    pub(crate) fn threads_of(&self, warp: u32) -> u32 {
        let threads = self.threads.saturating_sub(warp * 32).min(32);
        ((1_u64 << threads) - 1) as u32
    }

    /// Returns the activity of a warp after a step.
    pub(crate) fn activity(&self, warp: u32, step: u32) -> WarpActivity {
        if self.step_index(warp, step).is_none() {
            return WarpActivity::Nothing;
        }
        if self.exited(warp, step) == self.threads_of(warp) {
            return WarpActivity::Ended;
        }
        let waits = &self.warps[warp as usize].waits;
        let last = waits[..waits.partition_point(|(at, _)| *at <= step)].last();
        let waiting = last.filter(|(since, id)| {
            let released =
                self.releases.iter().any(|(at, released_id)| released_id == id && (*since..=step).contains(at));
            let has_continued =
                self.step_index(warp, step).is_some_and(|index| self.warps[warp as usize].steps[index] > *since);
            !released && !has_continued
        });
        waiting.map_or(WarpActivity::Runs, |(_, id)| WarpActivity::Waits(*id))
    }

    /// Returns the activity of the warps over the steps. Each warp has `columns` columns. A column contains the mean
    /// number of active lanes over the warp's steps in that column, or 0 if the warp has no step there.
    pub(crate) fn overview(&self, columns: usize) -> Vec<u32> {
        let columns = columns.clamp(1, 4096);
        let mut all = vec![(0_u32, 0_u32); self.warps.len() * columns];
        let count = self.steps.len().max(1);
        for (number, step) in self.steps.iter().enumerate() {
            // If there are fewer steps than columns, a step covers several columns.
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
    /// Returns the access in the form that observers receive.
    pub(crate) fn as_observed(&self) -> simt::observe::Access<'_> {
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
