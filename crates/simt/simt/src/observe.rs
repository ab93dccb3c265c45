//! Observers of a launch: counters, sanitizers and traces.
//!
//! The simulator is generic over the observer of a launch. The default observer, `()`, requests no calls, so the
//! compiler removes the calls. If speed does not matter, wrap a [`DynObserver`] in a [`Boxed`] to use it as an
//! observer.
//!
//! For an example, see the crate `simt-coalescing`, which implements a check in about a hundred lines.

/// Calls a macro with the list of all events, which are the methods of [`Observer`].
#[macro_export]
macro_rules! every_event {
    ($make:ident) => {
        $make! {
            /// A warp starts its turn: the following calls concern this warp, until the next call of this method.
            turn(warp_id: WarpId);
            /// `count` consecutive instructions from `first` on were executed with these lanes active. Lanes that an
            /// instruction's guard disables count as active. The simulator may call [`access`](Observer::access) for
            /// these instructions before this method.
            executed(first: Site, count: u32, active: u32);
            /// The lanes of `active` executed a branch; the lanes of `taken` jump. For an indexed branch, `taken` is
            /// one group of lanes that jump to the same target; this group is all lanes if they have one target.
            branch(site: Site, active: u32, taken: u32);
            /// A memory instruction was executed.
            access(site: Site, warp_id: WarpId, access: &Access<'_>);
            /// A memory instruction was executed, and `places` finds the memory that the instruction accessed; only
            /// with [`Requests::PLACES`].
            located(site: Site, warp_id: WarpId, access: &Access<'_>, places: &Places<'_>);
            /// An instruction is about to be executed; only with [`Requests::STEPS`].
            step(step: &Step<'_>);
            /// Lanes of a warp arrived at a barrier.
            barrier(arrival: &BarrierArrival);
            /// All threads that barrier `id` of the block waits for have arrived, and the waiting threads continue.
            released(block: u64, id: u32);
            /// Lanes of a warp met at an instruction with a `membermask`, such as `bar.warp.sync` or `shfl.sync`.
            synchronized(site: Site, warp_id: WarpId, lanes: u32);
            /// Lanes of a warp waited for each other at `bar.warp.sync`, which also orders memory accesses. If the
            /// lanes reached different `bar.warp.sync` instructions, this method is called for each instruction, in
            /// direct succession and with the same lanes.
            warp_barrier(site: Site, warp_id: WarpId, lanes: u32);
            /// Lanes of a warp arrived at the cluster's barrier or, if `waits` is true, wait at it.
            cluster_barrier(site: Site, warp_id: WarpId, lanes: u32, waits: bool);
            /// All threads have arrived at the barrier of a block's cluster.
            cluster_released(block: u64);
            /// The blocks with these numbers, ordered by rank, start as a cluster.
            cluster(blocks: &[u64]);
            /// Lanes of a warp executed a fence.
            fence(site: Site, warp_id: WarpId, lanes: u32, scope: Scope);
            /// A lane of a warp issued an asynchronous operation; only with [`Requests::ASYNCHRONOUS`]. `cp.async` is
            /// excluded because it is an access.
            issued(site: Site, warp_id: WarpId, issue: &Issue, places: &Places<'_>);
            /// Lanes of a warp committed their asynchronous copies as a group, or waited for groups.
            async_group(site: Site, warp_id: WarpId, lanes: u32, group: AsyncGroup);
            /// Lanes of a warp called a function or returned from one; only with [`Requests::STEPS`].
            frames(site: Site, warp_id: WarpId, lanes: u32, change: &FrameChange);
            /// Threads of a warp ended.
            exited(site: Site, warp_id: WarpId, lanes: u32);
            /// Threads relied on behavior that the PTX ISA leaves undefined, although the simulator continues; only
            /// with [`Requests::MISTAKES`].
            mistake(site: Site, warp_id: WarpId, lanes: u32, mistake: &Mistake);
            /// The state of an mbarrier changed, or a thread used it; only with [`Requests::ASYNCHRONOUS`]. The effect
            /// of an asynchronous operation is reported with the next instruction that uses an mbarrier.
            mbarrier(site: Site, warp_id: WarpId, event: &MbarrierEvent);
            /// All threads of a block have ended.
            block_ended(block: u64);
            /// A block starts on this host thread, with this number of warps and threads.
            block(block: u64, warps: u32, threads: u32);
            /// `malloc` returned this device memory to a thread. The memory may have belonged to another thread before.
            given(address: u64, bytes: u64);
            /// Zeroed device memory was allocated for a variable, or by the host through
            /// [`Observed`](crate::run::Observed).
            allocated(address: u64, bytes: u64);
            /// The host copied data to device memory or filled it, or a variable received its initial value.
            written(address: u64, bytes: u64);
            /// The host read device memory.
            read(address: u64, bytes: u64);
            /// The device memory that starts at an address was freed.
            freed(address: u64);
        }
    };
}

/// Defines each event of [`every_event`](crate::every_event) as a method that does nothing, for the default methods of
/// a trait.
#[macro_export]
macro_rules! nothing {
    ($($(#[$doc:meta])* $method:ident($($arg:ident: $ty:ty),+);)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        fn $method(&mut self, $($arg: $ty),+) {
            let _ = ($($arg,)+);
        }
    )*};
}

mod blocks;
mod boxed;
mod frames;
mod paths;
mod registers;
mod requests;

use crate::operands::Operands;
pub use crate::regs::Reg;
pub use crate::vectors::Pattern;
pub use blocks::BlockFilter;
pub use boxed::{Boxed, DynObserver};
pub use frames::{FrameChange, FramePlace};
pub(crate) use paths::Paths;
pub use paths::{Path, Waits};
pub use ptx::ast::Space;
pub use registers::Registers;
pub use requests::Requests;

/// An instruction of a program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site {
    /// The index of the function in the program (`code::Program::functions`).
    pub function: u32,
    /// The index of the instruction in the function (`code::Func::code`).
    pub pc: u32,
}

/// The kind of access of a memory instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the variants are the kinds")]
pub enum AccessKind {
    Load,
    Store,
    /// `atom`: reads, changes and returns the old value.
    Atomic,
    /// `red`: changes the value and returns nothing.
    Reduction,
    /// `cp.async`: from global to shared memory, reported as two accesses, the read and the write.
    AsyncCopy,
}

/// A memory instruction of a warp.
#[derive(Debug, Clone, Copy)]
pub struct Access<'a> {
    /// The space that contains the addresses. An instruction with generic addresses is reported as one access for each
    /// space that its lanes address.
    pub space: Space,
    /// The kind of access.
    pub kind: AccessKind,
    /// The number of bytes that each lane accesses, for all elements of a vector.
    pub bytes: u32,
    /// The active lanes.
    pub mask: u32,
    /// The rank of the block whose shared memory is accessed; `None` for the executing block.
    pub rank: Option<u32>,
    /// The comparison of the stored values, if the observer requests it ([`values`](Observer::values)).
    pub stored: StoredValues,
    /// The addresses of the active lanes: generic addresses for global memory, offsets for other spaces.
    pub addresses: &'a [u64; 32],
    /// The patterns of the addresses in the two halves of the warp, if all lanes are active and the simulator knows the
    /// patterns.
    pub patterns: Option<[Pattern; 2]>,
}

/// A comparison of the stored values with each other and with the previous contents of memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoredValues {
    /// The lanes that stored the value that memory already held.
    pub unchanged: u32,
    /// Whether all lanes stored the same value.
    pub alike: bool,
}

