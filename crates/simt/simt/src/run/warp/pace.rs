//! The progress of a warp: a warp may repeat the same instructions until another warp changes memory that it reads.

use super::{StackEntry, Wait, WarpState};
use crate::code::{Callee, Op};
use crate::memory::Stored;
use crate::regs::{Lanes32, Lanes64};
use crate::run::block::LaunchState;

/// A warp that executes this number of instructions without waiting is checked for repetition. Further checks follow
/// each time the number of instructions has doubled.
const CHECK_AFTER: u64 = 1 << 14;
/// The number of instructions before the first check if another warp of the launch has repeated itself. If one of
/// several warps that wait for each other repeats itself, the others often do too.
const CHECK_SOON: u64 = 1 << 10;
/// The number of instructions before the first check if the warp itself has repeated itself before.
const CHECK_AT_ONCE: u64 = 1 << 8;
/// The number of instructions that a diverged warp executes without a wait before lanes at a reconvergence point
/// continue without the other lanes. This limit is needed because the other lanes may not repeat themselves exactly,
/// for example if they count their attempts.
const PATIENCE: u64 = 1 << 18;
/// The number that replaces `PATIENCE` once lanes have continued without the other lanes.
const LESS_PATIENCE: u64 = 1 << 12;

/// The progress of a warp.
#[derive(Debug)]
pub(in crate::run) struct Pace {
    /// Whether all lanes of the warp wait for a barrier or for each other.
    pub(in crate::run) blocked: bool,
    /// Whether all groups of lanes of the warp repeat themselves.
    pub(in crate::run) spins: bool,
    /// The number of groups of lanes, checked one after another, that were found to repeat themselves.
    repeating: usize,
    /// Whether one of these groups tries to change memory, for example to take a lock.
    tries: bool,
    /// The number of instructions since the warp last waited.
    executed: u64,
    /// The number of instructions at which the warp is next checked for repetition, and the number for the first check
    /// after a wait.
    check_at: u64,
    check_interval: u64,
    /// The number of instructions after which lanes give up reconvergence.
    patience: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            blocked: false,
            spins: false,
            repeating: 0,
            tries: false,
            executed: 0,
            check_at: CHECK_AFTER,
            check_interval: CHECK_AFTER,
            patience: PATIENCE,
        }
    }
}

impl Pace {
    /// Starts a block. Keeps the limits that the previous block adjusted.
    pub(super) fn begin(&mut self) {
        self.blocked = false;
        self.restart();
    }

    /// Starts counting again after the warp has waited.
    pub(in crate::run) fn restart(&mut self) {
        self.clear_repetition();
        self.executed = 0;
        self.check_at = self.check_interval;
    }

    pub(in crate::run) fn clear_repetition(&mut self) {
        self.spins = false;
        self.repeating = 0;
        self.tries = false;
    }

    /// Returns whether the group of lanes that was checked last repeats itself.
    pub(in crate::run) fn is_repeating(&self) -> bool {
        self.repeating > 0
    }

    /// Makes the first check of the warp earlier, because another warp of the launch has repeated itself.
    #[inline]
    pub(in crate::run) fn check_sooner(&mut self) {
        if self.check_interval > CHECK_SOON {
            self.check_interval = CHECK_SOON;
            self.check_at = self.check_at.min(CHECK_SOON);
        }
    }

    /// Returns the number of instructions of a turn, at most `turn`.
    pub(in crate::run) fn turn(&self, turn: u32) -> u32 {
        turn.min(self.check_interval as u32)
    }
}

/// The registers, the local memory and the position of a warp.
#[derive(Debug, Default)]
pub(in crate::run) struct Snapshot {
    pub(super) stack: Vec<StackEntry>,
    pub(super) r32: Vec<Lanes32>,
    pub(super) r64: Vec<Lanes64>,
    pub(super) preds: Vec<u32>,
    pub(super) local: Vec<u32>,
}

