//! State spaces, and the instructions that access memory.
//!
//! Addresses in shared, local, constant and parameter memory are offsets from 0. In the generic address space (PTX ISA
//! §5.1, "Generic Addressing") each of these spaces has a window that starts at [`SHARED_WINDOW`], [`LOCAL_WINDOW`],
//! [`CONST_WINDOW`] or [`PARAM_WINDOW`]; every other generic address is global.

pub mod access;
pub mod address;
pub mod address_op;
pub mod async_copy;
pub mod atomic;
pub mod bulk;
pub mod cluster;
pub mod global;
pub(crate) mod in_flight;
pub mod load_store;
pub mod local;
pub mod mbarrier;
pub(crate) mod storage;
pub mod tensor;
pub mod texture;
pub(crate) mod words;

use std::fmt;
use std::sync::atomic::{Ordering, fence};

use crate::observe::{Access, AsyncGroup, FenceKind, Scope};
use crate::regs::{LANES, Lanes64, R32, R64, Reg, Regs, lanes};
use crate::vectors::Portable;
use ptx::ast::Space;

pub(crate) use access::{AccessOutcome, MemoryOp, PackedOutcome};
pub use address::{Address, Region};
use address_op::AddressOp;
use async_copy::AsyncCopy;
use atomic::Atomic;
use bulk::Bulk;
pub use cluster::{Cluster, Place};
pub use global::{Allocation, GlobalMemory};
pub use in_flight::Group;
use load_store::{Destination, Load, Store, Width, put};
pub use local::LocalMemory;
use mbarrier::Mbarrier;
pub use storage::SharedMemory;
use tensor::{MapEdit, Tensor};
use texture::Texture;

/// The generic address at which the window of shared memory starts.
pub const SHARED_WINDOW: u64 = 0x0000_7100_0000_0000;
/// The start of the window of local memory.
pub const LOCAL_WINDOW: u64 = 0x0000_7200_0000_0000;
/// The start of the window of constant memory.
pub const CONST_WINDOW: u64 = 0x0000_7300_0000_0000;
/// The start of the window of a kernel's parameters.
pub const PARAM_WINDOW: u64 = 0x0000_7400_0000_0000;
/// The size of each window.
pub const WINDOW_BYTES: u64 = 0x0000_0100_0000_0000;

/// The registers and memories that a memory instruction can access.
pub struct Env<'a, 'm> {
    /// The warp's registers.
    pub regs: Regs<'a>,
    /// The block's shared memory: static, then dynamic.
    pub shared: &'a mut SharedMemory,
    /// The warp's local memory.
    pub local: &'a mut LocalMemory,
    /// The kernel's parameters.
    pub params: &'a [u8],
    /// Constant memory.
    pub constants: &'a [u8],
    /// Device memory.
    pub global: &'m GlobalMemory,
    /// The parts of device memory that were accessed recently.
    pub recent: &'a mut Recent<'m>,
    /// The other blocks of the cluster, and its operations in flight.
    pub cluster: &'a mut Cluster,
    /// The fault of the most recent access that faulted.
    pub(crate) fault: Option<AccessFault>,
}

/// The parts of device memory that were accessed recently.
#[derive(Debug)]
pub struct Recent<'m> {
    /// The two most recently found allocations; an access to one of them needs no search.
    found: [Option<&'m Allocation>; 2],
    /// For each slot, the last address that an instruction of this slot accessed. The host address of the decoded
    /// instruction selects the slot.
    at: [u64; PLACES],
}

/// The number of slots for instructions. If two instructions share a slot, the only effect is useless prefetches.
const PLACES: usize = 64;

impl Default for Recent<'_> {
    fn default() -> Self {
        Self { found: [None; 2], at: [0; PLACES] }
    }
}

/// The result of an access.
pub(crate) type Accessed<T = ()> = Result<T, AccessFault>;

/// A callback that receives each access.
pub(crate) type Observe<'o> = dyn FnMut(&Access<'_>) + 'o;

