//! The positions of a warp's lanes: divergence and reconvergence.
//!
//! Since Volta, each thread of a warp makes progress independently (CUDA C++ Programming Guide, "Independent Thread
//! Scheduling"). Groups of diverged lanes are executed one after the other. Groups wait for each other where they
//! reconverge, as long as all lanes can make progress. When a group waits, the next group is executed. Lanes at a
//! reconvergence point continue without the rest of their warp only if the rest waits and nothing else can end that
//! wait: see [`give_up_reconvergence`]. Groups that were separated in this way merge again where they meet.
//!
//! [`give_up_reconvergence`]: WarpState::give_up_reconvergence

use super::{StackEntry, Status, Wait, WarpState};
use crate::code::{NEVER, Op};
use crate::run::block::LaunchState;

impl WarpState {
    /// Returns the top entry of the reconvergence stack. While an instruction is executed, the stack is not empty.
    pub(super) fn top(&mut self) -> &mut StackEntry {
        self.stack.last_mut().expect("the loop runs only while there is an entry")
    }

    /// Diverges: the lanes of `taken` continue at `target`, and the other lanes of `mask` continue after the branch.
    pub(super) fn branch(&mut self, pc: u32, target: u32, reconverge: u32, mask: u32, taken: u32) {
        self.diverge(reconverge, &[(pc + 1, mask & !taken), (target, taken)]);
    }

    /// Splits the top entry of the reconvergence stack into groups, each given as an address and its lanes. The groups
    /// continue together at `reconverge`, once each group has arrived there.
    pub(super) fn diverge(&mut self, reconverge: u32, groups: &[(u32, u32)]) {
        let entry = self.top();
        let frame = entry.frame;
        if reconverge == NEVER || entry.reconvergence_pc == reconverge {
            // The lanes do not reconverge before they end, or they reconverge at this entry's reconvergence point,
            // where the next lower entry continues.
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

    /// Returns the index of each entry, from the top of the stack, and the lanes of the entry that are at its `pc`.
    pub(super) fn present(&self) -> impl Iterator<Item = (usize, u32)> {
        let mut covered = 0;
        self.stack.iter().enumerate().rev().map(move |(index, entry)| {
            let present = entry.mask & !covered;
            covered |= entry.mask;
            (index, present)
        })
    }

    /// Returns the indices of the entries that can be executed, from the top of the stack.
    fn runnable(&self) -> impl Iterator<Item = usize> {
        self.present().filter_map(|(index, present)| {
            let entry = &self.stack[index];
            (present != 0 && present == entry.mask && entry.wait == Wait::Nothing).then_some(index)
        })
    }

    /// Returns the topmost entry that satisfies `accept` and at which lanes wait to reconverge with other lanes. Also
    /// returns these waiting lanes.
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

    /// Splits off the lanes of `present`, which wait at an entry to reconverge with other lanes. The lanes of `present`
    /// then continue without the other lanes.
    fn split_off(&mut self, (index, present): (usize, u32)) {
        let entry = &mut self.stack[index];
        entry.mask &= !present;
        let alone = StackEntry { mask: present, ..*entry };
        self.stack.push(alone);
    }

    /// Moves an entry that can be executed to the top of the stack. If there is no such entry, returns the reason.
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
        // A GPU's compiler makes lanes exit at their branch to the end of the kernel, so other lanes do not wait for
        // them.
        match self.reconverging(|entry| self.ends(launch, entry)) {
            Some(ending) => {
                self.split_off(ending);
                None
            }
            None => Some(Status::Blocked),
        }
    }

    /// Returns whether the lanes of an entry only need to end their threads.
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

    /// Moves another group of lanes that can be executed to the top. `choose` receives the number of such groups and
    /// returns the index of one.
    pub(super) fn rotate(&mut self, choose: impl FnOnce(usize) -> usize) {
        if self.stack.len() > 1 {
            let groups: Vec<usize> = self.runnable().collect();
            if !groups.is_empty() {
                self.move_to_top(groups[choose(groups.len())]);
            }
        }
    }

    /// Returns the number of groups of lanes that can be executed.
    pub(super) fn groups(&self) -> usize {
        self.runnable().count()
    }

    /// Merges groups that can be executed and are at the same instruction of the same call, if lanes have continued
    /// without the rest of their warp. A GPU executes such lanes together, so their next access is a single request.
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
            self.pace.clear_repetition();
        }
        self.is_separated = self.stack.len() > 1;
    }

    /// Lets lanes that wait at their reconvergence point continue without the lanes that they wait for. Returns `false`
    /// if no lanes wait.
    ///
    /// Before the call, the caller must have found that nothing else can end the wait of the other lanes. The other
    /// lanes wait for these lanes, or try to take a lock that these lanes may hold.
    pub(in crate::run) fn give_up_reconvergence(&mut self) -> bool {
        let found = self.reconverging(|_| true);
        if let Some(waiting) = found {
            if self.at(Wait::Lanes) != 0 {
                self.passed |= waiting.1;
            }
            self.split_off(waiting);
            self.is_separated = true;
            self.pace.blocked = false;
        }
        found.is_some()
    }
}
