//! The effect of loads, stores, atomics and copies on values.

use simt::memory::atomic::{Atomic, AtomicOp};
use simt::memory::load_store::{Destination, Store};
use simt::observe::{Access, Issue, Location, Reg, Site, Space};
use simt::regs::lanes;

use super::Flow;
use super::graph::{self, Id, Loaded, MemoryAddress, PLAIN};
use super::labels::At;

impl Flow {
    /// Returns the value that a lane reads from memory.
    fn read(&mut self, site: Site, lane: usize, (space, address): (Space, u64), bytes: u32) -> Id {
        let maker = self.maker(site, lane);
        let Some(at) = self.memory.find(space, maker.thread, address) else { return PLAIN };
        let ids = self.memory.bytes(at, bytes);
        let first = ids[0];
        let same = ids.iter().all(|id| *id == first);
        let mut id = first;
        if let At::Known(MemoryAddress::Buffer(buffer, at_byte)) = at {
            let phase = self.phase;
            let is_new = match self.graph.element(first) {
                // An element that was loaded before the last barrier counts as a new element in this phase.
                Some(known) => (known.buffer, known.at) == (buffer, at_byte) && known.phase != phase && same,
                None => ids.iter().all(|id| *id == graph::UNTOUCHED),
            };
            if is_new {
                let (warps, loads, shared_reads, uses) = (0, 0, 0, 0);
                let loaded = Loaded { buffer, at: at_byte, bytes, phase, warps, loads, shared_reads, uses };
                id = self.graph.load(loaded, maker);
                ids.fill(id);
            }
        }
        let ids = self.memory.bytes(at, bytes);
        if !ids.iter().all(|byte| *byte == id) {
            id = self.graph.combine(ids, maker, true);
        }
        let warp = 1 << (self.at % 32);
        match at {
            At::Known(MemoryAddress::Buffer(..)) => self.graph.each_element(id, &|element| {
                element.loads += 1;
                element.warps |= warp;
            }),
            At::Known(MemoryAddress::Shared(_)) => self.graph.each_element(id, &|element| element.shared_reads += 1),
            At::Local(..) => {}
        }
        id.max(PLAIN)
    }

    /// Writes a lane's value to memory.
    fn write(&mut self, lane: usize, (space, address): (Space, u64), bytes: u32, id: Id) {
        let thread = self.thread(lane);
        let Some(at) = self.memory.find(space, thread, address) else { return };
        self.memory.bytes(at, bytes).fill(id.max(PLAIN));
        if let At::Known(place) = at {
            self.graph.store(id, place, thread);
        }
    }

    /// Follows `ldmatrix` and `stmatrix`: maps the bytes of the rows to each lane's registers.
    pub(super) fn rows(
        &mut self,
        site: Site,
        access: &Access<'_>,
        registers: &[simt::regs::R32],
        transposed: bool,
        stores: bool,
    ) {
        for (matrix, register) in registers.iter().enumerate() {
            let address = |row: usize| access.addresses[matrix * 8 + row];
            let mut ids = [PLAIN; 32];
            for (lane, id) in ids.iter_mut().enumerate() {
                let (line, pair) = (lane / 4, lane % 4);
                let pieces: &[(u64, u32)] = match transposed {
                    false => &[(address(line) + 4 * pair as u64, 4)],
                    true => &[0, 1].map(|one| (address(2 * pair + one) + 2 * line as u64, 2)),
                };
                let stored = self.warps[self.at].registers.get(Reg::R32(*register)).ids[lane];
                let mut read = Vec::new();
                for (at, bytes) in pieces {
                    match stores {
                        true => self.write(lane, (access.space, *at), *bytes, stored),
                        false => read.push(self.read(site, lane, (access.space, *at), *bytes)),
                    }
                }
                *id = self.graph.combine(&read, self.maker(site, lane), true);
            }
            if !stores {
                self.registers().set(Reg::R32(*register), u32::MAX, &ids);
            }
        }
    }

