//! The loop that executes a warp's instructions.

use super::runtime::called;
use super::{Frame, StackEntry, Status, Wait, WarpState};
use crate::code::{Callee, Inst, NEVER, Op, R32, Reg};
use crate::matrix::Matrix;
use crate::memory::{AccessFault, Cluster, Env, Memory, Recent, SharedMemory};
use crate::observe::{
    Access, Mistake, Observer, Path, Paths, Places, Registers, Requests, Site, Step, StoredValues, WarpId,
};
use crate::regs::{ALL, LANES, Lanes32, Regs, lanes};
use crate::run::block::{BlockFault, LaunchState};
use crate::run::fault::FaultKind;
use crate::warp::{Named, Warp};

/// The reason why the inner loop stops.
enum Pause {
    /// The lanes have reached their reconvergence point.
    Reconverged,
    /// The warp's turn is over.
    Yield,
    /// The branch diverges: the lanes in `taken` jump, and the remaining lanes do not.
    Diverge { target: u32, reconverge: u32, taken: u32 },
    /// The lanes execute an instruction whose `membermask` also names other lanes.
    Lanes(u32),
    /// The lanes execute an instruction that changes more than registers and memory.
    Other(u32),
}

/// How a warp continues after an instruction.
pub(super) enum Next {
    Go,
    Stop(Status),
    /// Lanes jumped to different targets; the lanes in this mask share one target.
    Diverged(u32),
}

