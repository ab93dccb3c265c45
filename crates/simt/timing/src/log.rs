//! The activities of a block's warps over time.

use ptx::ast::Space;
use simt::regs::{ALL, LANES};

/// A span of a warp's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The warp, by its number in its block.
    pub warp: u32,
    /// The first cycle, counted from the start of the block.
    pub from: u64,
    /// The cycle after the last one, counted from the start of the block.
    pub to: u64,
    /// What the warp does.
    pub activity: Activity,
    /// The active lanes of the instruction that is issued or waits.
    pub lanes: u32,
    /// The lanes that have not ended.
    pub alive: u32,
}

/// The activity of a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// The warp issues instructions.
    Issues,
    /// The next instruction waits for global or local memory.
    WaitsForMemory,
    /// The next instruction waits for shared memory.
    WaitsForShared,
    /// The next instruction waits for the result of a conversion or special function, such as an exponential or a
    /// square root.
    WaitsForSpecial,
    /// The next instruction waits for the tensor cores.
    WaitsForProducts,
    /// The next instruction waits for the result of another instruction.
    WaitsForResult,
    /// The warp waits at a barrier of the block, or at a named barrier of some of its warps.
    WaitsAtBarrier,
    /// The warp waits at an mbarrier, for a copy or for other warps.
    WaitsAtMbarrier,
}

/// Records the spans of a block.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    block: u64,
    /// Whether that block is running.
    pub(crate) is_on: bool,
    pub(crate) spans: Vec<Span>,
    warps: Vec<WarpLog>,
    /// The activity of waiting for the last issued memory instruction.
    reads: Activity,
}

#[derive(Debug, Clone)]
struct WarpLog {
    /// The index of the warp's last span.
    last: Option<usize>,
    alive: u32,
    /// For each register, the activity of an instruction that waits for it.
    produced: Vec<Activity>,
}

impl Log {
    pub(crate) fn new(block: u64) -> Self {
        Self { block, is_on: false, spans: Vec::new(), warps: Vec::new(), reads: Activity::WaitsForMemory }
    }

    pub(crate) fn fork(&self) -> Self {
        Self::new(self.block)
    }

    pub(crate) fn block(&mut self, block: u64, threads: u32, warps: u32, registers: usize) {
        self.is_on = block == self.block;
        if !self.is_on {
            return;
        }
        let warp = |number: u32| {
            let lanes = threads.saturating_sub(number * LANES as u32).min(LANES as u32);
            let alive = ALL.checked_shr(LANES as u32 - lanes).unwrap_or(0);
            WarpLog { last: None, alive, produced: vec![Activity::WaitsForResult; registers] }
        };
        self.warps = (0..warps).map(warp).collect();
    }

    /// Records that the last issued memory instruction accesses this space.
    pub(crate) fn accessed(&mut self, space: Space) {
        self.reads = match space {
            Space::Shared => Activity::WaitsForShared,
            Space::Global | Space::Local => Activity::WaitsForMemory,
            _ => Activity::WaitsForResult,
        };
    }

    /// Records that the last issued memory instruction writes the registers.
    pub(crate) fn memory_comes(&mut self, warp: usize, registers: &[u32]) {
        registers.iter().for_each(|register| self.warps[warp].produced[*register as usize] = self.reads);
    }

    /// Records that another instruction writes the registers. `waits` is the activity of an instruction that waits for
    /// them.
    pub(crate) fn computed(&mut self, warp: usize, registers: &[u32], waits: Activity) {
        registers.iter().for_each(|register| self.warps[warp].produced[*register as usize] = waits);
    }

    /// Returns the activity of an instruction that waits for the register.
    pub(crate) fn produced(&self, warp: usize, register: u32) -> Activity {
        self.warps[warp].produced[register as usize]
    }

    /// Records that an instruction waits from the first of three times to the second, and is issued from the second to
    /// the third.
    pub(crate) fn issued(&mut self, warp: usize, lanes: u32, (from, begins, ends): (u64, u64, u64), waits: Activity) {
        self.add(warp, lanes, (from, begins), waits);
        self.add(warp, lanes, (begins, ends), Activity::Issues);
    }

    /// Records that the warp waited at a barrier or an mbarrier.
    pub(crate) fn waited(&mut self, warp: usize, times: (u64, u64), at: Activity) {
        let alive = self.warps[warp].alive;
        self.add(warp, alive, times, at);
    }

    pub(crate) fn exited(&mut self, warp: usize, lanes: u32) {
        self.warps[warp].alive &= !lanes;
    }

    fn add(&mut self, warp: usize, lanes: u32, (from, to): (u64, u64), activity: Activity) {
        let log = &mut self.warps[warp];
        // A warp that tests an mbarrier too early continues at the last arrival, which may be before the end of its
        // last test.
        let from = log.last.map_or(from, |last| from.max(self.spans[last].to));
        if from >= to {
            return;
        }
        let span = Span { warp: warp as u32, from, to, activity, lanes, alive: log.alive };
        if let Some(last) = log.last.map(|last| &mut self.spans[last])
            && (Span { from: last.from, to, ..span }) == (Span { to, ..*last })
        {
            last.to = to;
            return;
        }
        log.last = Some(self.spans.len());
        self.spans.push(span);
    }
}