/// An instruction of a warp, before it is executed.
#[derive(Debug)]
pub struct Step<'a> {
    /// The instruction.
    pub site: Site,
    /// The warp.
    pub warp_id: WarpId,
    /// The active lanes.
    pub active: u32,
    /// The active lanes for which the guard is true; these lanes execute the instruction.
    pub lanes: u32,
    /// The registers of the function, with the values that the instruction reads.
    pub registers: Registers<'a>,
    pub(crate) operands: Operands<'a>,
    /// The registers that hold the addresses of a load, a store, an atomic or an mbarrier operation; for `cp.async`,
    /// the destination and the source. [`Registers::name`] returns `None` for a register that holds the address of a
    /// variable.
    pub addresses: Vec<Reg>,
    /// The position of the function's frame in the warp's registers and local memory.
    pub frame: FramePlace,
    /// The bytes of the block's shared memory.
    pub shared: &'a [u8],
    pub(crate) paths: Paths<'a>,
}

/// The registers that the instruction reads and writes. With this information, an observer can track metadata of each
/// value, such as the allocation that a pointer belongs to, and compare the metadata with the [`Access`] that follows.
impl<'a> Step<'a> {
    /// Returns the registers that the instruction reads, including its guard, the carry flag, and registers that hold
    /// an immediate or a special register.
    #[must_use]
    pub fn reads(&self) -> &'a [Reg] {
        self.operands.reads
    }

    /// Returns the registers that the instruction writes, in the order of its operands.
    #[must_use]
    pub fn writes(&self) -> &'a [Reg] {
        self.operands.writes
    }

    /// Appends the entries of the warp's reconvergence stack, the lowest first. The warp executes the last entry.
    pub fn stack(&self, entries: &mut Vec<Path>) {
        (self.paths.0)(entries);
    }
}

