//! Indirect calls, calls of CUDA's device runtime, and the part of the stack that grows within a frame.

use super::WarpState;
use super::frames::change;
use crate::code::{Call, Program, R64, Reg, Runtime, Signature, Stack};
use crate::memory::{AccessFault, AccessProblem, Region, SharedMemory};
use crate::observe::Site;
use crate::regs::{LANES, Lanes64, lanes};
use crate::run::block::{BlockFault, LaunchState};
use crate::run::fault::FaultKind;
use crate::run::printf;

/// The largest size in bytes of a printed or asserted text; longer texts are truncated.
const MAX_TEXT: u64 = 1 << 16;

/// Returns the function of the program that a call by address invokes.
///
/// # Errors
/// Returns the reason in words when there is no matching function at the address.
pub(super) fn called(program: &Program, call: &Call, address: u64, listed: &Option<Box<[u64]>>) -> Result<u32, String> {
    let targets = &program.targets;
    let found = targets.binary_search_by_key(&address, |target| target.address);
    let Ok(found) = found else {
        return Err("at which there is no function".to_owned());
    };
    let name = crate::demangle::demangled(&targets[found].name);
    if listed.as_ref().is_some_and(|listed| !listed.contains(&address)) {
        return Err(format!("that of function `{name}`, which .calltargets does not name"));
    }
    let number = targets[found].function;
    let fits = |number: &u32| program.functions[*number as usize].slots.fits(&call.slots);
    number.filter(|number| *number > 0 && fits(number)).ok_or_else(|| {
        format!("that of function `{name}`, which has other parameters or results than the call, or no body")
    })
}

impl WarpState {
    /// Returns the address that the lanes of `active` call. If the lanes call different addresses, makes the lanes
    /// diverge and returns `None`.
    pub(super) fn target(&mut self, site: Site, address: R64, mask: u32, active: u32) -> Option<u64> {
        let frame = self.top().frame;
        let addresses = *self.regs(frame).get64(address);
        let first = addresses[active.trailing_zeros() as usize % LANES];
        let same = lanes(active).filter(|lane| addresses[*lane] == first).fold(0, |same, lane| same | 1 << lane);
        if same == active {
            return Some(first);
        }
        let next_pc = site.pc + 1;
        let groups = [(next_pc, mask & !active), (site.pc, active & !same), (site.pc, same)];
        let groups: Vec<_> = groups.into_iter().filter(|group| group.1 != 0).collect();
        self.diverge(next_pc, &groups);
        None
    }