/// An invalid access of a lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessFault {
    /// The lane.
    pub lane: u32,
    /// The address, as in the instruction.
    pub address: u64,
    /// The size of the access in bytes.
    pub bytes: u32,
    /// The required alignment of the address.
    pub align: u32,
    /// Whether the access is a write.
    pub write: bool,
    /// The reason why the access is invalid.
    pub what: AccessProblem,
    /// The space that contains the address.
    pub space: Space,
    /// The address in that space, which differs from `address` if the instruction uses generic addresses.
    pub offset: u64,
    /// The size of that space in bytes, except for global memory.
    pub space_bytes: u64,
}

impl AccessFault {
    /// Creates the fault of a lane with a description; for a texture or surface, `address` is the handle.
    pub(crate) fn in_words(lane: usize, address: u64, words: String) -> Self {
        Self::new(lane, address, (0, false), AccessProblem::Other(words), (Space::Global, 0))
    }

    /// Creates the fault of a lane that violates synchronization with other threads, with a description.
    pub(crate) fn of_synchronization(lane: usize, words: String) -> Self {
        Self::new(lane, 0, (0, false), AccessProblem::Synchronization(words), (Space::Global, 0))
    }

    /// Creates the fault of a lane that reads or writes `bytes` bytes in a space of `space_bytes` bytes.
    pub(crate) fn new(
        lane: usize,
        address: u64,
        (bytes, write): (u32, bool),
        what: AccessProblem,
        (space, space_bytes): (Space, u64),
    ) -> Self {
        let lane = lane as u32;
        Self { lane, address, bytes, align: bytes, write, what, space, offset: address, space_bytes }
    }

    /// Returns the fault as reported for an instruction whose addresses are `window` bytes above the offsets in the
    /// space.
    pub(crate) fn shifted(mut self, window: u64) -> Self {
        self.address = self.address.wrapping_add(window);
        self
    }

    /// Describes the position of the access in its space, for example `16 bytes past the end of the block's shared
    /// memory of 4096 bytes`. Returns `None` for global memory, because that description depends on the allocations.
    pub fn near(&self) -> Option<String> {
        if self.what.words().is_some() {
            return Some(String::new());
        }
        let whose = match self.space {
            Space::Shared => "the block's shared memory",
            Space::Local => "the thread's local memory",
            Space::Const => "the module's constants",
            Space::Param => "the parameters",
            Space::Global | Space::Reg | Space::Tex => return None,
        };
        let (at, bytes) = (self.offset, self.space_bytes);
        Some(if at >= bytes {
            format!("{} bytes past the end of {whose} of {bytes} bytes", at - bytes)
        } else {
            format!("at byte {at} of {whose} of {bytes} bytes")
        })
    }
}

impl fmt::Display for AccessFault {
    /// Writes the kind of the fault without its address: `out of bounds write of 4 bytes`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match &self.what {
            AccessProblem::Synchronization(words) | AccessProblem::Other(words) => return f.write_str(words),
            AccessProblem::Misaligned => "misaligned",
            AccessProblem::OutOfBounds => "out of bounds",
            AccessProblem::ReadOnly => "read-only memory:",
            AccessProblem::NotAtomic => {
                return write!(
                    f,
                    "atomic operation of {} bytes on local memory, which does not support atomics,",
                    self.bytes
                );
            }
        };
        let verb = if self.write { "write" } else { "read" };
        write!(f, "{what} {verb} of {} bytes", self.bytes)
    }
}

/// The reason that an access is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccessProblem {
    /// The address is not a multiple of the access's size.
    Misaligned,
    /// The address is outside every allocation, or past the end of its space.
    OutOfBounds,
    /// The access writes, but the space is read-only.
    ReadOnly,
    /// The access is atomic, but its space is neither global nor shared memory, the only spaces that support atomics
    /// (PTX ISA §9.7.13.5).
    NotAtomic,
    /// Threads violate the synchronization that the operation requires: they break an mbarrier's rules, or access
    /// memory of a block that has exited. The text describes the violation.
    Synchronization(String),
    /// Any other problem, in words. For a texture or surface, the address is the handle.
    Other(String),
}

