//! The effects of loads, stores and atomics on undefined memory and undefined values.

use std::sync::PoisonError;

use super::Init;
use super::taints::{Cause, History};
use simt::code::Op;
use simt::matrix::Matrix;
use simt::memory::Memory;
use simt::memory::atomic::{AtomicOp, WideOp};
use simt::memory::load_store::{Destination, Load, Width};
use simt::observe::{Access, Places, Site, Space};
use simt::regs::{ALL, LANES, Lanes64, R32, Reg, lanes};

/// Returns the first address and the number of bytes if all lanes access the same bytes or consecutive bytes.
fn run_of(access: &Access<'_>) -> Option<(u64, u64)> {
    let Access { mask, addresses: at, bytes, .. } = *access;
    if mask != ALL {
        return None;
    }
    let (first, bytes) = (at[0], u64::from(bytes));
    if at.iter().all(|address| *address == first) {
        return Some((first, bytes));
    }
    let follows = |(lane, address): (usize, &u64)| *address == first.wrapping_add(lane as u64 * bytes);
    at.iter().enumerate().all(follows).then_some((first, bytes * LANES as u64))
}

/// Returns the address that all lanes access, or `None` if their addresses differ.
fn same(access: &Access<'_>) -> Option<u64> {
    let mut addresses = lanes(access.mask).map(|lane| access.addresses[lane]);
    let first = addresses.next()?;
    addresses.all(|address| address == first).then_some(first)
}

impl Init {
    /// Returns the unwritten bytes of an access for each lane, or `None` if there are none.
    pub(super) fn unwritten(&mut self, access: &Access<'_>) -> Option<Lanes64> {
        let mut unwritten = [0; LANES];
        let mut any = 0;
        match access.space {
            Space::Global => {
                let device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
                if device.is_empty() || run_of(access).is_some_and(|(at, bytes)| !device.has_any(at, bytes)) {
                    return None;
                }
                let mut left = lanes(access.mask);
                let addresses = lanes(access.mask).map(|lane| access.addresses[lane]);
                device.find(addresses, access.bytes, |found| {
                    any |= found;
                    unwritten[left.next().unwrap_or_default()] = found;
                });
            }
            Space::Shared => {
                let shared = self.shared(access.rank)?;
                if run_of(access).is_some_and(|(at, bytes)| shared.has_all(at, bytes)) {
                    return None;
                }
                for lane in lanes(access.mask) {
                    unwritten[lane] = shared.unwritten(access.addresses[lane], access.bytes);
                    any |= unwritten[lane];
                }
            }
            Space::Local | Space::Param => {
                let local = &self.warp().local;
                if same(access).is_some_and(|at| !local.has_any(access.mask, at, access.bytes)) {
                    return None;
                }
                for lane in lanes(access.mask) {
                    unwritten[lane] = local.unwritten(lane, access.addresses[lane], access.bytes);
                    any |= unwritten[lane];
                }
            }
            _ => {}
        }
        (any != 0).then_some(unwritten)
    }

    /// Marks the bytes of an access as written, except for each lane's `undefined` bytes.
    pub(super) fn write(&mut self, access: &Access<'_>, undefined: &Lanes64) {
        let run = run_of(access).filter(|_| *undefined == [0; LANES]);
        match access.space {
            Space::Global => {
                let mut device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
                match run {
                    _ if device.is_empty() => {}
                    Some((at, bytes)) => device.write(at, bytes),
                    None => lanes(access.mask).for_each(|lane| {
                        device.write_some(access.addresses[lane], access.bytes, undefined[lane]);
                    }),
                }
            }
            Space::Shared => {
                let Some(shared) = self.shared(access.rank) else { return };
                if let Some((at, bytes)) = run {
                    return shared.write_all(at, bytes);
                }
                for lane in lanes(access.mask) {
                    shared.write(access.addresses[lane], access.bytes, undefined[lane]);
                }
            }
            _ => {
                let local = &mut self.warp().local;
                if let Some(at) = same(access).filter(|_| *undefined == [0; LANES]) {
                    return local.define(access.mask, at as u32, access.bytes);
                }
                for lane in lanes(access.mask) {
                    local.write(lane, access.addresses[lane], access.bytes, undefined[lane]);
                }
            }
        }
    }

