//! Observers of a launch: counters, checks and traces.
//!
//! The machine is generic over the observer of a launch. The plain one, `()`, asks for nothing, and the
//! compiler removes the calls. Where speed does not matter, a [`DynObserver`] is an observer too, as a [`Boxed`].
//!
//! The crate `simt-coalescing` is an example: a check of about a hundred lines in a separate crate.

/// Calls a macro with the list of all events, which are the methods of [`Observer`].
#[macro_export]
macro_rules! every_event {
    ($make:ident) => {
        $make! {
            /// A warp begins its turn: the calls that follow are about this warp, up to the next turn.
            turn(warp_id: WarpId);
            /// `count` instructions from `first` on were executed in a row, with these lanes active. Lanes that
            /// an instruction's guard turns off count as active. The calls of [`access`](Observer::access) for these instructions
            /// may come before this call.
            executed(first: Site, count: u32, active: u32);
            /// A branch was executed by `active`; `taken` of them jump. Of an indexed branch, `taken` is one of
            /// the groups that jump to the same target: all, if there is one only.
            branch(site: Site, active: u32, taken: u32);
            /// A memory instruction was executed.
            access(site: Site, warp_id: WarpId, access: &Access<'_>);
            /// A memory instruction was executed, and `places` tells whose memory it accessed; only with
            /// [`Requests::PLACES`].
            located(site: Site, warp_id: WarpId, access: &Access<'_>, places: &Places<'_>);
            /// An instruction is going to be executed; only with [`Requests::STEPS`].
            step(step: &Step<'_>);
            /// Lanes of a warp arrived at a barrier.
            barrier(arrival: &BarrierArrival);
            /// All threads have arrived that barrier `id` of the block waits for, and those that wait go on.
            released(block: u64, id: u32);
            /// Lanes of a warp met at an instruction with a `membermask`: `bar.warp.sync`, `shfl.sync` and the like.
            synchronized(site: Site, warp_id: WarpId, lanes: u32);
            /// Lanes of a warp waited for each other at `bar.warp.sync`, which orders memory too. If they came to different
            /// instructions, it is told of each of these with the same lanes, one right after the other.
            warp_barrier(site: Site, warp_id: WarpId, lanes: u32);
            /// Lanes of a warp arrived at the cluster's barrier, or wait for it.
            cluster_barrier(site: Site, warp_id: WarpId, lanes: u32, waits: bool);
            /// All threads have arrived at the barrier of a block's cluster.
            cluster_released(block: u64);
            /// The blocks with these numbers begin as a cluster, by their ranks.
            cluster(blocks: &[u64]);
            /// Lanes of a warp executed a fence.
            fence(site: Site, warp_id: WarpId, lanes: u32, scope: Scope);
            /// A lane of a warp issued an asynchronous operation other than `cp.async`, which is an access; only with
            /// [`Requests::ASYNCHRONOUS`].
            issued(site: Site, warp_id: WarpId, issue: &Issue, places: &Places<'_>);
            /// Lanes of a warp grouped the asynchronous copies that they had issued, or waited for groups.
            async_group(site: Site, warp_id: WarpId, lanes: u32, group: AsyncGroup);
            /// Lanes of a warp called a function or returned from one; only with [`Requests::STEPS`].
            frames(site: Site, warp_id: WarpId, lanes: u32, change: &FrameChange);
            /// Threads of a warp ended.
            exited(site: Site, warp_id: WarpId, lanes: u32);
            /// Threads did what the PTX ISA leaves undefined, although the machine goes on; only with
            /// [`Requests::MISTAKES`].
            mistake(site: Site, warp_id: WarpId, lanes: u32, mistake: &Mistake);
            /// Something happened to an mbarrier; only with [`Requests::ASYNCHRONOUS`]. What an asynchronous operation did
            /// is told with the next instruction that does something to one.
            mbarrier(site: Site, warp_id: WarpId, event: &MbarrierEvent);
            /// All threads of a block have ended.
            block_ended(block: u64);
            /// A block begins on this host thread, with this many warps and threads.
            block(block: u64, warps: u32, threads: u32);
            /// `malloc` has given a thread so many bytes of device memory, which may have been another one's before.
            given(address: u64, bytes: u64);
            /// Device memory was allocated, and is zero: by the host through [`Observed`](crate::run::Observed), or for a variable.
            allocated(address: u64, bytes: u64);
            /// The host wrote device memory: it copied to it or filled it, or a variable got its initial value.
            written(address: u64, bytes: u64);
            /// The host read device memory.
            read(address: u64, bytes: u64);
            /// The device memory that begins at an address was freed.
            freed(address: u64);
        }
    };
}

/// Makes each event of [`every_event`](crate::every_event) a method that does nothing: the defaults of a trait.
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
pub use blocks::OfBlocks;
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
    /// Index into the functions of a program (`code::Program::functions`).
    pub function: u32,
    /// Index into the instructions of a function (`code::Func::code`).
    pub pc: u32,
}

/// The kind of access that a memory instruction does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the variants are the kinds")]
pub enum AccessKind {
    Load,
    Store,
    /// `atom`: reads, changes and returns.
    Atomic,
    /// `red`: changes and returns nothing.
    Reduction,
    /// `cp.async`: from global to shared memory; there are two accesses, the read and the write.
    AsyncCopy,
}

/// One memory instruction of one warp.
#[derive(Debug, Clone, Copy)]
pub struct Access<'a> {
    /// Where the addresses lie. An instruction with generic addresses shows as one access for each space
    /// that its lanes address.
    pub space: Space,
    /// The kind of access.
    pub kind: AccessKind,
    /// Bytes for each lane, all elements of a vector together.
    pub bytes: u32,
    /// The lanes that take part.
    pub mask: u32,
    /// The rank in the cluster of the block whose shared memory it is; `None` for the own.
    pub rank: Option<u32>,
    /// How the values of a store compare, for an observer that asks ([`values`](Observer::values)).
    pub stored: StoredValues,
    /// Addresses of those lanes: of the generic space for global memory, offsets for the others.
    pub addresses: &'a [u64; 32],
    /// The patterns of the addresses in the two halves of a warp, if all lanes take part and the machine knows them.
    pub patterns: Option<[Pattern; 2]>,
}

/// How the values that a store writes compare with each other and with what was there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoredValues {
    /// The lanes that wrote what was there before.
    pub unchanged: u32,
    /// Whether all lanes wrote the same.
    pub alike: bool,
}