/// Lanes of a warp that arrive at a barrier of the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BarrierArrival {
    /// The instruction.
    pub site: Site,
    /// The warp.
    pub warp_id: WarpId,
    /// The number of the barrier, one of 16 in the block.
    pub id: u32,
    /// The number of threads that the barrier waits for; `None` for all threads of the block.
    pub count: Option<u32>,
    /// The lanes that arrive.
    pub lanes: u32,
    /// Whether the lanes wait at the barrier: false for `bar.arrive`.
    pub waits: bool,
}

/// The set of threads for which an access or a fence orders memory accesses (PTX ISA, "Scope").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the variants are the modifiers")]
pub enum Scope {
    Cta,
    Cluster,
    Gpu,
    Sys,
}

/// How an access or a fence orders the thread's other accesses (PTX ISA, "Operation types").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the modifiers")]
pub enum Semantics {
    Weak,
    /// Like `Relaxed`, among all threads of the system.
    Volatile,
    Relaxed,
    // `Order::releases` and `Order::acquires` each check two adjacent variants, so that one comparison suffices.
    Release,
    AcqRel,
    Acquire,
}

/// The memory order of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// The ordering semantics.
    pub semantics: Semantics,
    /// The threads for which the ordering holds; meaningless for weak accesses.
    pub scope: Scope,
}

impl Order {
    /// The order of plain accesses.
    pub const WEAK: Self = Self { semantics: Semantics::Weak, scope: Scope::Cta };

    /// Returns whether the access is not weak, so each value is accessed individually.
    #[must_use]
    #[inline(always)]
    pub fn is_strong(self) -> bool {
        self.semantics != Semantics::Weak
    }

    /// Returns whether the order is `.acquire` or `.acq_rel`.
    #[must_use]
    #[inline(always)]
    pub fn acquires(self) -> bool {
        matches!(self.semantics, Semantics::Acquire | Semantics::AcqRel)
    }

    /// Returns whether the order is `.release` or `.acq_rel`.
    #[must_use]
    #[inline(always)]
    pub fn releases(self) -> bool {
        matches!(self.semantics, Semantics::Release | Semantics::AcqRel)
    }
}

/// The kind of a fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FenceKind {
    /// `.sc`, and `membar`
    Sc,
    /// `.acq_rel`, `.acquire`, `.release`
    AcqRel,
    /// `.mbarrier_init`
    MbarrierInit,
    /// `.proxy.async` and its variants
    ProxyAsync,
    /// Any other `.proxy` fence.
    Proxy,
}

/// A location that an asynchronous operation reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Location {
    /// A block's rank, and an offset in its shared memory.
    Shared(u32, u64),
    /// An address.
    Global(u64),
}

/// An asynchronous operation of a lane, or a part of such an operation: the memory that is read and written. Bytes in
/// registers are excluded. Reads of `wgmma.mma_async` are attributed to lane 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Issue {
    /// The lane.
    pub lane: u32,
    /// The location that is read.
    pub from: Option<Location>,
    /// The location that is written.
    pub to: Option<Location>,
    /// The number of bytes.
    pub bytes: u32,
    /// The mbarrier that is signaled, as the rank of its block in the cluster and its offset in shared memory. Without
    /// an mbarrier, the operation belongs to a group.
    pub mbarrier: Option<(u32, u64)>,
    /// For a copy of a tensor's tile: the generic address of the tensor map, and the address of the tensor in the map.
    pub tensor: Option<(u64, u64)>,
}

/// An instruction that commits asynchronous copies as a group, or waits for groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsyncGroup {
    /// `cp.async.commit_group`
    Commit,
    /// `cp.async.wait_group`: waits until at most this number of the most recent groups are in flight.
    Wait(u64),
    /// `cp.async.wait_all`
    WaitAll,
}

/// Behavior that the PTX ISA leaves undefined, after which the simulator continues as a GPU does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    /// A lane's `membermask` names another lane that also executes the instruction, but with a different mask.
    DifferentMasks {
        /// The lane and its mask.
        lane: (u32, u32),
        /// The other lane and its mask.
        other: (u32, u32),
    },
    /// The `membermask` of the lanes does not name the lanes themselves.
    UnnamedLanes,
    /// The `membermask` of the executing lanes names lanes that ended without executing the instruction. The ended
    /// lanes had already passed the point where they would have reconverged with the executing lanes.
    EndedLanes {
        /// The lanes that have ended.
        lanes: u32,
        /// The instruction at which a lane of the warp ended most recently.
        at: Site,
        /// The lane that ended there.
        lane: u32,
    },
    /// The shuffle of the lanes reads from lanes that do not participate, because they have ended or the mask does not
    /// name them.
    AbsentSource,
    /// A block ended before a thread waited for an asynchronous operation on its shared memory. The site, the warp and
    /// the lanes identify the instruction that issued the operation.
    CopyInFlight {
        /// The number of the block with the shared memory.
        block: u64,
        /// The offset in the shared memory.
        at: u64,
        /// The size in bytes of one contiguous piece of a lane's operation.
        bytes: u32,
        /// Whether the operation writes the shared memory.
        write: bool,
    },
}

