//! The origins of undefined bits, and the findings that report them.

use super::Init;
use crate::finding::{RawFinding, ThreadAtSite, describe_memory};
use simt::observe::{Access, Places, Site, Space};
use simt::regs::{LANES, Lanes64, lanes};

/// The maximum number of different reads of unwritten memory that are recorded. Later reads share one origin.
const MAX_ORIGINS: usize = 1 << 14;

/// The origin of undefined bits.
pub(super) struct Origin {
    /// The reading action and its place: `read of 4 bytes`. For a register, this field is set at the first read.
    pub(super) read: Option<(String, ThreadAtSite)>,
    pub(super) address: Option<u64>,
    /// The memory or register, for messages.
    pub(super) place: String,
    pub(super) kind: OriginKind,
}

/// The source of an undefined value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OriginKind {
    Register,
    Memory(Space),
    /// A source lane of a shuffle that does not execute the shuffle.
    Lane,
}

impl Init {
    /// Returns the origin of the unwritten bytes that an access reads.
    pub(super) fn origin_of(
        &mut self,
        site: Site,
        access: &Access<'_>,
        places: &Places<'_>,
        unwritten: &Lanes64,
    ) -> u32 {
        let lane = lanes(access.mask).find(|lane| unwritten[*lane] != 0).unwrap_or_default();
        let address = access.addresses[lane] + u64::from(unwritten[lane].trailing_zeros());
        self.origin(site, (access.space, address), lane, access.bytes, places)
    }

    /// Returns the origin of unwritten bytes that an instruction reads. `address` is the address of the first such
    /// byte, and `lane` the first lane that reads such a byte.
    pub(super) fn origin(
        &mut self,
        site: Site,
        (space, address): (Space, u64),
        lane: usize,
        bytes: u32,
        places: &Places<'_>,
    ) -> u32 {
        let warp_id = self.warp_id;
        if let Some(known) = self.known_origins.get(&(site, warp_id.block, warp_id.warp)) {
            return *known;
        }
        let number = self.origins.len() as u32;
        if self.origins.len() >= MAX_ORIGINS {
            let anywhere = (site, u64::MAX, u32::MAX);
            if let Some(known) = self.known_origins.get(&anywhere) {
                return *known;
            }
            self.known_origins.insert(anywhere, number);
        }
        let place = match (places.find(space, address), space) {
            (Some(place), space) => describe_memory(&self.facts, space, &place, address),
            (None, Space::Param) => self.parameter(site, lane, address),
            (None, Space::Local) => format!("byte {address} of the thread's local memory"),
            (None, _) => String::new(),
        };
        let party = ThreadAtSite { site, block: warp_id.block, thread: self.thread(lane) };
        let read = Some((format!("read of {bytes} bytes"), party));
        self.origins.push(Origin { read, address: Some(address), place, kind: OriginKind::Memory(space) });
        self.known_origins.insert((site, warp_id.block, warp_id.warp), number);
        number
    }

    /// Returns the origin of the value that a shuffle reads from a lane that does not execute it.
    pub(super) fn origin_of_absent(&mut self, site: Site, lane: usize) -> u32 {
        let key = (site, self.warp_id.block, self.warp_id.warp);
        if let Some(known) = self.known_origins.get(&key).copied() {
            return known;
        }
        let number = self.origins.len() as u32;
        let party = ThreadAtSite { site, block: self.warp_id.block, thread: self.thread(lane) };
        let read = Some(("shuffle from a lane that does not execute it".to_owned(), party));
        self.origins.push(Origin { read, address: None, place: String::new(), kind: OriginKind::Lane });
        if self.origins.len() < MAX_ORIGINS {
            self.known_origins.insert(key, number);
        }
        number
    }

    /// Adds a finding: in the lanes of `mask`, `what` depends on the undefined bits of `origin`.
    pub(super) fn report(&mut self, (kind, what): (&'static str, &str), site: Site, mask: u32, origin: u32) {
        let Origin { read, address, place, kind: origin_kind } = &self.origins[origin as usize];
        let other = read.clone();
        let party = |lane: usize| ThreadAtSite { site, block: self.warp_id.block, thread: self.thread(lane) };
        // Prefer the lane that read the value, if the mask contains it.
        let first = mask.trailing_zeros() as usize;
        let reader = other.as_ref().map(|(_, other)| (other.thread as usize % LANES, other.thread as usize / LANES));
        let lane = match reader {
            Some((lane, warp)) if warp == self.warp_id.warp as usize && mask >> lane & 1 != 0 => lane,
            _ => first,
        };
        let found = RawFinding {
            what: match origin_kind {
                OriginKind::Register => format!("{what} depends on an uninitialized register"),
                OriginKind::Memory(_) => format!("{what} depends on uninitialized memory"),
                OriginKind::Lane => {
                    format!("{what} depends on what a shuffle reads from a lane that does not execute it")
                }
            },
            action: Some("used".to_owned()),
            help: match origin_kind {
                OriginKind::Register => "give the variable a value on every path to this use",
                OriginKind::Memory(Space::Shared) => {
                    "write each element before it is read, and put {sync_threads} between the writes and the reads"
                }
                OriginKind::Memory(Space::Local | Space::Param) => "write each element before it is read",
                OriginKind::Memory(_) => "fill the buffer before the launch, or write each element before it is read",
                OriginKind::Lane => "let every lane whose value another lane reads execute the shuffle",
            }
            .into(),
            party: party(lane),
            address: *address,
            place: Some(place.clone()).filter(|place| !place.is_empty()),
            other: other.clone(),
        };
        let other_site = other.map(|(_, party)| party.site);
        self.findings.add(kind, site, other_site, mask.count_ones().into(), || found);
    }
}
