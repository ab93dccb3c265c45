//! The loop that executes a warp's instructions.

use std::time::Instant;

use super::{Arrival, Frame, StackEntry, Status, Votes, WarpState};
use crate::code::{Barrier, Inst, NEVER, Op, R32, Reg};
use crate::memory::{AccessFault, Env, Recent, SharedMemory};
use crate::observe::{Observer, Site, WarpId};
use crate::regs::{ALL, LANES, Regs, lanes};
use crate::run::block::{BlockFault, LaunchState};
use crate::run::fault::FaultKind;
use crate::warp::AbsentLanes;

/// Why the loop stops executing instructions one after the other.
enum Pause {
    /// The lanes have reached the program counter where they reconverge with others.
    Reconverged,
    /// The warp's turn is over.
    Yield,
    /// The branch diverges: the lanes of the mask jump, the others do not.
    Diverge {
        target: u32,
        reconverge: u32,
        taken: u32,
    },
    /// An instruction that changes more than registers and memory, with the lanes that execute it.
    Other(u32),
}

/// Where a warp continues after an instruction.
enum Next {
    Go,
    Stop(Status),
    /// Lanes jumped to different targets; those of the mask to the same one.
    Diverged(u32),
}

impl WarpState {
    /// Executes until the warp ends, waits, or its turn is over.
    pub(in crate::run) fn run<'m, O: Observer>(
        &mut self,
        launch: &LaunchState<'m>,
        shared: &mut SharedMemory,
        recent: &mut Recent<'m>,
        observer: &mut O,
        warp_id: WarpId,
        turn: &mut u32,
    ) -> Result<Status, BlockFault> {
        let simd = launch.simd;
        // Addresses of memory instructions.
        let mut at = [0; LANES];
        loop {
            let Some(frame) = self.frames.last().copied() else {
                return Ok(Status::Ended);
            };
            let Some(entry) = self.stack[frame.stack..].last().copied() else {
                self.leave(launch);
                continue;
            };
            let StackEntry {
                mut pc,
                mask,
                reconvergence_pc,
            } = entry;
            if mask == 0 {
                self.stack.pop();
                continue;
            }
            let code = &launch.program.functions[frame.function as usize].code[..];
            let site = |pc| Site {
                function: frame.function,
                pc,
            };
            let mut env = Env {
                regs: Regs {
                    r32: &mut self.r32[frame.r32..],
                    r64: &mut self.r64[frame.r64..],
                    preds: &mut self.preds[frame.preds..],
                },
                shared,
                local: &mut self.local,
                params: launch.params,
                constants: &launch.program.constants,
                global: launch.global,
                recent,
            };
            let mut left = *turn;
            let pause = loop {
                if pc == reconvergence_pc {
                    break Pause::Reconverged;
                }
                if left == 0 {
                    break Pause::Yield;
                }
                let here = site(pc);
                let inst = &code[pc as usize];
                let alike = match inst.op {
                    Op::Alu(_) => true,
                    Op::Memory(_) => !O::WATCHES,
                    _ => false,
                };
                if alike {
                    // Runs up to the reconvergence point of these lanes, or to the end of the function.
                    let end = if reconvergence_pc > pc && reconvergence_pc != NEVER {
                        reconvergence_pc as usize
                    } else {
                        code.len()
                    };
                    let code = &code[pc as usize..end];
                    let count = if O::WATCHES {
                        (simd.run_alu)(code, &mut env.regs, mask)
                    } else {
                        (simd.run_unobserved)(code, &mut env, mask, &mut at)
                    } as u32;
                    observer.executed(here, count, mask);
                    pc += count;
                    left = left.saturating_sub(count);
                    if count > 0 {
                        continue;
                    }
                }
                left -= 1;
                observer.executed(here, 1, mask);
                let active = env.regs.guarded(inst.guard, mask);
                match &inst.op {
                    Op::Memory(op) => {
                        pc += 1;
                        if active != 0 {
                            simd.run_memory(op, &mut env, active, &mut at, |access| {
                                observer.access(here, warp_id, access);
                            })
                            .map_err(|fault| bad_access(here, warp_id, fault))?;
                        }
                    }
                    Op::Warp(op) => {
                        pc += 1;
                        if active != 0 {
                            op.execute(&mut env.regs, active)
                                .map_err(|absent| absent_lanes(here, warp_id, &absent))?;
                        }
                    }
                    Op::Branch { target, reconverge } => {
                        observer.branch(here, mask, active);
                        if active == mask {
                            pc = *target;
                        } else if active == 0 {
                            pc += 1;
                        } else {
                            break Pause::Diverge {
                                target: *target,
                                reconverge: *reconverge,
                                taken: active,
                            };
                        }
                    }
                    Op::Nothing => pc += 1,
                    _ => break Pause::Other(active),
                }
            };
            *turn = left;
            self.top().pc = pc;
            match pause {
                Pause::Reconverged => {
                    self.stack.pop();
                }
                Pause::Yield => return Ok(Status::Yielded),
                Pause::Diverge {
                    target,
                    reconverge,
                    taken,
                } => self.branch(pc, target, reconverge, mask, taken),
                Pause::Other(active) => {
                    let inst = &code[pc as usize];
                    match self.other(launch, &frame, site(pc), inst, mask, active)? {
                        Next::Go => {}
                        Next::Stop(status) => return Ok(status),
                        Next::Diverged(together) => observer.branch(site(pc), mask, together),
                    }
                }
            }
        }
    }

    /// Executes an instruction that changes more than registers and memory.
    #[inline(never)]
    fn other(
        &mut self,
        launch: &LaunchState<'_>,
        frame: &Frame,
        site: Site,
        inst: &Inst,
        mask: u32,
        active: u32,
    ) -> Result<Next, BlockFault> {
        if let Op::BranchIndexed {
            index,
            targets,
            reconverge,
        } = &inst.op
        {
            return self
                .branch_indexed(site, *index, targets, *reconverge, mask, active)
                .map(Next::Diverged);
        }
        self.top().pc = site.pc + 1;
        if active == 0 {
            return Ok(Next::Go);
        }
        let thread = self.number * LANES as u32 + active.trailing_zeros();
        match &inst.op {
            Op::Call(call) => {
                if !self.call(launch, site.pc, call, active) {
                    return Err(BlockFault::new(site, thread, FaultKind::StackOverflow));
                }
            }
            Op::Return => {
                for entry in &mut self.stack[frame.stack..] {
                    entry.mask &= !active;
                }
                if self.frames.len() == 1 {
                    self.ended |= active;
                }
            }
            Op::Exit => {
                for entry in &mut self.stack {
                    entry.mask &= !active;
                }
                self.ended |= active;
            }
            Op::Trap => return Err(BlockFault::new(site, thread, FaultKind::Trap)),
            Op::Barrier(barrier) => {
                let elsewhere = self.alive() & !active;
                if elsewhere != 0 {
                    let kind = FaultKind::DivergentBarrier {
                        here: active,
                        elsewhere,
                    };
                    return Err(BlockFault::new(site, thread, kind));
                }
                self.arrive(site, barrier, active);
                return Ok(Next::Stop(Status::Barrier));
            }
            Op::Clock { to, high } => self.clock(*to, *high, active),
            Op::Alu(_)
            | Op::Memory(_)
            | Op::Warp(_)
            | Op::Branch { .. }
            | Op::BranchIndexed { .. }
            | Op::Nothing => unreachable!("executed before"),
        }
        Ok(Next::Go)
    }

    /// The entry on top of the reconvergence stack; there is one while an instruction is executed.
    fn top(&mut self) -> &mut StackEntry {
        self.stack
            .last_mut()
            .expect("the loop runs only while there is an entry")
    }

    /// Diverges: the lanes of `taken` go on at `target`, the other lanes of `mask` behind the branch.
    fn branch(&mut self, pc: u32, target: u32, reconverge: u32, mask: u32, taken: u32) {
        self.diverge(reconverge);
        for (pc, mask) in [(pc + 1, mask & !taken), (target, taken)] {
            self.push(pc, mask, reconverge);
        }
    }

    fn push(&mut self, pc: u32, mask: u32, reconvergence_pc: u32) {
        self.stack.push(StackEntry {
            pc,
            mask,
            reconvergence_pc,
        });
    }

    /// Splits the entry on top of the reconvergence stack: its lanes go on together at `reconverge`, once each group
    /// of them has arrived there.
    fn diverge(&mut self, reconverge: u32) {
        let entry = self.top();
        if reconverge == NEVER || entry.reconvergence_pc == reconverge {
            // The lanes reconverge nowhere before they end, or where the entry below reconverges anyway.
            self.stack.pop();
        } else {
            entry.pc = reconverge;
        }
    }

    /// Returns the lanes that jump to one of the targets: all, if they stay together.
    fn branch_indexed(
        &mut self,
        site: Site,
        index: R32,
        targets: &[u32],
        reconverge: u32,
        mask: u32,
        active: u32,
    ) -> Result<u32, BlockFault> {
        let indices = *self.regs().get32(index);
        for lane in lanes(active) {
            if indices[lane] as usize >= targets.len() {
                let kind = FaultKind::BadIndex {
                    index: indices[lane],
                    targets: targets.len() as u32,
                };
                let thread = self.number * LANES as u32 + lane as u32;
                return Err(BlockFault::new(site, thread, kind));
            }
        }
        // One entry for each target that a lane takes, and one for the lanes that the guard holds back.
        let mut groups: Vec<(u32, u32)> = Vec::new();
        if mask & !active != 0 {
            groups.push((site.pc + 1, mask & !active));
        }
        for lane in lanes(active) {
            let target = targets[indices[lane] as usize];
            match groups.iter_mut().find(|(pc, _)| *pc == target) {
                Some((_, lanes)) => *lanes |= 1 << lane,
                None => groups.push((target, 1 << lane)),
            }
        }
        if let [(pc, _)] = groups[..] {
            self.top().pc = pc;
            return Ok(mask);
        }
        self.diverge(reconverge);
        let together = groups.first().map_or(0, |(_, lanes)| *lanes);
        for (pc, mask) in groups {
            self.push(pc, mask, reconverge);
        }
        Ok(together)
    }

    fn arrive(&mut self, site: Site, barrier: &Barrier, active: u32) {
        let lane = active.trailing_zeros() as usize;
        let regs = self.regs();
        let arrival = Arrival {
            site,
            id: regs.get32(barrier.id)[lane],
            count: barrier.count.map(|count| regs.get32(count)[lane]),
            waits: barrier.waits,
            votes: barrier.reduce.as_ref().map(|reduce| {
                let yes = regs.pred(reduce.value) ^ if reduce.negated { ALL } else { 0 };
                Votes {
                    lanes: active,
                    yes: yes & active,
                }
            }),
        };
        self.reduction = barrier.reduce.as_ref().map(|reduce| (reduce.op, reduce.to));
        self.arrival = Some(arrival);
    }

    fn clock(&mut self, to: Reg, high: bool, mask: u32) {
        use std::sync::OnceLock;
        static START: OnceLock<Instant> = OnceLock::new();
        // A cycle is a nanosecond here. A kernel may rely only on the clock never going back.
        let now = START.get_or_init(Instant::now).elapsed().as_nanos() as u64;
        let now = if high { now >> 32 } else { now };
        let mut regs = self.regs();
        match to {
            Reg::R32(to) => regs.set32(to, mask, &[now as u32; LANES]),
            Reg::R64(to) => regs.set64(to, mask, &[now; LANES]),
            Reg::Pred(_) => {}
        }
    }
}

#[cold]
fn bad_access(site: Site, warp_id: WarpId, access: AccessFault) -> BlockFault {
    let near = String::new();
    let thread = warp_id.warp * LANES as u32 + access.lane;
    BlockFault::new(site, thread, FaultKind::Access { access, near })
}

#[cold]
fn absent_lanes(site: Site, warp_id: WarpId, absent: &AbsentLanes) -> BlockFault {
    let lanes = absent.lanes;
    let thread = warp_id.warp * LANES as u32 + absent.lane;
    BlockFault::new(site, thread, FaultKind::AbsentLanes { lanes })
}
