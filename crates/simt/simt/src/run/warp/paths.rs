//! Where the lanes of a warp are: divergence and reconvergence.
//!
//! Since Volta, each thread of a warp makes progress on its own (CUDA C++ Programming Guide, "Independent Thread
//! Scheduling"). Lanes that diverge are executed one group after the other, and wait where they reconverge, as long as
//! that gets all of them on. Where a group waits, the next one is executed. The lanes at a reconvergence point go on
//! without the rest only when nothing else can end the wait of the rest: [`give_up_reconvergence`] says when. Groups that
//! were separated like this become one group again where they meet.
//!
//! [`give_up_reconvergence`]: WarpState::give_up_reconvergence

use super::{StackEntry, Status, Wait, WarpState};
use crate::code::{NEVER, Op};
use crate::run::block::LaunchState;

impl WarpState {
    /// The entry on top of the reconvergence stack; there is one while an instruction is executed.
    pub(super) fn top(&mut self) -> &mut StackEntry {
        self.stack.last_mut().expect("the loop runs only while there is an entry")
    }

    /// Diverges: the lanes of `taken` go on at `target`, the other lanes of `mask` behind the branch.
    pub(super) fn branch(&mut self, pc: u32, target: u32, reconverge: u32, mask: u32, taken: u32) {
        self.diverge(reconverge, &[(pc + 1, mask & !taken), (target, taken)]);
    }

    /// Splits the entry on top of the reconvergence stack into groups, each with where it goes on and its lanes. They
    /// go on together at `reconverge`, once each group has arrived there.
    pub(super) fn diverge(&mut self, reconverge: u32, groups: &[(u32, u32)]) {
        let entry = self.top();
        let frame = entry.frame;
        if reconverge == NEVER || entry.reconvergence_pc == reconverge {
            // The lanes reconverge nowhere before they end, or where the entry below reconverges anyway.
            self.stack.pop();
        } else {
            entry.pc = reconverge;
        }
        for (pc, mask) in groups {
            self.stack.push(StackEntry {
                pc: *pc,
                mask: *mask,
                reconvergence_pc: reconverge,
                frame,
                wait: Wait::Nothing,
            });
        }
    }

    /// For each entry, from the top of the stack: its index, and those of its lanes that are at its `pc`.
    pub(super) fn present(&self) -> impl Iterator<Item = (usize, u32)> {
        let mut above = 0;
        self.stack.iter().enumerate().rev().map(move |(index, entry)| {
            let present = entry.mask & !above;
            above |= entry.mask;
            (index, present)
        })
    }

    /// The entries that can be executed, from the top of the stack.
    fn runnable(&self) -> impl Iterator<Item = usize> {
        self.present().filter_map(|(index, present)| {
            let entry = &self.stack[index];
            (present != 0 && present == entry.mask && entry.wait == Wait::Nothing).then_some(index)
        })
    }

    /// The entry nearest to the top where lanes wait for others to reconverge with, and those lanes.
    fn reconverging(&self, accept: impl Fn(&StackEntry) -> bool) -> Option<(usize, u32)> {
        self.present().find(|(index, present)| {
            let entry = &self.stack[*index];
            *present != 0 && *present != entry.mask && accept(entry)
        })
    }

    fn move_to_top(&mut self, index: usize) {
        if index + 1 < self.stack.len() {
            let entry = self.stack.remove(index);
            self.stack.push(entry);
        }
    }

    /// The lanes of `present`, which wait at an entry for others to reconverge with, go on without them.
    fn go_on_alone(&mut self, (index, present): (usize, u32)) {
        let entry = &mut self.stack[index];
        entry.mask &= !present;
        let alone = StackEntry { mask: present, ..*entry };
        self.stack.push(alone);
    }

    /// Moves an entry that can be executed to the top of the stack. Otherwise, says why there is none.
    #[cold]
    pub(super) fn choose(&mut self, launch: &LaunchState<'_>) -> Option<Status> {
        if self.stack.iter().any(|entry| entry.wait == Wait::Lanes) {
            self.meet(launch);
        }
        self.reunite();
        let runnable = self.runnable().next();
        if let Some(index) = runnable {
            self.move_to_top(index);
            return None;
        }
        if self.join_aligned(launch) {
            return Some(Status::Barrier);
        }
        // A GPU's compiler ends lanes where they branch to the end of the kernel. So they are not waited for.
        match self.reconverging(|entry| self.ends(launch, entry)) {
            Some(ending) => {
                self.go_on_alone(ending);
                None
            }
            None => Some(Status::Blocked),
        }
    }

    /// Whether the lanes of an entry have nothing left to execute but the end of their threads.
    fn ends(&self, launch: &LaunchState<'_>, entry: &StackEntry) -> bool {
        let frame = self.frames[entry.frame as usize];
        let code = &launch.program.functions[frame.function as usize].code;
        let mut pc = entry.pc;
        // A chain of jumps to the end is shorter than the code.
        for _ in code {
            let inst = &code[pc as usize];
            pc = match &inst.op {
                _ if inst.guard.is_some() => return false,
                Op::Exit => return true,
                Op::Return => return frame.call.is_none(),
                Op::Nothing => pc + 1,
                Op::Branch { target, .. } => *target,
                _ => return false,
            };
        }
        false
    }

    /// A group of lanes that can be executed takes the place of the one on top; `choose` says which of so many.
    pub(super) fn rotate(&mut self, choose: impl FnOnce(usize) -> usize) {
        if self.stack.len() > 1 {
            let groups: Vec<usize> = self.runnable().collect();
            if !groups.is_empty() {
                self.move_to_top(groups[choose(groups.len())]);
            }
        }
    }

    /// How many groups of lanes can be executed.
    pub(super) fn groups(&self) -> usize {
        self.runnable().count()
    }

    /// Merges groups that can be executed and are at the same instruction of the same call, if lanes have gone on without
    /// the rest. A GPU executes such lanes together, so their next request is one request.
    pub(super) fn reunite(&mut self) {
        if !self.is_separated {
            return;
        }
        let key = |entry: &StackEntry| (entry.pc, entry.frame, entry.reconvergence_pc);
        let mut groups: Vec<usize> = self.runnable().collect();
        while let Some(lower) = groups.pop() {
            let Some(upper) = groups.iter().find(|upper| key(&self.stack[**upper]) == key(&self.stack[lower])) else {
                continue;
            };
            self.stack[*upper].mask |= self.stack[lower].mask;
            self.stack.remove(lower);
            groups.iter_mut().for_each(|index| *index -= 1);
            self.pace.does_not_repeat();
        }
        self.is_separated = self.stack.len() > 1;
    }

    /// Lets lanes go on that wait for others to reconverge with; `false` if there are none.
    ///
    /// The caller must have found that nothing else can end the wait of the others: they wait for these lanes, or try to
    /// take a lock that these lanes may hold.
    pub(in crate::run) fn give_up_reconvergence(&mut self) -> bool {
        let found = self.reconverging(|_| true);
        if let Some(alone) = found {
            if self.at(Wait::Lanes) != 0 {
                self.passed |= alone.1;
            }
            self.go_on_alone(alone);
            self.is_separated = true;
            self.pace.blocked = false;
        }
        found.is_some()
    }
}