/// An event of an mbarrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MbarrierEvent {
    /// The rank of the block whose shared memory contains the mbarrier.
    pub rank: u32,
    /// The offset in that memory.
    pub at: u64,
    /// The kind of event.
    pub what: MbarrierUse,
    /// The lanes that caused the event; 0 for the end of a phase.
    pub lanes: u32,
}

/// The kind of an mbarrier event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the instructions")]
pub enum MbarrierUse {
    Init,
    Inval,
    Arrive,
    /// `expect_tx`, `complete_tx`
    Bytes,
    /// `cp.async.mbarrier.arrive`: the `cp.async` operations of the lanes arrive when they complete.
    CopiesArrive,
    /// `test_wait`, `try_wait`
    Wait {
        /// Whether the awaited phase is over.
        over: bool,
        /// Whether the instruction identifies the phase by its parity instead of by the state from an arrival.
        by_parity: bool,
    },
    /// The current phase ended, and the next phase starts.
    PhaseEnds,
}

/// The memory that contains an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place<'a> {
    /// The name of the variable in the PTX; `None` for memory that the host allocated and for dynamic shared memory.
    pub variable: Option<&'a str>,
    /// The start address of the variable or allocation.
    pub base: u64,
    /// The size in bytes.
    pub bytes: u64,
}

/// Finds the memory that contains an address.
pub struct Places<'a>(pub(crate) &'a dyn Fn(Space, u64) -> Option<Place<'a>>);

impl<'a> Places<'a> {
    /// Finds no memory.
    pub const NONE: Self = Self(&|_, _| None);

    /// Returns the memory that contains an address in global, constant or shared memory, given as in
    /// [`Access::addresses`]. Returns `None` for other spaces, and if there is no memory at the address.
    pub fn find(&self, space: Space, address: u64) -> Option<Place<'a>> {
        (self.0)(space, address)
    }
}

/// The position of a warp in its grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WarpId {
    /// The block's number, with x fastest.
    pub block: u64,
    /// The warp's number in its block.
    pub warp: u32,
}

/// An observer of a launch. Each host thread has a separate observer; the observers are merged at the end in arbitrary
/// order.
pub trait Observer: Send + Sized {
    /// The events that the observer requests.
    const REQUESTS: Requests = Requests::CALLS;

    /// Returns whether the simulator must fill in [`Access::stored`].
    fn values(&self) -> bool {
        false
    }

    /// Returns whether the simulator must call [`step`](Self::step) for the next instruction; only with
    /// [`Requests::STEPS`].
    fn steps(&self) -> bool {
        true
    }

    /// Returns whether the observer records which bytes of device memory the launch writes. After a launch whose
    /// observer does not record writes, all device memory counts as written.
    fn records_writes(&self) -> bool {
        false
    }

    /// Creates an observer for another host thread.
    fn fork(&self) -> Self;

    /// Adds the observations of another observer to this one.
    fn merge(&mut self, other: Self);

    every_event!(nothing);
}

impl Observer for () {
    const REQUESTS: Requests = Requests::NONE;

    fn fork(&self) -> Self {}
    fn merge(&mut self, (): Self) {}
}

/// Defines methods that forward a call to both observers of a pair.
macro_rules! both {
    ($($(#[$doc:meta])* $method:ident($($arg:ident: $ty:ty),+);)*) => {$(
        #[inline(always)]
        fn $method(&mut self, $($arg: $ty),+) {
            self.0.$method($($arg),+);
            self.1.$method($($arg),+);
        }
    )*};
}

/// A pair of observers of one launch.
impl<A: Observer, B: Observer> Observer for (A, B) {
    const REQUESTS: Requests = A::REQUESTS.and(B::REQUESTS);

    fn steps(&self) -> bool {
        A::REQUESTS.has(Requests::STEPS) && self.0.steps() || B::REQUESTS.has(Requests::STEPS) && self.1.steps()
    }

    fn values(&self) -> bool {
        self.0.values() || self.1.values()
    }

    fn records_writes(&self) -> bool {
        self.0.records_writes() || self.1.records_writes()
    }

    fn fork(&self) -> Self {
        (self.0.fork(), self.1.fork())
    }

    fn merge(&mut self, other: Self) {
        self.0.merge(other.0);
        self.1.merge(other.1);
    }

    every_event!(both);
}
