//! Accesses that a launch skips instead of ending there, for observers that ask for it
//! ([`Observer::SKIPS`](crate::observe::Observer::SKIPS)).

use std::collections::HashMap;
use std::mem::{Discriminant, discriminant};

use super::block::BlockFault;
use crate::memory::{AccessFault, AccessProblem};
use crate::observe::{Site, WarpId};
use crate::regs::LANES;
use crate::run::fault::{Fault, FaultKind};

/// The different skipped accesses that are kept. The others are counted only.
const KEPT: usize = 256;
/// What a launch that is over has skipped.
#[derive(Debug, Default)]
pub struct SkippedFaults {
    /// For each different access its fault, and how many lanes there were.
    pub faults: Vec<(Fault, u64)>,
    /// Whether the launch has ended because it skipped as many accesses as it may.
    pub is_full: bool,
    /// The lanes of the accesses that are not kept.
    pub left_out: u64,
}

/// The instruction, the calls that led there, and what is wrong with the access.
type Key = (Site, Vec<Site>, Discriminant<AccessProblem>);

/// What a launch has skipped.
#[derive(Debug, Default)]
pub(super) struct Skipped {
    /// For each different access the number of the block, the fault of the first lane, and how many lanes there were.
    found: Vec<(u64, BlockFault, u64)>,
    known: HashMap<Key, usize>,
    lanes: u64,
    left_out: u64,
}

impl SkippedFaults {
    /// The lanes' accesses that a launch skips. It ends at the next one: a loop may wait for what a skipped access would
    /// have done.
    pub const MOST: u64 = 1 << 20;
}

impl Skipped {
    /// Adds the access of a lane that cannot be done. Returns the fault if it has to end the launch.
    ///
    /// # Errors
    /// The fault, when the launch has skipped too many accesses, or when it is not about an address.
    pub(super) fn add(
        &mut self,
        site: Site,
        warp_id: WarpId,
        callers: impl Iterator<Item = Site>,
        access: AccessFault,
    ) -> Result<(), AccessFault> {
        if self.lanes == SkippedFaults::MOST || access.what.words().is_some() {
            return Err(access);
        }
        self.lanes += 1;
        let callers: Vec<Site> = callers.collect();
        let key = (site, callers, discriminant(&access.what));
        match self.known.get(&key) {
            Some(index) => self.found[*index].2 += 1,
            None if self.found.len() < KEPT => {
                let callers = key.1.iter().map(|site| (*site, Vec::new())).collect();
                self.known.insert(key, self.found.len());
                let thread = warp_id.warp * LANES as u32 + access.lane;
                let kind = FaultKind::Access { access, near: String::new() };
                self.found.push((warp_id.block, BlockFault { callers, ..BlockFault::new(site, thread, kind) }, 1));
            }
            None => self.left_out += 1,
        }
        Ok(())
    }

    /// The same, with each fault in words and with its place in the text.
    pub(super) fn described(self, describe: impl Fn(u64, BlockFault) -> Fault) -> SkippedFaults {
        let Self { found, lanes, left_out, .. } = self;
        let faults = found.into_iter().map(|(block, fault, lanes)| (describe(block, fault), lanes)).collect();
        SkippedFaults { faults, is_full: lanes == SkippedFaults::MOST, left_out }
    }
}