    /// Sets registers to the elements that each lane has loaded, one element after another.
    pub(super) fn load(&mut self, site: Site, access: &Access<'_>, to: &[Destination], width: u32) {
        for (index, to) in (0..).zip(to) {
            let reg = match to {
                Destination::Nowhere => continue,
                Destination::R32 { reg, .. } => Reg::R32(*reg),
                Destination::R64(reg) => Reg::R64(*reg),
            };
            let mut ids = [PLAIN; 32];
            for lane in lanes(access.mask) {
                let at = access.addresses[lane] + index * u64::from(width);
                ids[lane] = self.read(site, lane, (access.space, at), width);
            }
            self.registers().set(reg, access.mask, &ids);
        }
    }

    /// Applies an atomic to memory lane by lane, lowest lane first.
    pub(super) fn atomic(&mut self, site: Site, access: &Access<'_>, op: &Atomic) {
        let operands = std::mem::take(&mut self.warps[self.at].operands);
        let width = op.width as u32;
        for (index, operand) in operands.iter().enumerate().take(op.operand.len()) {
            let mut before = [PLAIN; 32];
            for lane in lanes(access.mask) {
                let at = access.addresses[lane] + index as u64 * u64::from(width);
                let Some(known) = self.memory.find(access.space, self.thread(lane), at) else { continue };
                let old = self.memory.bytes(known, width)[0];
                before[lane] = old.max(PLAIN);
                let new = match op.op {
                    AtomicOp::Exchange => operand[lane],
                    // The new value is written if the old value equals the compared value.
                    AtomicOp::CompareExchange if operand[lane] == old => operands.last().map_or(PLAIN, |new| new[lane]),
                    AtomicOp::CompareExchange => old,
                    _ => self.graph.combine(&[old, operand[lane]], self.maker(site, lane), false),
                };
                self.write(lane, (access.space, at), width, new);
            }
            let reg = match op.to.get(index) {
                Some(Destination::R32 { reg, .. }) => Reg::R32(*reg),
                Some(Destination::R64(reg)) => Reg::R64(*reg),
                _ => continue,
            };
            self.registers().set(reg, access.mask, &before);
        }
    }

    /// Follows `cp.async`: its read, and then the write of the values that were read.
    pub(super) fn copies(&mut self, site: Site, access: &Access<'_>) {
        let parts = (access.bytes as usize).div_ceil(4).min(4);
        if access.space == Space::Global {
            let mut copied = [[PLAIN; 4]; 32];
            for lane in lanes(access.mask) {
                for (part, id) in copied[lane][..parts].iter_mut().enumerate() {
                    *id = self.read(site, lane, (Space::Global, access.addresses[lane] + 4 * part as u64), 4);
                }
            }
            self.warps[self.at].copied = Some((site, copied));
            return;
        }
        let copied = self.warps[self.at].copied.take().filter(|(copy_site, _)| *copy_site == site);
        let copied = copied.map_or([[PLAIN; 4]; 32], |(_, copied)| copied);
        for lane in lanes(access.mask) {
            for (part, id) in copied[lane][..parts].iter().enumerate() {
                self.write(lane, (access.space, access.addresses[lane] + 4 * part as u64), 4, *id);
            }
        }
    }

    /// Stores the values in registers, one element after another.
    pub(super) fn store(&mut self, access: &Access<'_>, op: &Store) {
        for (index, from) in (0..).zip(&*op.from) {
            let ids = self.warps[self.at].registers.get(*from).ids;
            for lane in lanes(access.mask) {
                let at = access.addresses[lane] + index * u64::from(op.width as u32);
                self.write(lane, (access.space, at), op.width as u32, ids[lane]);
            }
        }
    }

    /// Copies the values of the bytes that an asynchronous operation copies.
    pub(super) fn issue(&mut self, site: Site, issue: &Issue) {
        let place = |location| match location {
            Location::Shared(_, at) => (Space::Shared, at),
            Location::Global(at) => (Space::Global, at),
        };
        let (Some(from), Some(to)) = (issue.from.map(place), issue.to.map(place)) else {
            return;
        };
        let lane = issue.lane as usize;
        for offset in (0..u64::from(issue.bytes)).step_by(4) {
            let bytes = (u64::from(issue.bytes) - offset).min(4) as u32;
            let id = self.read(site, lane, (from.0, from.1 + offset), bytes);
            self.write(lane, (to.0, to.1 + offset), bytes, id);
        }
    }
}