impl WarpState {
    /// Executes instructions until the warp ends or waits, or until its turn is over.
    #[inline(always)]
    pub(in crate::run) fn run<'m, O: Observer>(
        &mut self,
        launch: &LaunchState<'m>,
        (shared, cluster): (&mut SharedMemory, &mut Cluster),
        recent: &mut Recent<'m>,
        observer: &mut O,
        warp_id: WarpId,
        turn: &mut u32,
    ) -> Result<Status, BlockFault> {
        let simd = launch.simd;
        loop {
            let Some(entry) = self.stack.last().copied() else {
                return Ok(Status::Ended);
            };
            let StackEntry { mut pc, mask, reconvergence_pc, .. } = entry;
            if mask == 0 {
                self.pop();
                continue;
            }
            if entry.wait != Wait::Nothing {
                let status = self.choose(launch);
                self.report_meetings(observer, warp_id);
                match status {
                    Some(status) => return Ok(status),
                    None => continue,
                }
            }
            let Frame { function, r32, r64, preds, .. } = self.frames[entry.frame as usize];
            let alive = self.alive();
            let func = &launch.program.functions[function as usize];
            let code = &func.code[..];
            let site = |pc| Site { function, pc };
            let mut env = Env {
                regs: Regs { r32: &mut self.r32[r32..], r64: &mut self.r64[r64..], preds: &mut self.preds[preds..] },
                shared,
                local: &mut self.local,
                params: launch.params,
                constants: launch.constants,
                global: launch.global,
                recent,
                cluster,
                fault: None,
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
                    // Observers with more requests need more information than `run_accesses` reports.
                    Op::Memory(_) => {
                        !O::REQUESTS.has(Requests::CALLS) || O::REQUESTS == Requests::CALLS && !observer.values()
                    }
                    _ => false,
                };
                let steps = O::REQUESTS.has(Requests::STEPS) && observer.steps();
                if steps {
                    observer.step(&Step {
                        site: here,
                        warp_id,
                        active: mask,
                        lanes: env.regs.guarded(inst.guard, mask),
                        registers: Registers::new(&func.register_names, &env.regs),
                        operands: launch.program.operands(here),
                        addresses: match &inst.op {
                            Op::Memory(memory) => memory.address_registers(),
                            _ => Vec::new(),
                        },
                        frame: self.frames[entry.frame as usize].place(),
                        shared: env.shared.bytes(),
                        paths: Paths(&|paths: &mut Vec<Path>| {
                            let entries = self.stack.iter().map(|entry| entry.path(&self.frames));
                            paths.extend(entries);
                            if let Some(top) = paths.last_mut() {
                                top.site = here;
                            }
                        }),
                    });
                }
                if alike {
                    // Runs until the reconvergence point of these lanes or the end of the function.
                    let end = if reconvergence_pc > pc && reconvergence_pc != NEVER {
                        reconvergence_pc as usize
                    } else {
                        code.len()
                    };
                    let most = if steps { 1 } else { left as usize };
                    let end = end.min(pc as usize + most);
                    let code = &code[pc as usize..end];
                    let count = if !O::REQUESTS.has(Requests::CALLS) {
                        (simd.run_unobserved)(code, &mut env, mask, &mut self.at)
                    } else if matches!(inst.op, Op::Memory(_)) {
                        (simd.run_accesses)(code, &mut env, mask, &mut self.at, &mut |count, access| {
                            observer.access(site(pc + count as u32), warp_id, access);
                        })
                    } else {
                        (simd.run_alu)(code, &mut env.regs, mask)
                    } as u32;
                    observer.executed(here, count, mask);
                    pc += count;
                    left -= count;
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
                            match op {
                                Memory::Fence(scope, _) => {
                                    observer.fence(here, warp_id, active, *scope);
                                }
                                Memory::AsyncGroup(_, group, _) => {
                                    observer.async_group(here, warp_id, active, *group);
                                }
                                _ => {}
                            }
                            if O::REQUESTS.has(Requests::CALLS) {
                                env.cluster.site = here;
                            }
                            let mut left = active;
                            while left != 0 {
                                let stored = match op {
                                    Memory::Store(op) if O::REQUESTS.has(Requests::CALLS) && observer.values() => {
                                        op.compare(&mut env, left, &mut self.at)
                                    }
                                    _ => StoredValues::default(),
                                };
                                let done = simd.run_memory(op, &mut env, left, &mut self.at, |access| {
                                    report_access(observer, launch, here, warp_id, &Access { stored, ..*access });
                                });
                                let Err(fault) = done else { break };
                                let lane = 1 << fault.lane;
                                let calls = calls(&self.frames, entry.frame);
                                let fault = match O::REQUESTS.has(Requests::SKIPS) && op.may_be_skipped() {
                                    true => launch.skip(here, warp_id, calls, fault),
                                    false => Err(fault),
                                };
                                fault.map_err(|fault| bad_access(here, warp_id, fault))?;
                                op.poison(&mut env.regs, lane);
                                left &= !lane;
                            }
                            if O::REQUESTS.has(Requests::ASYNCHRONOUS) {
                                for event in env.cluster.mbarrier_events.drain(..) {
                                    observer.mbarrier(here, warp_id, &event);
                                }
                                report_issues(observer, launch, here, warp_id, env.cluster);
                            }
                            if std::mem::take(&mut env.cluster.in_flight.yields) {
                                break Pause::Yield;
                            }
                        }
                    }
                    Op::Warp(op) => {
                        if active != 0 {
                            let Named { missing, unnamed, is_ignored } = op.named(&env.regs, active, alive);
                            if unnamed != 0 && !is_ignored {
                                return Err(unnamed_lanes(here, warp_id, unnamed));
                            }
                            if missing {
                                break Pause::Lanes(active);
                            }
                            if O::REQUESTS.has(Requests::MISTAKES) {
                                if unnamed != 0 {
                                    observer.mistake(here, warp_id, unnamed, &Mistake::UnnamedLanes);
                                }
                                if let Some(mistake) = op.different_masks(&env.regs, active, alive) {
                                    observer.mistake(here, warp_id, active, &mistake);
                                }
                                let absent = op.absent_sources(&env.regs, active, alive);
                                if absent != 0 {
                                    observer.mistake(here, warp_id, absent, &Mistake::AbsentSource);
                                }
                            }
                            op.execute(&mut env.regs, active, alive, None);
                            if op.members().is_some() {
                                observer.synchronized(here, warp_id, active);
                                if O::REQUESTS.has(Requests::CALLS)
                                    && let Warp::Sync { mask } = op
                                {
                                    for lanes in groups(env.regs.get32(*mask), active) {
                                        observer.warp_barrier(here, warp_id, lanes);
                                    }
                                }
                            }
                        }
                        pc += 1;
                    }
                    Op::Matrix(op) => {
                        pc += 1;
                        if active != 0 {
                            if active != ALL {
                                let lanes = !active;
                                let thread = warp_id.warp * LANES as u32 + active.trailing_zeros();
                                let kind = FaultKind::AbsentLanes { lanes };
                                return Err(BlockFault::new(here, thread, kind));
                            }
                            let done = op.execute(&mut env, warp_id.warp, simd.add_product, &mut |access| {
                                report_access(observer, launch, here, warp_id, access);
                            });
                            if let Err(fault) = done {
                                let fault = match O::REQUESTS.has(Requests::SKIPS) && op.may_be_skipped() {
                                    true => launch.skip(here, warp_id, calls(&self.frames, entry.frame), fault),
                                    false => Err(fault),
                                };
                                fault.map_err(|fault| bad_access(here, warp_id, fault))?;
                                op.poison(&mut env.regs);
                            }
                            if let Matrix::Group(group) = &**op {
                                observer.async_group(here, warp_id, active, *group);
                            }
                            if O::REQUESTS.has(Requests::ASYNCHRONOUS) {
                                report_issues(observer, launch, here, warp_id, env.cluster);
                            }
                        }
                    }
                    Op::Branch { target, reconverge } => {
                        observer.branch(here, mask, active);
                        if active == mask {
                            pc = *target;
                        } else if active == 0 {
                            pc += 1;
                        } else {
                            break Pause::Diverge { target: *target, reconverge: *reconverge, taken: active };
                        }
                    }
                    Op::Nothing => pc += 1,
                    _ => break Pause::Other(active),
                }
            };
            *turn = left;
            self.top().pc = pc;
            match pause {
                Pause::Reconverged => self.pop(),
                Pause::Yield => return Ok(Status::Yielded),
                Pause::Diverge { target, reconverge, taken } => self.branch(pc, target, reconverge, mask, taken),
                Pause::Lanes(active) => self.await_lanes(launch, pc, mask, active),
                Pause::Other(active) => {
                    let inst = &code[pc as usize];
                    self.now = launch.clock + cluster.clock - u64::from(left);
                    let next = self.other(launch, shared, site(pc), inst, mask, active)?;
                    if O::REQUESTS.has(Requests::CALLS)
                        && active != 0
                        && let Op::ClusterBarrier { waits, .. } = inst.op
                    {
                        observer.cluster_barrier(site(pc), warp_id, active, waits);
                    }
                    for (address, bytes) in self.allocated.drain(..) {
                        observer.given(address, bytes);
                    }
                    if O::REQUESTS.has(Requests::STEPS)
                        && let Some(change) = self.changed.take()
                    {
                        observer.frames(site(pc), warp_id, active, &change);
                    }
                    let exited = alive & !self.alive();
                    if exited != 0 {
                        self.ended_at = Some((site(pc), exited.trailing_zeros()));
                        observer.exited(site(pc), warp_id, exited);
                    }
                    match next {
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
        shared: &SharedMemory,
        site: Site,
        inst: &Inst,
        mask: u32,
        active: u32,
    ) -> Result<Next, BlockFault> {
        if let Op::BranchIndexed { index, targets, reconverge } = &inst.op {
            return self.branch_indexed(site, *index, targets, *reconverge, mask, active).map(Next::Diverged);
        }
        self.top().pc = site.pc + 1;
        if active == 0 {
            return Ok(Next::Go);
        }
        let thread = self.number * LANES as u32 + active.trailing_zeros();
        match &inst.op {
            Op::Call(call) => {
                let function = match &call.callee {
                    Callee::Function(number) => Some(*number),
                    Callee::Runtime(runtime) => {
                        self.runtime(launch, shared, site, *runtime, &call.slots, active)?;
                        None
                    }
                    Callee::Pointer { address, listed } => {
                        let found = self.target(site, *address, mask, active).map(|address| {
                            called(launch.program, call, address, listed).map_err(|problem| {
                                let kind = FaultKind::BadCall { address, problem };
                                BlockFault::new(site, thread, kind)
                            })
                        });
                        found.transpose()?
                    }
                };
                if let Some(function) = function
                    && !self.call(launch, site.pc, function, call, active)
                {
                    return Err(BlockFault::new(site, thread, FaultKind::StackOverflow));
                }
            }
            Op::Stack(stack) => self.stack(launch, site, stack, active)?,
            Op::Return => self.leave(launch, active),
            Op::Exit => {
                for entry in &mut self.stack {
                    entry.mask &= !active;
                }
                self.ended |= active;
            }
            Op::Trap => return Err(BlockFault::new(site, thread, FaultKind::Trap)),
            Op::Barrier(barrier) => return Ok(self.arrive(site, barrier, mask, active)),
            Op::ClusterBarrier { waits, .. } => return self.cluster_barrier(site, *waits, mask, active),
            Op::Clock { to, high } => self.clock(*to, *high, active),
            Op::Alu(_)
            | Op::Memory(_)
            | Op::Warp(_)
            | Op::Matrix(_)
            | Op::Branch { .. }
            | Op::BranchIndexed { .. }
            | Op::Nothing => unreachable!("executed before"),
        }
        Ok(Next::Go)
    }

    /// Executes an indexed branch. Returns a group of lanes that jump to the same target: all lanes, if the branch does
    /// not diverge.
    fn branch_indexed(
        &mut self,
        site: Site,
        index: R32,
        targets: &[u32],
        reconverge: u32,
        mask: u32,
        active: u32,
    ) -> Result<u32, BlockFault> {
        let frame = self.top().frame;
        let indices = *self.regs(frame).get32(index);
        for lane in lanes(active) {
            if indices[lane] as usize >= targets.len() {
                let kind = FaultKind::BadIndex { index: indices[lane], targets: targets.len() as u32 };
                let thread = self.number * LANES as u32 + lane as u32;
                return Err(BlockFault::new(site, thread, kind));
            }
        }
        // One group for each target that a lane jumps to, and one for the lanes that the guard disables.
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
        self.diverge(reconverge, &groups);
        Ok(groups.first().map_or(0, |(_, lanes)| *lanes))
    }

    fn clock(&mut self, to: Reg, high: bool, mask: u32) {
        let now = if high { self.now >> 32 } else { self.now };
        let frame = self.top().frame;
        let mut regs = self.regs(frame);
        match to {
            Reg::R32(to) => regs.set32(to, mask, &[now as u32; LANES]),
            Reg::R64(to) => regs.set64(to, mask, &[now; LANES]),
            Reg::Pred(_) => {}
        }
    }
}

/// Returns the groups of lanes with the same `membermask`.
fn groups(members: &Lanes32, mut active: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let first = lanes(active).next()?;
        let group = lanes(active).filter(|lane| members[*lane] == members[first]).fold(0, |all, lane| all | 1 << lane);
        active &= !group;
        Some(group)
    })
}

