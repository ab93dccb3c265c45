//! The blocks of a cluster as memory sees them: the shared memory of each, and what is under way between them.
//!
//! An address of shared memory below `RANK_UNIT` is the block's own. That of the block with rank `r` is
//! `(r + 1) * RANK_UNIT` more, which `mapa` adds, unless the block is the only one. A cluster runs on one host thread.

use super::address::{Address, Region};
use super::in_flight::InFlight;
use super::storage::SharedMemory;
use super::{AccessFault, AccessProblem, Accessed, Env, GlobalMemory};
pub use crate::observe::Location as Place;
use crate::observe::{Issue, MbarrierEvent, Site};
use crate::regs::Regs;
use ptx::ast::Space;

/// The distance of the blocks' shared memories among the addresses of a cluster.
pub(crate) const RANK_UNIT: u64 = 1 << 24;

/// The shared memory of a cluster's blocks, and the asynchronous operations that they have begun.
#[derive(Debug, Default)]
pub struct Cluster {
    /// By rank. That of the block that is executing is in [`Env::shared`] instead, except while an asynchronous
    /// operation is executed.
    pub(crate) shared: Vec<SharedMemory>,
    /// A bit for each block that has exited.
    pub(crate) exited: u32,
    /// The block that is executing.
    pub(crate) rank: u32,
    /// The warp that is executing, among all of the cluster.
    pub(crate) warp: u32,
    /// The instruction that is executed, where somebody watches.
    pub(crate) site: Site,
    /// Whether somebody watches what happens to mbarriers, and what has happened since it was last told.
    pub(crate) watched: bool,
    pub(crate) told: Vec<MbarrierEvent>,
    /// The asynchronous operations that were issued since.
    pub(crate) issued: Vec<Issue>,
    pub(crate) in_flight: InFlight,
    /// The instructions that its warps will have executed when the turn of the one that is executing ends: the kernel's
    /// clock is as many as that, less those that are left of the turn.
    pub(crate) clock: u64,
}

impl Place {
    /// The place so many bytes behind.
    pub fn offset_by(self, bytes: u64) -> Self {
        match self {
            Place::Shared(rank, at) => Place::Shared(rank, at.wrapping_add(bytes)),
            Place::Global(at) => Place::Global(at.wrapping_add(bytes)),
        }
    }

    /// Where it is in its own memory.
    pub(super) fn at(self) -> u64 {
        match self {
            Place::Shared(_, at) | Place::Global(at) => at,
        }
    }
}

impl Cluster {
    /// A cluster of so many blocks and warps, each block with so many bytes of shared memory.
    pub fn new(blocks: u32, warps: u32, shared_bytes: u64) -> Self {
        Self {
            shared: (0..blocks).map(|_| SharedMemory::new(shared_bytes)).collect(),
            in_flight: InFlight::new(warps as usize),
            ..Self::default()
        }
    }

    /// The number of warps that each block has.
    pub(crate) fn block_warps(&self) -> u32 {
        self.in_flight.warps() / (self.shared.len() as u32).max(1)
    }

    /// The cluster begins anew. Where there is a `poison`, so many bytes of each block's shared memory hold what it gives, and
    /// zero otherwise.
    pub(crate) fn begin(&mut self, poison: Option<(u64, fastrand::Rng)>) {
        self.clock = 0;
        match poison {
            None => self.shared.iter_mut().for_each(SharedMemory::clear),
            Some((bytes, mut random)) => self.shared.iter_mut().for_each(|own| own.poison(bytes, &mut random)),
        }
        self.exited = 0;
        self.told.clear();
        self.issued.clear();
        self.in_flight.clear();
    }

    /// The block whose shared memory an address of the shared space lies in, and where.
    pub(crate) fn find(&self, at: u64) -> (u32, u64) {
        let blocks = self.shared.len() as u64;
        match (at / RANK_UNIT).checked_sub(1) {
            Some(rank) if blocks > 1 && rank < blocks => (rank as u32, at % RANK_UNIT),
            // Too large for the own one, if it is not.
            _ => (self.rank, at),
        }
    }

    /// The place that an address of an instruction names.
    pub(super) fn place(&self, region: Region, at: u64) -> Place {
        let region = match region {
            Region::Generic => Region::of(at),
            region => region,
        };
        match region {
            Region::Shared if at >= region.window() => {
                let (rank, at) = self.find(at - region.window());
                Place::Shared(rank, at)
            }
            Region::Shared => {
                let (rank, at) = self.find(at);
                Place::Shared(rank, at)
            }
            _ => Place::Global(at),
        }
    }