    /// Records that a load, or an atomic that returns the old value, has read unwritten bytes.
    pub(super) fn loaded(&mut self, site: Site, access: &Access<'_>, places: &Places<'_>, unwritten: &Lanes64) {
        self.enter(access.mask);
        let cause = Cause { origin: self.origin_of(site, access, places, unwritten), history: History::Copied };
        let program = self.facts.function.program().clone();
        let inst = &program.functions[site.function as usize].code[site.pc as usize];
        let (to, width, signed): (&[Destination], u32, bool) = match &inst.op {
            Op::Memory(Memory::Load(Load { to, width, signed, .. })) => (to, width.bytes(), *signed),
            Op::Memory(Memory::Atomic(op)) => (&op.to, op.width.bytes(), false),
            Op::Matrix(matrix) => {
                if let Matrix::Rows(rows) = &**matrix {
                    self.loaded_rows(&rows.registers, rows.transposed, unwritten, cause);
                }
                return;
            }
            _ => return,
        };
        for (index, to) in to.iter().enumerate() {
            let (reg, register_bits) = match to {
                Destination::Nowhere => continue,
                Destination::R32 { reg, bits } => (Reg::R32(*reg), *bits),
                Destination::R64(reg) => (Reg::R64(*reg), 64),
            };
            let mut bits = [0; LANES];
            for lane in lanes(access.mask) {
                let bytes = unwritten[lane] >> (index as u32 * width) & ((1 << width) - 1);
                let mut undefined = (0..width).fold(0, |all, byte| match bytes >> byte & 1 {
                    0 => all,
                    _ => all | 0xff << (8 * byte),
                });
                if signed && bytes >> (width - 1) & 1 != 0 {
                    undefined |= u64::MAX.checked_shl(8 * width).unwrap_or(0) & (u64::MAX >> (64 - register_bits));
                }
                bits[lane] = undefined;
            }
            self.taints().set(reg, access.mask, &bits, cause);
        }
    }

    /// Records that `ldmatrix` has read rows with unwritten bytes.
    fn loaded_rows(&mut self, registers: &[R32], transposed: bool, unwritten: &Lanes64, cause: Cause) {
        for (register, rows) in registers.iter().zip(unwritten.chunks(8)) {
            let mut bits = [0; LANES];
            for (lane, bits) in bits.iter_mut().enumerate() {
                for half in 0..2 {
                    let (line, position) = (lane / 4, lane % 4 * 2 + half);
                    let (row, column) = if transposed { (position, line) } else { (line, position) };
                    if rows[row] >> (2 * column) & 0b11 != 0 {
                        *bits |= 0xffff << (16 * half);
                    }
                }
            }
            self.taints().set(Reg::R32(*register), ALL, &bits, cause);
        }
    }

    /// Reports undefined bytes that are stored to device memory. Reported bytes then count as written.
    pub(super) fn stored_to_device(&mut self, site: Site, access: &Access<'_>, undefined: &mut Lanes64, cause: Cause) {
        let all = u64::MAX >> (64 - access.bytes.clamp(1, 64));
        let is_byte = matches!(&self.inst(site).op, Op::Memory(Memory::Store(store)) if store.width == Width::B1);
        let matters = |bytes: u64| match cause.history == History::Copied {
            true => bytes == all && !is_byte,
            false => bytes != 0,
        };
        let concerned =
            lanes(access.mask).filter(|lane| matters(undefined[*lane])).fold(0, |all, lane| all | 1 << lane);
        if concerned != 0 {
            self.report(("store", "a value that is stored to device memory"), site, concerned, cause.origin);
            lanes(concerned).for_each(|lane| undefined[lane] = 0);
        }
    }

    /// Records that an atomic has changed memory.
    pub(super) fn changed(&mut self, site: Site, access: &Access<'_>, places: &Places<'_>) {
        let Some(unwritten) = self.unwritten(access) else { return };
        let op = match &self.inst(site).op {
            Op::Memory(Memory::Atomic(op)) => op.op,
            _ => return,
        };
        let replaces = matches!(op, AtomicOp::Exchange | AtomicOp::WideOp(WideOp::Exchange));
        let compares = matches!(op, AtomicOp::CompareExchange | AtomicOp::WideOp(WideOp::CompareExchange { .. }));
        if !replaces && (compares || access.space == Space::Global) {
            let concerned =
                lanes(access.mask).filter(|lane| unwritten[*lane] != 0).fold(0, |all, lane| all | 1 << lane);
            let origin = self.origin_of(site, access, places, &unwritten);
            self.report(("atomic", "the result of an atomic"), site, concerned, origin);
            self.write(access, &[0; LANES]);
            return;
        }
        self.loaded(site, access, places, &unwritten);
        // A sum with an undefined value is undefined.
        if replaces {
            self.write(access, &[0; LANES]);
        }
    }
}
