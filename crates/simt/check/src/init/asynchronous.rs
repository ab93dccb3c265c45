//! What asynchronous copies do with bytes that nobody has written. A copy is followed where it is issued: what threads do
//! to its bytes before they have waited for it is a race.

use std::sync::PoisonError;

use super::Init;
use super::shadow::ones;
use super::taints::Cause;
use simt::code::Op;
use simt::memory::Memory;
use simt::observe::{Issue, Location, Places, Site, Space};

/// Bytes that a copy moves at once. Undefined ones beside defined ones of the same may be the padding of a struct, or stand
/// behind the last element.
const UNIT: u32 = 16;

impl Init {
    /// Which of up to 64 bytes nobody has written.
    fn unwritten_at(&mut self, place: Location, bytes: u32) -> u64 {
        match place {
            Location::Shared(rank, at) => self.shared(Some(rank)).map_or(0, |own| own.unwritten(at, bytes)),
            Location::Global(_) if !self.follows_device => 0,
            Location::Global(at) => {
                let device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
                let mut unwritten = 0;
                device.find(std::iter::once(at), bytes, |found| unwritten = found);
                unwritten
            }
        }
    }

    /// Up to 64 bytes are written, but those of `undefined` hold nothing that anybody has written.
    fn write_at(&mut self, place: Location, bytes: u32, undefined: u64) {
        match place {
            Location::Shared(rank, at) => {
                if let Some(own) = self.shared(Some(rank)) {
                    own.write(at, bytes, undefined);
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

    /// The undefined bytes of the next piece of a lane's registers that an instruction sends.
    fn sent(&mut self, site: Site, lane: u32, bytes: u32) -> Option<(u64, Cause)> {
        let (_, undefined, cause) = self.stored.filter(|stored| stored.0 == site)?;
        let before = if self.sent.0 == lane { self.sent.1 } else { 0 };
        self.sent = (lane, before + bytes);
        Some((undefined[lane as usize] >> before & ones(bytes), cause))
    }

    /// An asynchronous copy or reduction is issued.
    pub(super) fn issue(&mut self, site: Site, issue: &Issue, places: &Places<'_>) {
        let Issue { lane, from, to: Some(to), bytes, .. } = *issue else { return };
        let reduces = match &self.inst(site).op {
            Op::Memory(Memory::Bulk(op)) => op.reduce.is_some(),
            Op::Memory(Memory::Tensor(op)) => op.reduce.is_some(),
            _ => false,
        };
        let sent = if from.is_none() { self.sent(site, lane, bytes) } else { None };
        // The first undefined byte that matters, of the source and of what is changed.
        let (mut source, mut target): (Option<(Location, Option<Cause>)>, Option<Location>) = (None, None);
        for offset in (0..bytes).step_by(64) {
            let count = (bytes - offset).min(64);
            let to = to.offset_by(offset.into());
            let place = from.map(|from| from.offset_by(offset.into()));
            let (mut undefined, cause) = match (place, sent) {
                (Some(from), _) => (self.unwritten_at(from, count), None),
                (None, Some((undefined, cause))) => (undefined, Some(cause)),
                (None, None) => (0, None),
            };
            let is_device = matches!(to, Location::Global(_));
            let told = match undefined {
                0 => 0,
                _ if reduces => undefined,
                _ if is_device => whole_units(undefined, count),
                _ => 0,
            };
            if told != 0 {
                source.get_or_insert((place.unwrap_or(to).offset_by(told.trailing_zeros().into()), cause));
                undefined &= !told;
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

/// Those of up to 64 undefined bytes whose whole unit is undefined.
fn whole_units(undefined: u64, bytes: u32) -> u64 {
    let units = (0..bytes).step_by(UNIT as usize).map(|at| ones((bytes - at).min(UNIT)) << at);
    units.filter(|unit| undefined & unit == *unit).fold(0, |all, unit| all | unit)
}

/// A place as accesses have it.
fn address(place: Location) -> (Space, u64) {
    match place {
        Location::Shared(_, at) => (Space::Shared, at),
        Location::Global(at) => (Space::Global, at),
    }
}