/// Returns the calls on the call stack of a frame's lanes, innermost first.
fn calls(frames: &[Frame], innermost: u32) -> impl Iterator<Item = Site> {
    let mut frame = frames[innermost as usize];
    std::iter::from_fn(move || {
        let (caller, pc) = frame.call?;
        frame = frames[caller as usize];
        Some(Site { function: frame.function, pc })
    })
}

/// Reports an access to an observer.
#[inline(always)]
fn report_access<O: Observer>(
    observer: &mut O,
    launch: &LaunchState<'_>,
    site: Site,
    warp_id: WarpId,
    access: &Access<'_>,
) {
    observer.access(site, warp_id, access);
    if O::REQUESTS.has(Requests::PLACES) {
        let find = |space, address| launch.place(space, address);
        observer.located(site, warp_id, access, &Places(&find));
    }
}

/// Reports to an observer the asynchronous operations that an instruction has issued.
fn report_issues<O: Observer>(
    observer: &mut O,
    launch: &LaunchState<'_>,
    site: Site,
    warp_id: WarpId,
    cluster: &mut Cluster,
) {
    let find = |space, address| launch.place(space, address);
    for issue in cluster.issued.drain(..) {
        observer.issued(site, warp_id, &issue, &Places(&find));
    }
}

#[cold]
fn bad_access(site: Site, warp_id: WarpId, access: AccessFault) -> BlockFault {
    let near = String::new();
    let thread = warp_id.warp * LANES as u32 + access.lane;
    BlockFault::new(site, thread, FaultKind::Access { access, near })
}

#[cold]
fn unnamed_lanes(site: Site, warp_id: WarpId, lanes: u32) -> BlockFault {
    let thread = warp_id.warp * LANES as u32 + lanes.trailing_zeros();
    BlockFault::new(site, thread, FaultKind::UnnamedLanes { lanes })
}