impl AccessProblem {
    /// Returns the description of the problem, if it has one.
    pub fn words(&self) -> Option<&str> {
        match self {
            Self::Synchronization(words) | Self::Other(words) => Some(words),
            Self::Misaligned | Self::OutOfBounds | Self::ReadOnly | Self::NotAtomic => None,
        }
    }
}

/// The locations that lanes store to.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Stored {
    /// The size of each store in bytes.
    bytes: u32,
    /// Whether a register receives the old value, as in an atomic operation.
    pub(crate) returns_old: bool,
    places: Vec<(Region, u64)>,
}

impl Stored {
    /// Returns whether other threads can access any of the locations.
    pub(crate) fn is_shared(&self) -> bool {
        self.places.iter().any(|(region, _)| matches!(region, Region::Shared | Region::Global))
    }

    /// Returns the current contents of the locations in shared and device memory.
    pub(crate) fn content(&self, cluster: &Cluster, global: &GlobalMemory) -> Vec<u8> {
        let mut content = Vec::new();
        for (region, at) in &self.places {
            let mut bytes = vec![0; self.bytes as usize];
            match region {
                Region::Shared => {
                    let (rank, at) = cluster.find(*at);
                    let shared = cluster.shared.get(rank as usize);
                    shared.into_iter().for_each(|memory| memory.read(at, &mut bytes));
                }
                Region::Global => global.read(*at, &mut bytes),
                _ => {}
            }
            content.append(&mut bytes);
        }
        content
    }
}

/// A memory instruction.
#[derive(Debug, Clone, PartialEq)]
pub enum Memory {
    /// `ld`, `ldu`
    Load(Load),
    /// `st`
    Store(Store),
    /// `atom`, `red`
    Atomic(Box<Atomic>),
    /// `cp.async`
    AsyncCopy(Box<AsyncCopy>),
    /// The instructions on groups of `cp.async` or `cp.async.bulk` (`commit_group`, `wait_group`, `wait_all`), and
    /// whether the instruction has `.read`.
    AsyncGroup(Group, AsyncGroup, bool),
    /// `mbarrier`
    Mbarrier(Box<Mbarrier>),
    /// `mbarrier.pending_count`
    PendingCount {
        /// The destination register.
        to: R32,
        /// The state.
        state: R64,
    },
    /// `cp.async.bulk`, `cp.reduce.async.bulk`, `st.async`, `red.async`
    Bulk(Box<Bulk>),
    /// `cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor`
    Tensor(Box<Tensor>),
    /// `tensormap.replace`, `tensormap.cp_fenceproxy`
    MapEdit(Box<MapEdit>),
    /// `membar`, `fence`
    Fence(Scope, FenceKind),
    /// `cvta`, `isspacep` and other computations with addresses, which do not access memory.
    Address(AddressOp),
    /// `tex`, `suld` and other accesses to textures and surfaces.
    Texture(Box<Texture>),
}

/// The bytes of the destination of a skipped load. Interpreted as a 16-, 32- or 64-bit floating-point number, the value
/// is a NaN; interpreted as a signed integer, it is negative.
pub const POISON: u64 = 0xfff4_fff4_fff4_fff4;

impl Memory {
    /// Returns whether lanes with an invalid access may be skipped. A thread would wait forever for a skipped
    /// asynchronous operation, unless the operation is `cp.async`.
    pub(crate) fn may_be_skipped(&self) -> bool {
        matches!(self, Memory::Load(_) | Memory::Store(_) | Memory::Atomic(_) | Memory::AsyncCopy(_))
    }

    /// Fills the destination registers of lanes whose access is skipped with [`POISON`].
    #[cold]
    pub(crate) fn poison(&self, regs: &mut Regs<'_>, mask: u32) {
        let (to, width, signed): (&[Destination], Width, bool) = match self {
            Memory::Load(op) => (&op.to, op.width, op.signed),
            Memory::Atomic(op) => (&op.to, op.width, false),
            _ => return,
        };
        for to in to {
            match width {
                Width::B1 => put(regs, *to, mask, &[POISON as u8; LANES], signed),
                Width::B2 => put(regs, *to, mask, &[POISON as u16; LANES], signed),
                Width::B4 => put(regs, *to, mask, &[POISON as u32; LANES], signed),
                Width::B8 => put(regs, *to, mask, &[POISON; LANES], signed),
            }
        }
    }

