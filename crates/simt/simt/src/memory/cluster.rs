//! The memory of a cluster: the shared memory of each block, and the asynchronous operations in flight between blocks.
//!
//! A shared address below `RANK_UNIT` refers to the executing block's shared memory. For the block with rank `r`,
//! `mapa` adds `(r + 1) * RANK_UNIT` to the address, unless the cluster has only one block. A cluster runs on one host
//! thread.

use super::address::{Address, Region};
use super::in_flight::InFlight;
use super::storage::SharedMemory;
use super::{AccessFault, AccessProblem, Accessed, Env, GlobalMemory};
pub use crate::observe::Location as Place;
use crate::observe::{Issue, MbarrierEvent, Site};
use crate::regs::Regs;
use ptx::ast::Space;

/// The distance in bytes between the shared memories of successive blocks in a cluster's address space.
pub(crate) const RANK_UNIT: u64 = 1 << 24;

/// The shared memory of a cluster's blocks, and the asynchronous operations that they have issued.
#[derive(Debug, Default)]
pub struct Cluster {
    /// The shared memory of each block, by rank. The executing block's shared memory is in [`Env::shared`] instead,
    /// except while an asynchronous operation is executed.
    pub(crate) shared: Vec<SharedMemory>,
    /// A mask of the blocks that have exited.
    pub(crate) exited: u32,
    /// The rank of the executing block.
    pub(crate) rank: u32,
    /// The number of the executing warp in the cluster.
    pub(crate) warp: u32,
    /// The executing instruction, if there is an observer.
    pub(crate) site: Site,
    /// Whether an observer requests mbarrier events; the next field holds the events since the last report.
    pub(crate) watched: bool,
    pub(crate) mbarrier_events: Vec<MbarrierEvent>,
    /// The asynchronous operations issued since the last report.
    pub(crate) issued: Vec<Issue>,
    pub(crate) in_flight: InFlight,
    /// The number of instructions that the cluster's warps will have executed at the end of the current turn. The clock
    /// that a kernel reads is this number minus the remaining instructions of the turn.
    pub(crate) clock: u64,
}

impl Place {
    /// Returns the place that is `bytes` bytes after this place.
    pub fn offset_by(self, bytes: u64) -> Self {
        match self {
            Place::Shared(rank, at) => Place::Shared(rank, at.wrapping_add(bytes)),
            Place::Global(at) => Place::Global(at.wrapping_add(bytes)),
        }
    }

    /// Returns the address or offset of the place within its memory.
    pub(super) fn at(self) -> u64 {
        match self {
            Place::Shared(_, at) | Place::Global(at) => at,
        }
    }
}

impl Cluster {
    /// Creates a cluster with the given number of blocks, warps, and bytes of shared memory per block.
    pub fn new(blocks: u32, warps: u32, shared_bytes: u64) -> Self {
        Self {
            shared: (0..blocks).map(|_| SharedMemory::new(shared_bytes)).collect(),
            in_flight: InFlight::new(warps as usize),
            ..Self::default()
        }
    }

    /// Returns the number of warps of each block.
    pub(crate) fn block_warps(&self) -> u32 {
        self.in_flight.warps() / (self.shared.len() as u32).max(1)
    }

    /// Resets the cluster. `poison` contains the number of bytes that become random at the start of each block's shared
    /// memory, and the random generator. The remaining shared memory becomes zero.
    pub(crate) fn begin(&mut self, poison: Option<(u64, fastrand::Rng)>) {
        self.clock = 0;
        match poison {
            None => self.shared.iter_mut().for_each(SharedMemory::clear),
            Some((bytes, mut random)) => self.shared.iter_mut().for_each(|memory| memory.poison(bytes, &mut random)),
        }
        self.exited = 0;
        self.mbarrier_events.clear();
        self.issued.clear();
        self.in_flight.clear();
    }

    /// Returns the rank of the block whose shared memory contains a shared address, and the offset in that memory.
    pub(crate) fn find(&self, at: u64) -> (u32, u64) {
        let blocks = self.shared.len() as u64;
        match (at / RANK_UNIT).checked_sub(1) {
            Some(rank) if blocks > 1 && rank < blocks => (rank as u32, at % RANK_UNIT),
            // The address is in the executing block; if it does not belong to this block either, a later check finds it
            // out of bounds.
            _ => (self.rank, at),
        }
    }

    /// Returns the place of an instruction's address.
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

    /// Returns the reason why a block's shared memory cannot be accessed, if there is one.
    pub(super) fn inaccessible(&self, rank: u32) -> Option<AccessProblem> {
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

    /// Checks that `bytes` bytes at a place can be accessed.
    pub(super) fn check(
        &self,
        global: &GlobalMemory,
        place: Place,
        bytes: u64,
        align: u64,
    ) -> Result<(), AccessProblem> {
        let inside = match place {
            Place::Shared(rank, at) => {
                if let Some(problem) = self.inaccessible(rank) {
                    return Err(problem);
                }
                let end = at.checked_add(bytes);
                end.is_some_and(|end| end <= self.shared[rank as usize].len())
            }
            Place::Global(at) => {
                bytes == 0 || global.find(at).is_some_and(|allocation| at - allocation.base + bytes <= allocation.bytes)
            }
        };
        match (place.at() % align, inside) {
            (1.., _) => Err(AccessProblem::Misaligned),
            (_, false) => Err(AccessProblem::OutOfBounds),
            _ => Ok(()),
        }
    }
}

/// The registers and memories that an asynchronous operation can access.
pub(super) struct Reach<'a, 'b, 'm> {
    pub(super) regs: Regs<'b>,
    pub(super) cluster: &'a mut Cluster,
    pub(super) params: &'a [u8],
    pub(super) constants: &'a [u8],
    pub(super) global: &'m GlobalMemory,
}

impl Reach<'_, '_, '_> {
    /// Returns the place of a lane's address.
    pub(super) fn place(&self, address: &Address, lane: usize) -> Place {
        self.cluster.place(address.region, address.lane(&self.regs, lane))
    }

    /// Returns the rank of the block that contains an mbarrier, and the mbarrier's offset in that block's shared
    /// memory.
    pub(super) fn object(&self, address: &Address, lane: usize) -> Accessed<(u32, u64)> {
        match self.place(address, lane) {
            Place::Shared(rank, at) => Ok((rank, at)),
            Place::Global(at) => {
                let words = format!("mbarrier at {at:#x}, which is not shared memory");
                Err(AccessFault::of_synchronization(lane, words))
            }
        }
    }

    /// Creates the fault of a lane's access.
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

    /// Creates the fault of a lane's operation, with a description.
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
    /// Runs `act` with access to all memories of the cluster.
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