    /// Why a block's shared memory cannot be accessed, if it cannot.
    pub(super) fn closed(&self, rank: u32) -> Option<AccessProblem> {
        let blocks = self.shared.len();
        if rank as usize >= blocks {
            return Some(AccessProblem::Other(format!(
                "access to the shared memory of block {rank} of a cluster of {blocks}"
            )));
        }
        (self.exited >> rank & 1 != 0).then(|| {
            AccessProblem::Synchronization(format!(
                "access to the shared memory of block {rank} of the cluster, which has exited; \
                 let all blocks wait for each other (barrier.cluster) before they exit"
            ))
        })
    }

    /// Checks that bytes can be accessed.
    pub(super) fn check(
        &self,
        global: &GlobalMemory,
        place: Place,
        bytes: u64,
        align: u64,
    ) -> Result<(), AccessProblem> {
        let inside = match place {
            Place::Shared(rank, at) => {
                if let Some(problem) = self.closed(rank) {
                    return Err(problem);
                }
                let end = at.checked_add(bytes);
                end.is_some_and(|end| end <= self.shared[rank as usize].len())
            }
            Place::Global(at) => bytes == 0 || global.find(at).is_some_and(|own| at - own.base + bytes <= own.bytes),
        };
        match (place.at() % align, inside) {
            (1.., _) => Err(AccessProblem::Misaligned),
            (_, false) => Err(AccessProblem::OutOfBounds),
            _ => Ok(()),
        }
    }
}

/// What an asynchronous operation works on: registers, and all memories that it reaches.
pub(super) struct Reach<'a, 'b, 'm> {
    pub(super) regs: Regs<'b>,
    pub(super) cluster: &'a mut Cluster,
    pub(super) params: &'a [u8],
    pub(super) constants: &'a [u8],
    pub(super) global: &'m GlobalMemory,
}

impl Reach<'_, '_, '_> {
    /// The place that an address names for a lane.
    pub(super) fn place(&self, address: &Address, lane: usize) -> Place {
        self.cluster.place(address.region, address.lane(&self.regs, lane))
    }

    /// The block and the place of an mbarrier in its shared memory.
    pub(super) fn object(&self, address: &Address, lane: usize) -> Accessed<(u32, u64)> {
        match self.place(address, lane) {
            Place::Shared(rank, at) => Ok((rank, at)),
            Place::Global(at) => {
                let words = format!("mbarrier at {at:#x}, which is not shared memory");
                Err(AccessFault::of_synchronization(lane, words))
            }
        }
    }

    /// The fault of a lane's access.
    pub(super) fn fault(
        &self,
        lane: usize,
        (place, bytes, write): (Place, u64, bool),
        what: AccessProblem,
    ) -> AccessFault {
        let space = match place {
            Place::Shared(rank, _) => {
                (Space::Shared, self.cluster.shared.get(rank as usize).map_or(0, SharedMemory::len))
            }
            Place::Global(_) => (Space::Global, 0),
        };
        AccessFault::new(lane, place.at(), (bytes as u32, write), what, space)
    }

    /// The fault of a lane's operation, in words.
    pub(super) fn refuse(&self, lane: usize, words: String) -> AccessFault {
        AccessFault::in_words(lane, 0, words)
    }

    /// Checks an access of a lane.
    pub(super) fn check(&self, lane: usize, place: Place, bytes: u64, align: u64, write: bool) -> Accessed {
        let checked = self.cluster.check(self.global, place, bytes, align);
        let fault = |what| self.fault(lane, (place, bytes, write), what);
        checked.map_err(|what| AccessFault { align: align as u32, ..fault(what) })
    }
}

impl<'m> Env<'_, 'm> {
    /// Does something with all memories of the cluster.
    pub(super) fn reach<T>(&mut self, act: impl FnOnce(&mut Reach<'_, '_, 'm>) -> T) -> T {
        let rank = self.cluster.rank as usize;
        std::mem::swap(self.shared, &mut self.cluster.shared[rank]);
        let result = act(&mut Reach {
            regs: Regs { r32: &mut *self.regs.r32, r64: &mut *self.regs.r64, preds: &mut *self.regs.preds },
            cluster: &mut *self.cluster,
            params: self.params,
            constants: self.constants,
            global: self.global,
        });
        std::mem::swap(self.shared, &mut self.cluster.shared[rank]);
        result
    }
}