/// One instruction of one warp, before it is executed.
#[derive(Debug)]
pub struct Step<'a> {
    /// The instruction.
    pub site: Site,
    /// The warp.
    pub warp_id: WarpId,
    /// The lanes that come to it.
    pub active: u32,
    /// Those of them that execute it, its guard being true for them.
    pub lanes: u32,
    /// The registers of its function, with the values that it reads.
    pub registers: Registers<'a>,
    pub(crate) operands: Operands<'a>,
    /// The registers whose values are the addresses that a load, a store, an atomic or an mbarrier operation accesses;
    /// those of destination and source for `cp.async`. [`Registers::name`] has none for one that holds the address of a
    /// variable.
    pub addresses: Vec<Reg>,
    /// Where the frame of its function lies among what the warp has.
    pub frame: FramePlace,
    /// The bytes of the block's shared memory.
    pub shared: &'a [u8],
    pub(crate) paths: Paths<'a>,
}

/// Which registers the instruction reads and writes. With them an observer can carry along what it knows of each value,
/// such as the allocation that a pointer was made for, and compare it with the [`Access`] that follows.
impl<'a> Step<'a> {
    /// The registers that the instruction reads: its guard, the carry flag, and those with the value of a number or special
    /// register among them.
    #[must_use]
    pub fn reads(&self) -> &'a [Reg] {
        self.operands.reads
    }

    /// The registers that it writes, in the order of its operands.
    #[must_use]
    pub fn writes(&self) -> &'a [Reg] {
        self.operands.writes
    }

    /// Appends the entries of the warp's reconvergence stack, the lowest first. The last one is executed.
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
    /// Which of the block's 16 barriers.
    pub id: u32,
    /// The number of threads that it waits for; all of the block's if `None`.
    pub count: Option<u32>,
    /// The lanes that arrive.
    pub lanes: u32,
    /// Whether they wait: those that `bar.arrive` do not.
    pub waits: bool,
}

/// The threads that a fence orders memory accesses for (PTX ISA, "Scope").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the variants are the modifiers")]
pub enum Scope {
    Cta,
    Cluster,
    Gpu,
    Sys,
}

/// How an access or a fence orders other accesses of its thread (PTX ISA, "Operation types").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the modifiers")]
pub enum Semantics {
    Weak,
    /// As `Relaxed`, among all threads of the system.
    Volatile,
    Relaxed,
    // `Order::releases` and `Order::acquires` each ask for two that follow each other: one comparison for each access.
    Release,
    AcqRel,
    Acquire,
}

/// The memory order of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// What it orders.
    pub semantics: Semantics,
    /// The threads that it is meant for; nothing for weak accesses.
    pub scope: Scope,
}

impl Order {
    /// That of plain accesses.
    pub const WEAK: Self = Self { semantics: Semantics::Weak, scope: Scope::Cta };

    /// Whether each value is accessed by itself: whether it is not weak.
    #[must_use]
    #[inline(always)]
    pub fn is_strong(self) -> bool {
        self.semantics != Semantics::Weak
    }

    /// Whether it is `.acquire` or `.acq_rel`.
    #[must_use]
    #[inline(always)]
    pub fn acquires(self) -> bool {
        matches!(self.semantics, Semantics::Acquire | Semantics::AcqRel)
    }

    /// Whether it is `.release` or `.acq_rel`.
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
    /// Another `.proxy`.
    Proxy,
}

/// A place that an asynchronous operation reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Location {
    /// The block's rank, and an offset in its shared memory.
    Shared(u32, u64),
    /// An address.
    Global(u64),
}

