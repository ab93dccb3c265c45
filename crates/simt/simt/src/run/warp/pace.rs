//! Whether a warp gets on: it may repeat the same instructions until somebody changes what they read.

use super::{StackEntry, Wait, WarpState};
use crate::code::{Callee, Op};
use crate::memory::Stored;
use crate::regs::{Lanes32, Lanes64};
use crate::run::block::LaunchState;

/// Instructions that a warp executes without waiting before it is looked at whether it repeats itself; after that, at each
/// doubling.
const LOOK: u64 = 1 << 14;
/// The same, where another warp of the launch has repeated itself: warps that wait for each other often all do.
const LOOK_SOON: u64 = 1 << 10;
/// The same, where it has repeated itself before.
const LOOK_AT_ONCE: u64 = 1 << 8;
/// Instructions that a diverged warp executes so before lanes that wait for others to reconverge with go on without
/// them, although the others do not repeat themselves exactly: they may count their attempts.
const PATIENCE: u64 = 1 << 18;
/// The same, where that has happened before.
const LESS_PATIENCE: u64 = 1 << 12;

/// How a warp gets on.
#[derive(Debug)]
pub(in crate::run) struct Pace {
    /// Whether all of its lanes wait for a barrier or for each other.
    pub(in crate::run) blocked: bool,
    /// Whether all groups of its lanes repeat themselves.
    pub(in crate::run) spins: bool,
    /// Groups of lanes that were found to repeat themselves, one after the other.
    repeating: usize,
    /// Whether one of these groups tries to change memory, as to take a lock.
    tries: bool,
    /// Instructions since it last waited.
    executed: u64,
    /// How many of them make it worth looking whether it repeats itself: now, and at first.
    look_at: u64,
    look: u64,
    /// How many of them make lanes give up reconvergence.
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
            look_at: LOOK,
            look: LOOK,
            patience: PATIENCE,
        }
    }
}

impl Pace {
    /// The block begins. What was learned from the one before is kept.
    pub(super) fn begin(&mut self) {
        self.blocked = false;
        self.gets_on();
    }

    /// The warp has waited, and goes on.
    pub(in crate::run) fn gets_on(&mut self) {
        self.does_not_repeat();
        self.executed = 0;
        self.look_at = self.look;
    }

    pub(in crate::run) fn does_not_repeat(&mut self) {
        self.spins = false;
        self.repeating = 0;
        self.tries = false;
    }

    /// Whether the last group of lanes that was looked at repeats itself.
    pub(in crate::run) fn repeats(&self) -> bool {
        self.repeating > 0
    }

    /// Another warp of the launch has repeated itself.
    #[inline]
    pub(in crate::run) fn look_sooner(&mut self) {
        if self.look > LOOK_SOON {
            self.look = LOOK_SOON;
            self.look_at = self.look_at.min(LOOK_SOON);
        }
    }

    /// The length of a turn that would have `turn` instructions.
    pub(in crate::run) fn turn(&self, turn: u32) -> u32 {
        turn.min(self.look as u32)
    }
}

/// The registers and local memory of a warp, and where it is.
#[derive(Debug, Default)]
pub(in crate::run) struct Snapshot {
    pub(super) stack: Vec<StackEntry>,
    pub(super) r32: Vec<Lanes32>,
    pub(super) r64: Vec<Lanes64>,
    pub(super) preds: Vec<u32>,
    pub(super) local: Vec<u32>,
}

impl WarpState {
    /// A turn has ended after so many instructions. Returns whether it is worth looking whether the warp repeats itself.
    /// `group` chooses one of so many groups of lanes to be executed next.
    pub(in crate::run) fn end_turn(&mut self, executed: u32, group: impl FnOnce(usize) -> usize) -> bool {
        let pace = &mut self.pace;
        pace.executed += u64::from(executed);
        if pace.executed >= pace.look_at {
            pace.look_at = pace.executed * 2;
            return true;
        }
        if pace.executed >= pace.patience && self.stack.len() > 1 {
            self.give_up_reconvergence();
            self.pace.gets_on();
            self.pace.patience = LESS_PATIENCE;
        }
        self.reunite();
        self.rotate(group);
        false
    }

    /// Notes the warp's state; `false` if the host has no memory for it.
    #[must_use]
    pub(in crate::run) fn note(&self, launch: &LaunchState<'_>, snapshot: &mut Snapshot) -> bool {
        fn note<T: Copy>(values: &[T], noted: &mut Vec<T>) -> bool {
            noted.clear();
            let has_room = noted.try_reserve(values.len()).is_ok();
            if has_room {
                noted.extend_from_slice(values);
            }
            has_room
        }
        let (r32, r64, preds) = self.rows(launch);
        note(&self.stack, &mut snapshot.stack)
            && note(r32, &mut snapshot.r32)
            && note(r64, &mut snapshot.r64)
            && note(preds, &mut snapshot.preds)
            && note(self.local.all(), &mut snapshot.local)
    }

    /// Where the next instruction stores something that others find; `None` if the warp waits, or if what it changes is
    /// not compared. A warp that changes memory has changed more than its registers show: it may count there.
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

    /// Something has changed that the warp may have waited for.
    pub(in crate::run) fn goes_on(&mut self) {
        if self.pace.spins {
            self.pace.gets_on();
        }
    }

    /// The registers of the frame that is executed and of its callers.
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

    /// The group of lanes on top repeats itself: others have their turn. If all groups repeat themselves, the warp
    /// [spins](Pace::spins).
    ///
    /// A group that only reads may wait for another block, so the lanes at its reconvergence point wait on. They go on if
    /// a group `tries` to change memory, because they may hold the lock that the group tries to take, or if nothing else in
    /// the launch gets on, which `alone` says.
    pub(in crate::run) fn repeats(&mut self, tries: bool, alone: bool) {
        self.pace.look = LOOK_AT_ONCE;
        // The next group is looked at after its first turn.
        self.pace.look_at = 0;
        self.pace.repeating += 1;
        self.pace.tries |= tries;
        if self.pace.repeating >= self.groups() {
            if (self.pace.tries || alone) && self.give_up_reconvergence() {
                self.pace.gets_on();
                return;
            }
            self.pace.repeating = 0;
            self.pace.spins = true;
        }
        self.rotate(|groups| groups - 1);
    }
}
