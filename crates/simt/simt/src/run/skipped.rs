//! Accesses that a launch skips instead of faulting, for observers that request it
//! ([`Requests::SKIPS`](crate::observe::Requests::SKIPS)).

use std::collections::HashMap;
use std::mem::{Discriminant, discriminant};

use super::block::BlockFault;
use crate::memory::{AccessFault, AccessProblem};
use crate::observe::{Site, WarpId};
use crate::regs::LANES;
use crate::run::fault::{Fault, FaultKind};

/// The maximum number of distinct skipped accesses that are recorded. Further accesses are only counted.
const KEPT: usize = 256;
/// The accesses that a finished launch has skipped.
#[derive(Debug, Default)]
pub struct SkippedFaults {
    /// The fault of each distinct access, and the number of lanes that made the access.
    pub faults: Vec<(Fault, u64)>,
    /// Whether the launch ended because it reached the limit of skipped accesses.
    pub is_full: bool,
    /// The number of lanes whose accesses are not recorded.
    pub left_out: u64,
}

/// The instruction, the calls that led to it, and the kind of problem with the access.
type Key = (Site, Vec<Site>, Discriminant<AccessProblem>);

/// The accesses that a running launch has skipped.
#[derive(Debug, Default)]
pub(super) struct Skipped {
    /// For each distinct access: the number of the block, the fault of the first lane, and the number of lanes that
    /// made the access.
    found: Vec<(u64, BlockFault, u64)>,
    known: HashMap<Key, usize>,
    lanes: u64,
    left_out: u64,
}

impl SkippedFaults {
    /// The largest number of lane accesses that a launch skips. The launch ends at the next invalid access, because a
    /// loop may be waiting for the effect of a skipped access.
    pub const MOST: u64 = 1 << 20;
}

impl Skipped {
    /// Skips an invalid access of a lane.
    ///
    /// # Errors
    /// Returns the fault when the launch has skipped too many accesses, or when the fault does not concern an address.
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

    /// Converts each recorded fault with `describe`, which adds the fault's position.
    pub(super) fn described(self, describe: impl Fn(u64, BlockFault) -> Fault) -> SkippedFaults {
        let Self { found, lanes, left_out, .. } = self;
        let faults = found.into_iter().map(|(block, fault, lanes)| (describe(block, fault), lanes)).collect();
        SkippedFaults { faults, is_full: lanes == SkippedFaults::MOST, left_out }
    }
}
