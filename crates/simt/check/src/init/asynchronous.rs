//! The effects of asynchronous copies on unwritten bytes. A copy takes effect when it is issued, because an access to
//! its bytes before a thread has waited for the copy is a race.

use std::sync::PoisonError;

use super::Init;
use super::shadow::ones;
use super::taints::Cause;
use simt::code::Op;
use simt::memory::Memory;
use simt::observe::{Issue, Location, Places, Site, Space};

/// The size of the units in which a copy is checked. Undefined bytes next to defined bytes of the same unit may be
/// padding of a struct, or follow the last element.
const UNIT: u32 = 16;

impl Init {
    /// Returns which of up to 64 bytes are unwritten.
    fn unwritten_at(&mut self, place: Location, bytes: u32) -> u64 {
        match place {
            Location::Shared(rank, at) => self.shared(Some(rank)).map_or(0, |shadow| shadow.unwritten(at, bytes)),
            Location::Global(_) if !self.follows_device => 0,
            Location::Global(at) => {
                let device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
                let mut unwritten = 0;
                device.find(std::iter::once(at), bytes, |found| unwritten = found);
                unwritten
            }
        }
    }

    /// Marks up to 64 bytes as written, except for the bytes in `undefined`.
    fn write_at(&mut self, place: Location, bytes: u32, undefined: u64) {
        match place {
            Location::Shared(rank, at) => {
                if let Some(shadow) = self.shared(Some(rank)) {
                    shadow.write(at, bytes, undefined);
                }
            }
            Location::Global(at) => {
                if self.follows_device {
                    let mut device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
                    device.write_some(at, bytes, undefined);
                }
            }
        }
    }

    /// Returns the undefined bytes of the next piece of a lane's registers that an instruction sends.
    fn sent_bytes(&mut self, site: Site, lane: u32, bytes: u32) -> Option<(u64, Cause)> {
        let (_, undefined, cause) = self.current_store.filter(|current_store| current_store.0 == site)?;
        let before = if self.sent_bytes.0 == lane { self.sent_bytes.1 } else { 0 };
        self.sent_bytes = (lane, before + bytes);
        Some((undefined[lane as usize] >> before & ones(bytes), cause))
    }

    /// Applies an asynchronous copy or reduction when it is issued.
    pub(super) fn issue(&mut self, site: Site, issue: &Issue, places: &Places<'_>) {
        let Issue { lane, from, to: Some(to), bytes, .. } = *issue else { return };
        let reduces = match &self.inst(site).op {
            Op::Memory(Memory::Bulk(op)) => op.reduce.is_some(),
            Op::Memory(Memory::Tensor(op)) => op.reduce.is_some(),
            _ => false,
        };
        let sent_bytes = if from.is_none() { self.sent_bytes(site, lane, bytes) } else { None };
        // The first undefined byte to report, in the source and in the memory that a reduction changes.
        let (mut source, mut target): (Option<(Location, Option<Cause>)>, Option<Location>) = (None, None);
        for offset in (0..bytes).step_by(64) {
            let count = (bytes - offset).min(64);
            let to = to.offset_by(offset.into());
            let place = from.map(|from| from.offset_by(offset.into()));
            let (mut undefined, cause) = match (place, sent_bytes) {
                (Some(from), _) => (self.unwritten_at(from, count), None),
                (None, Some((undefined, cause))) => (undefined, Some(cause)),
                (None, None) => (0, None),
            };
            let is_device = matches!(to, Location::Global(_));
            let reported = match undefined {
                0 => 0,
                _ if reduces => undefined,
                _ if is_device => whole_units(undefined, count),
                _ => 0,
            };
            if reported != 0 {
                source.get_or_insert((place.unwrap_or(to).offset_by(reported.trailing_zeros().into()), cause));
                undefined &= !reported;
            }
            if !reduces {
                self.write_at(to, count, undefined);
                continue;
            }
            let changed = if is_device { self.unwritten_at(to, count) } else { 0 };
            if changed != 0 {
                target.get_or_insert(to.offset_by(changed.trailing_zeros().into()));
                self.write_at(to, count, 0);
            }
        }
        if let Some((place, cause)) = source {
            let origin = match cause {
                Some(cause) => cause.origin,
                None => self.origin(site, address(place), lane as usize, bytes, places),
            };
            let what = match reduces {
                true => ("operand", "an operand of an atomic"),
                false => ("store", "a value that is stored to device memory"),
            };
            self.report(what, site, 1 << lane, origin);
        }
        if let Some(place) = target {
            let origin = self.origin(site, address(place), lane as usize, bytes, places);
            self.report(("atomic", "the result of an atomic"), site, 1 << lane, origin);
        }
    }
}

/// Selects the bytes whose whole unit is undefined, from up to 64 undefined bytes.
fn whole_units(undefined: u64, bytes: u32) -> u64 {
    let units = (0..bytes).step_by(UNIT as usize).map(|at| ones((bytes - at).min(UNIT)) << at);
    units.filter(|unit| undefined & unit == *unit).fold(0, |all, unit| all | unit)
}

/// Converts a location to an address space and an address.
fn address(place: Location) -> (Space, u64) {
    match place {
        Location::Shared(_, at) => (Space::Shared, at),
        Location::Global(at) => (Space::Global, at),
    }
}