    /// Executes `alloca`, `stacksave` or `stackrestore`: each lane has a separate stack top.
    pub(super) fn stack(
        &mut self,
        launch: &LaunchState<'_>,
        site: Site,
        stack: &Stack,
        active: u32,
    ) -> Result<(), BlockFault> {
        let number = self.top().frame;
        let frame = self.frames[number as usize];
        let func = &launch.program.functions[frame.function as usize];
        let low = frame.local + func.frame_bytes;
        let limit = u64::from(launch.config.max_local_bytes);
        let mut highest = 0;
        let warp = self.number;
        let mut regs = self.regs(number);
        let wide = |regs: &crate::regs::Regs<'_>, reg| match reg {
            Reg::R64(reg) => *regs.get64(reg),
            Reg::R32(reg) => regs.get32(reg).map(u64::from),
            Reg::Pred(_) => unreachable!("decoding takes no predicate for an address"),
        };
        let set = |regs: &mut crate::regs::Regs<'_>, reg, values: &Lanes64| match reg {
            Reg::R64(reg) => regs.set64(reg, active, values),
            Reg::R32(reg) => regs.set32(reg, active, &values.map(|value| value as u32)),
            Reg::Pred(_) => {}
        };
        let overflow = |lane: usize| {
            let thread = warp * LANES as u32 + lane as u32;
            BlockFault::new(site, thread, FaultKind::StackOverflow)
        };
        match *stack {
            Stack::Save { to, top } => {
                let tops = regs.get32(top).map(u64::from);
                set(&mut regs, to, &tops);
            }
            Stack::Restore { from, top } => {
                let saved = wide(&regs, from);
                let mut tops = *regs.get32(top);
                for lane in lanes(active) {
                    if !(u64::from(low)..=u64::from(tops[lane])).contains(&saved[lane]) {
                        return Err(overflow(lane));
                    }
                    tops[lane] = saved[lane] as u32;
                }
                regs.set32(top, active, &tops);
            }
            Stack::Alloca { to, bytes, align, top } => {
                let bytes = wide(&regs, bytes);
                let mut tops = *regs.get32(top);
                let mut starts = [0; LANES];
                for lane in lanes(active) {
                    let start = u64::from(tops[lane]).next_multiple_of(u64::from(align));
                    let end = start.saturating_add(bytes[lane]).div_ceil(8).saturating_mul(8);
                    if end > limit {
                        return Err(overflow(lane));
                    }
                    (starts[lane], tops[lane]) = (start, end as u32);
                    highest = highest.max(end as u32);
                }
                regs.set32(top, active, &tops);
                set(&mut regs, to, &starts);
            }
        }
        match highest <= self.local.len() || self.local.grow(highest) {
            true => Ok(()),
            false => Err(overflow(active.trailing_zeros() as usize)),
        }
    }

    /// Executes a function of CUDA's runtime for each lane in sequence.
    pub(super) fn runtime(
        &mut self,
        launch: &LaunchState<'_>,
        shared: &SharedMemory,
        site: Site,
        runtime: Runtime,
        slots: &Signature,
        active: u32,
    ) -> Result<(), BlockFault> {
        let frame = self.top().frame;
        let frame = self.frames[frame as usize];
        let local = frame.local;
        for lane in lanes(active) {
            let fault = |kind| BlockFault::new(site, self.number * LANES as u32 + lane as u32, kind);
            let access = |access| {
                let near = String::new();
                fault(FaultKind::Access { access, near })
            };
            let argument = |at: usize| {
                let slot = slots.parameters[at];
                (0..slot.bytes).fold(0, |value, byte| {
                    let byte_at = local + slot.at + byte;
                    value | u64::from(self.local.byte(lane, byte_at)) << (byte * 8)
                })
            };
            let memory = Bytes { launch, shared, warp: self, lane };
            let text = |at| memory.text(argument(at)).map_err(access);
            let result = match runtime {
                Runtime::Print => match argument(0) {
                    // As in CUDA: -1 for a null format.
                    0 => u64::MAX,
                    _ => {
                        let format = text(0)?;
                        let mut arguments = printf::Arguments::new(argument(1));
                        let read = |address, bytes| memory.number(address, bytes);
                        let string = |address| memory.text(address);
                        let printed = printf::format(&format, &mut arguments, &read, &string);
                        launch.print(self.block, printed.map_err(access)?);
                        u64::from(arguments.count)
                    }
                },
                Runtime::Assert => {
                    let words = |at| Ok(String::from_utf8_lossy(&text(at)?).into_owned());
                    return Err(fault(FaultKind::Assert {
                        expression: words(0)?,
                        file: words(1)?,
                        line: argument(2) as u32,
                        function: words(3)?,
                    }));
                }
                Runtime::Allocate => {
                    let bytes = argument(0);
                    let address = launch.heap().allocate(bytes);
                    if address != 0 {
                        self.allocated.push((address, bytes));
                    }
                    address
                }
                Runtime::Free => {
                    let address = argument(0);
                    if !launch.heap().free(address) {
                        return Err(fault(FaultKind::BadFree { address }));
                    }
                    0
                }
            };
            if let Some(slot) = slots.results.first() {
                for byte in 0..slot.bytes {
                    let value = (result >> (byte * 8)) as u8;
                    self.local.set_byte(lane, local + slot.at + byte, value);
                }
            }
        }
        self.changed = Some(change(&frame, site.pc, None, true));
        Ok(())
    }
}

/// The memory that one lane can access at generic addresses.
struct Bytes<'a, 'm> {
    launch: &'a LaunchState<'m>,
    shared: &'a SharedMemory,
    warp: &'a WarpState,
    lane: usize,
}

impl Bytes<'_, '_> {
    fn byte(&self, address: u64) -> Result<u8, AccessFault> {
        let region = Region::of(address);
        let at = address.wrapping_sub(region.window());
        let of = |bytes: &[u8]| bytes.get(usize::try_from(at).ok()?).copied();
        let (found, space_bytes) = match region {
            Region::Shared => (self.shared.byte(at), self.shared.len()),
            Region::Local => {
                let bytes = u64::from(self.warp.local.len());
                let found = (at < bytes).then(|| self.warp.local.byte(self.lane, at as u32));
                (found, bytes)
            }
            Region::Const => (of(self.launch.constants), self.launch.constants.len() as u64),
            Region::Param => (of(self.launch.params), self.launch.params.len() as u64),
            Region::Generic | Region::Global | Region::FrameParam => {
                let found = self.launch.global.find(at).map(|allocation| {
                    let mut byte = [0];
                    allocation.read(at - allocation.base, &mut byte);
                    byte[0]
                });
                (found, 0)
            }
        };
        found.ok_or(AccessFault {
            lane: self.lane as u32,
            address,
            bytes: 1,
            align: 1,
            write: false,
            what: AccessProblem::OutOfBounds,
            space: region.space(),
            offset: at,
            space_bytes,
        })
    }

    fn number(&self, address: u64, bytes: u32) -> Result<u64, AccessFault> {
        (0..bytes).try_fold(0, |value, byte| {
            let found = self.byte(address.wrapping_add(u64::from(byte)))?;
            Ok(value | u64::from(found) << (byte * 8))
        })
    }

    /// Reads bytes up to a zero.
    fn text(&self, address: u64) -> Result<Vec<u8>, AccessFault> {
        let mut text = Vec::new();
        for at in 0..MAX_TEXT {
            match self.byte(address.wrapping_add(at))? {
                0 => break,
                byte => text.push(byte),
            }
        }
        Ok(text)
    }
}