/// An asynchronous operation that a lane has issued, or a part of it: bytes that are read and written, except those in
/// registers. What `wgmma.mma_async` reads is lane 0's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Issue {
    /// The lane.
    pub lane: u32,
    /// Where they are read.
    pub from: Option<Location>,
    /// Where they are written.
    pub to: Option<Location>,
    /// How many.
    pub bytes: u32,
    /// The mbarrier that is told, by the rank of its block in the cluster and its place in shared memory; if there is none,
    /// the operation belongs to a group.
    pub mbarrier: Option<(u32, u64)>,
    /// For a copy of a tensor's tile where the tensor map lies, a generic address, and where the map says that the tensor
    /// begins.
    pub tensor: Option<(u64, u64)>,
}

/// An instruction that groups asynchronous copies, or waits for groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsyncGroup {
    /// `cp.async.commit_group`
    Commit,
    /// `cp.async.wait_group`: until only so many of the last groups are under way.
    Wait(u64),
    /// `cp.async.wait_all`
    WaitAll,
}

/// Something that the PTX ISA leaves undefined, where the machine goes on as a GPU may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    /// A lane's `membermask` names another lane that executes the instruction too, but with another mask.
    DifferentMasks {
        /// The lane, and its mask.
        own: (u32, u32),
        /// The lane that it names, and that one's mask.
        other: (u32, u32),
    },
    /// The lanes' `membermask` does not name them.
    UnnamedLanes,
    /// The lanes' `membermask` names lanes that have ended without executing the instruction, after they ran past the
    /// place where they would have reconverged with these lanes.
    EndedLanes {
        /// The lanes that have ended.
        lanes: u32,
        /// Where a lane of the warp has ended last.
        at: Site,
        /// That lane.
        lane: u32,
    },
    /// The lanes' shuffle reads from lanes that take no part in it: that have ended, or that the mask does not name.
    AbsentSource,
    /// A block has ended before an asynchronous operation on its shared memory was waited for. The site, the warp and the
    /// lanes are those that issued the operation.
    UnderWay {
        /// The block whose shared memory it is.
        block: u64,
        /// Where in it.
        at: u64,
        /// The bytes of one lane's operation, in one piece.
        bytes: u32,
        /// Whether the operation writes there.
        write: bool,
    },
}

/// Something that happened to an mbarrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MbarrierEvent {
    /// The rank in the cluster of the block whose shared memory it is in.
    pub rank: u32,
    /// Where it is in that memory.
    pub at: u64,
    /// What happened.
    pub what: MbarrierUse,
    /// The lanes that did it; none where its phase ended.
    pub lanes: u32,
}

/// What happened to an mbarrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the instructions")]
pub enum MbarrierUse {
    Init,
    Inval,
    Arrive,
    /// `expect_tx`, `complete_tx`
    Bytes,
    /// `cp.async.mbarrier.arrive`: the `cp.async` of the lanes arrive when they are done.
    CopiesArrive,
    /// `test_wait`, `try_wait`
    Wait {
        /// Whether the phase is over.
        over: bool,
        /// Whether the phase was named by its parity, and not by the state that an arrival gave.
        by_parity: bool,
    },
    /// The current phase has ended, and the next one begins.
    PhaseEnds,
}

/// The memory that an address belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place<'a> {
    /// The variable's name, as the PTX has it; `None` for memory that the host allocated and for dynamic shared memory.
    pub variable: Option<&'a str>,
    /// The address at which the variable or allocation begins.
    pub base: u64,
    /// Its size.
    pub bytes: u64,
}

/// Finds the memory that an address belongs to.
pub struct Places<'a>(pub(crate) &'a dyn Fn(Space, u64) -> Option<Place<'a>>);

impl<'a> Places<'a> {
    /// Finds nothing.
    pub const NONE: Self = Self(&|_, _| None);

    /// The memory that an address of the global, constant or shared space belongs to, as [`Access::addresses`] has it.
    /// `None` for other spaces, and where nothing is.
    pub fn find(&self, space: Space, address: u64) -> Option<Place<'a>> {
        (self.0)(space, address)
    }
}

/// Where a warp is in its grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WarpId {
    /// The block's number, x fastest.
    pub block: u64,
    /// The warp's number in its block.
    pub warp: u32,
}

/// Watches a launch. Each host thread has one of its own; they are merged at the end, in no particular
/// order.
pub trait Observer: Send + Sized {
    /// What the observer requests of a launch.
    const REQUESTS: Requests = Requests::CALLS;

    /// Whether [`Access::stored`] is to be filled in.
    fn values(&self) -> bool {
        false
    }

    /// Whether [`step`](Self::step) is to be called for the next instruction; only with [`Requests::STEPS`].
    fn steps(&self) -> bool {
        true
    }

    /// Whether the observer records which bytes of device memory the launch writes. After a launch without such an observer,
    /// all device memory counts as written.
    fn records_writes(&self) -> bool {
        false
    }

    /// An observer for one more host thread.
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

/// Methods that forward a call to both observers of a pair.
macro_rules! both {
    ($($(#[$doc:meta])* $method:ident($($arg:ident: $ty:ty),+);)*) => {$(
        #[inline(always)]
        fn $method(&mut self, $($arg: $ty),+) {
            self.0.$method($($arg),+);
            self.1.$method($($arg),+);
        }
    )*};
}

/// Two observers of one launch.
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