    /// Returns the registers that hold the addresses of the accessed memory.
    pub fn address_registers(&self) -> Vec<Reg> {
        match self {
            Memory::Load(op) => vec![op.address.base],
            Memory::Store(op) => vec![op.address.base],
            Memory::Atomic(op) => vec![op.address.base],
            Memory::Mbarrier(op) => vec![op.address.base],
            Memory::AsyncCopy(op) => vec![op.to.base, op.from.base],
            Memory::AsyncGroup(..)
            | Memory::PendingCount { .. }
            | Memory::Bulk(_)
            | Memory::Tensor(_)
            | Memory::MapEdit(_)
            | Memory::Fence(..)
            | Memory::Address(_)
            | Memory::Texture(_) => Vec::new(),
        }
    }

    /// Returns the locations in shared or device memory that the instruction may change.
    pub(crate) fn stores(&self, regs: &Regs<'_>, mask: u32) -> Stored {
        let (address, bytes, returns_old) = match self {
            Memory::Store(op) => (&op.address, op.bytes, false),
            Memory::Atomic(op) => (&op.address, op.shape().bytes, !op.to.is_empty()),
            _ => return Stored::default(),
        };
        let at = address.of_lanes(regs);
        let places = lanes(mask).map(|lane| match address.region {
            Region::Generic => {
                let region = Region::of(at[lane]);
                (region, at[lane].wrapping_sub(region.window()))
            }
            region => (region, at[lane]),
        });
        Stored { bytes, returns_old, places: places.collect() }
    }

    /// Runs any memory instruction on the lanes of `mask`, which is not empty, and reports its accesses to `observe`.
    /// `at` is a buffer for addresses. This function is compiled once for all observers.
    ///
    /// # Errors
    /// Returns an [`AccessFault`] when a lane's address is misaligned or out of bounds, or when a lane writes to a
    /// read-only space. The returned fault is that of the lowest such lane; if there is a fault, no lane has accessed
    /// memory.
    #[inline(never)]
    pub(crate) fn execute_slow_path(
        &self,
        env: &mut Env<'_, '_>,
        mask: u32,
        at: &mut Lanes64,
        observe: &mut Observe<'_>,
    ) -> Accessed {
        match self {
            Memory::Load(op) => access::split(op, env, mask, observe)?,
            Memory::Store(op) => access::split(op, env, mask, observe)?,
            Memory::Atomic(op) => match access::run(Portable, &**op, env, mask, at)? {
                AccessOutcome::Done(region, patterns) => observe(&op.shape().access(region, mask, at, patterns)),
                AccessOutcome::SeveralSpaces => access::split(&**op, env, mask, observe)?,
            },
            Memory::AsyncCopy(op) => op.execute(env, mask, observe)?,
            Memory::AsyncGroup(which, op, _) => {
                env.reach(|reach| in_flight::group(reach, *which, *op, mask))?;
            }
            Memory::Mbarrier(op) => env.reach(|reach| op.execute(reach, mask))?,
            Memory::PendingCount { to, state } => {
                let counts = env.regs.get64(*state).map(mbarrier::pending_count);
                env.regs.set32(*to, mask, &counts);
            }
            Memory::Tensor(op) => env.reach(|reach| op.execute(reach, mask))?,
            Memory::MapEdit(op) => env.reach(|reach| op.execute(reach, mask))?,
            Memory::Bulk(op) => env.reach(|reach| op.execute(reach, mask))?,
            Memory::Fence(..) => fence(Ordering::SeqCst),
            Memory::Address(op) => op.execute(&mut env.regs, env.cluster, mask),
            Memory::Texture(op) => op.execute(env, mask)?,
        }
        Ok(())
    }
}