impl WarpState {
    /// Ends a turn of `executed` instructions. Returns whether the warp should be checked for repetition. `group`
    /// receives the number of groups of lanes that can be executed, and returns the index of the next group.
    pub(in crate::run) fn end_turn(&mut self, executed: u32, group: impl FnOnce(usize) -> usize) -> bool {
        let pace = &mut self.pace;
        pace.executed += u64::from(executed);
        if pace.executed >= pace.check_at {
            pace.check_at = pace.executed * 2;
            return true;
        }
        if pace.executed >= pace.patience && self.stack.len() > 1 {
            self.give_up_reconvergence();
            self.pace.restart();
            self.pace.patience = LESS_PATIENCE;
        }
        self.reunite();
        self.rotate(group);
        false
    }

    /// Saves the warp's state in `snapshot`. Returns `false` if the host has no memory for the state.
    #[must_use]
    pub(in crate::run) fn note(&self, launch: &LaunchState<'_>, snapshot: &mut Snapshot) -> bool {
        fn note<T: Copy>(values: &[T], noted: &mut Vec<T>) -> bool {
            noted.clear();
            let has_memory = noted.try_reserve(values.len()).is_ok();
            if has_memory {
                noted.extend_from_slice(values);
            }
            has_memory
        }
        let (r32, r64, preds) = self.rows(launch);
        note(&self.stack, &mut snapshot.stack)
            && note(r32, &mut snapshot.r32)
            && note(r64, &mut snapshot.r64)
            && note(preds, &mut snapshot.preds)
            && note(self.local.all(), &mut snapshot.local)
    }

    /// Returns the locations that the next instruction stores to, in memory that other lanes can read. Returns `None`
    /// if the warp waits, or if the instruction changes state that is not compared. A store can make a warp's rounds
    /// differ even if its registers repeat, for example if the warp keeps a counter in memory.
    pub(in crate::run) fn stores_next(&mut self, launch: &LaunchState<'_>) -> Option<Stored> {
        while let Some(entry) = self.stack.last().copied() {
            if entry.mask != 0 && entry.wait != Wait::Nothing {
                return None;
            }
            if entry.mask != 0 && entry.pc != entry.reconvergence_pc {
                let site = self.site_of(&entry);
                let inst = launch.inst(site);
                let regs = self.regs(entry.frame);
                return match &inst.op {
                    Op::Memory(op) => Some(op.stores(&regs, regs.guarded(inst.guard, entry.mask))),
                    Op::Call(call) if matches!(call.callee, Callee::Runtime(_)) => None,
                    _ => Some(Stored::default()),
                };
            }
            self.pop();
        }
        Some(Stored::default())
    }

    /// Restarts a spinning warp after a change that it may have waited for.
    pub(in crate::run) fn wake(&mut self) {
        if self.pace.spins {
            self.pace.restart();
        }
    }

    /// Returns the registers of the current frame and of its callers.
    pub(super) fn rows(&self, launch: &LaunchState<'_>) -> (&[Lanes32], &[Lanes64], &[u32]) {
        let number = self.stack.last().map_or(0, |entry| entry.frame);
        let Some(frame) = self.frames.get(number as usize) else {
            return (&[], &[], &[]);
        };
        let func = &launch.program.functions[frame.function as usize];
        (
            &self.r32[..frame.r32 + func.r32 as usize],
            &self.r64[..frame.r64 + func.r64 as usize],
            &self.preds[..frame.preds + func.preds as usize],
        )
    }

    /// Records that the top group of lanes repeats itself, and selects another group. If all groups repeat themselves,
    /// the warp [spins](Pace::spins).
    ///
    /// A group that only reads may wait for another block, so the lanes at its reconvergence point keep waiting. These
    /// lanes continue if a group `tries` to change memory, because they may hold the lock that the group tries to take.
    /// They also continue if `alone` is true, which means that nothing else in the launch makes progress.
    pub(in crate::run) fn record_repetition(&mut self, tries: bool, alone: bool) {
        self.pace.check_interval = CHECK_AT_ONCE;
        // The next group is checked after its first turn.
        self.pace.check_at = 0;
        self.pace.repeating += 1;
        self.pace.tries |= tries;
        if self.pace.repeating >= self.groups() {
            if (self.pace.tries || alone) && self.give_up_reconvergence() {
                self.pace.restart();
                return;
            }
            self.pace.repeating = 0;
            self.pace.spins = true;
        }
        self.rotate(|groups| groups - 1);
    }
}
