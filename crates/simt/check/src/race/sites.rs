//! The memory effects of a kernel's instructions, by instruction number.

use std::collections::{HashMap, HashSet};

use simt::code::{Op, Program};
use simt::control;

use super::grid::Agent;
use super::patterns;
use super::trial::Weaker;
use rustc_hash::FxBuildHasher;
use simt::matrix::Matrix;
use simt::memory::atomic::{Atomic, AtomicOp};
use simt::memory::bulk::BulkSource;
use simt::memory::load_store::{Load, Store};
use simt::memory::mbarrier::MbarrierOp;
use simt::memory::{Group, Memory};
use simt::observe::{AccessKind, FenceKind, Order, Scope, Semantics, Site};

/// The name of `cp.async`.
pub(super) const COPY: &str = "asynchronous copy (cp.async)";
/// The name of matrix products that read shared memory.
pub(super) const PRODUCT: &str = "matrix product (wgmma.mma_async)";

/// The effects of an instruction on memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Info {
    pub(super) order: Order,
    pub(super) kind: AccessKind,
    /// The number of bytes that a lane accesses.
    pub(super) bytes: u8,
    /// The kind of fence, if the instruction is a fence.
    pub(super) fence: Option<FenceKind>,
    /// The agents whose operations the instruction groups or waits for, if any.
    pub(super) group: Option<&'static [Agent]>,
    /// The name of an asynchronous operation or mbarrier operation, for messages.
    pub(super) name: Option<&'static str>,
    /// Whether an arrival is `.relaxed`.
    pub(super) relaxed: bool,
    /// Whether the instruction is a volatile load or store that does not count as atomic.
    pub(super) is_volatile: bool,
    /// Whether the instruction is a load or an atomic operation in a loop that only waits for another thread.
    pub(super) spins: bool,
    /// Whether the instruction takes a lock: it spins, and replaces the old value.
    pub(super) locks: bool,
    /// Whether the instruction stores a value that is the same in all threads by construction.
    pub(super) stores_constant: bool,
}

impl Info {
    const NOTHING: Self = Self {
        order: Order::WEAK,
        kind: AccessKind::Load,
        bytes: 0,
        fence: None,
        group: None,
        name: None,
        relaxed: false,
        is_volatile: false,
        spins: false,
        locks: false,
        stores_constant: false,
    };
}

/// The instructions of a kernel and of the functions that it calls.
#[derive(Debug)]
pub(super) struct Sites {
    /// The number of each function's first instruction.
    first: Vec<u32>,
    all: Vec<Info>,
    /// In a [trial](super::trial), the instructions that are treated as weaker.
    weaker: HashMap<SiteNumber, Option<Scope>, FxBuildHasher>,
    /// In a trial, the operation of each atomic that commutes with atomics of the same operation; otherwise, an empty
    /// list.
    commuting: Vec<Option<AtomicOp>>,
}

/// The number of an instruction.
pub(super) type SiteNumber = u32;

impl Sites {
    pub(super) fn new(program: &Program, by_ptx: bool) -> Self {
        let mut sites = Self { first: Vec::new(), all: Vec::new(), weaker: HashMap::default(), commuting: Vec::new() };
        for function in &program.functions {
            sites.first.push(sites.all.len() as u32);
            let (spinning, constants) = (patterns::spinning(function), patterns::constants(function));
            sites.all.extend(function.code.iter().enumerate().map(|(pc, inst)| Info {
                is_volatile: match &inst.op {
                    Op::Memory(Memory::Load(Load { order, .. }) | Memory::Store(Store { order, .. })) => {
                        order.semantics == Semantics::Volatile && !by_ptx
                    }
                    _ => false,
                },
                spins: spinning.contains(&pc),
                locks: spinning.contains(&pc) && patterns::exchanges(&inst.op),
                stores_constant: match &inst.op {
                    Op::Memory(Memory::Store(Store { from, .. })) => from.iter().all(|reg| constants.contains(reg)),
                    _ => false,
                },
                ..info(&inst.op)
            }));
        }
        sites
    }

    /// Treats some instructions as weaker, and makes unordered atomic accesses conflict.
    pub(super) fn weaken(&mut self, weaker: &Weaker, program: &Program) {
        for (site, scope) in weaker {
            let number = self.number(*site);
            let order = &mut self.all[number as usize].order;
            order.scope = order.scope.min(scope.unwrap_or(order.scope));
            self.weaker.insert(number, *scope);
        }
        for function in &program.functions {
            let read: HashSet<_> = function.operands().flat_map(|operands| operands.reads.iter().copied()).collect();
            let all = function.code.iter().zip(function.operands());
            self.commuting.extend(all.map(|(inst, operands)| match &inst.op {
                Op::Memory(Memory::Atomic(op)) if !operands.writes.iter().any(|reg| read.contains(reg)) => {
                    match op.op {
                        AtomicOp::Exchange | AtomicOp::CompareExchange | AtomicOp::WideOp(_) => None,
                        op => Some(op),
                    }
                }
                _ => None,
            }));
        }
    }

    /// Returns how an instruction is weakened, if it is: `Some(scope)` for a smaller scope, `None` for no ordering.
    pub(super) fn weaker(&self, number: SiteNumber) -> Option<Option<Scope>> {
        self.weaker.get(&number).copied()
    }

    /// Returns whether unordered atomic accesses by two instructions conflict, as they do in a trial.
    #[inline]
    pub(super) fn conflict(&self, one: SiteNumber, other: SiteNumber) -> bool {
        let op = |number: SiteNumber| self.commuting[number as usize];
        !self.commuting.is_empty() && (op(one).is_none() || op(one) != op(other))
    }

    /// Returns whether the kernel has asynchronous operations.
    pub(super) fn are_asynchronous(&self) -> bool {
        self.all.iter().any(|info| info.name.is_some())
    }

    #[inline]
    pub(super) fn number(&self, site: Site) -> SiteNumber {
        self.first[site.function as usize] + site.pc
    }

    pub(super) fn site(&self, number: SiteNumber) -> Site {
        let function = self.first.partition_point(|first| *first <= number) - 1;
        Site { function: function as u32, pc: number - self.first[function] }
    }

    #[inline]
    pub(super) fn info(&self, number: SiteNumber) -> &Info {
        &self.all[number as usize]
    }
}

fn info(op: &Op) -> Info {
    let plain = Info::NOTHING;
    let relaxed = |scope| Order { semantics: Semantics::Relaxed, scope };
    // A reduction is atomic for the whole GPU, element by element.
    let reduces = |op: Option<&Atomic>, name| match op {
        Some(op) => {
            let bytes = op.width.bytes() as u8;
            Info { order: relaxed(Scope::Gpu), kind: AccessKind::Reduction, bytes, name: Some(name), ..plain }
        }
        None => Info { kind: AccessKind::AsyncCopy, name: Some(name), ..plain },
    };
    match op {
        Op::Memory(Memory::Load(op)) => Info { order: op.order, bytes: op.bytes as u8, ..plain },
        Op::Memory(Memory::Store(op)) => {
            Info { order: op.order, kind: AccessKind::Store, bytes: op.bytes as u8, ..plain }
        }
        Op::Memory(Memory::Atomic(op)) => Info { order: op.order, kind: op.kind(), bytes: op.bytes() as u8, ..plain },
        Op::Memory(Memory::AsyncCopy(_)) => Info { kind: AccessKind::AsyncCopy, name: Some(COPY), ..plain },
        Op::Memory(Memory::Bulk(op)) => match op.from {
            BulkSource::Memory(..) => reduces(op.reduce.as_ref(), "bulk copy (cp.async.bulk)"),
            BulkSource::Registers(..) => reduces(op.reduce.as_ref(), "asynchronous store (st.async)"),
        },
        Op::Memory(Memory::Tensor(op)) => {
            let reduce = op.reduce.as_ref().and_then(|all| Some(&all.first()?.1));
            reduces(reduce, "tensor copy (cp.async.bulk.tensor)")
        }
        Op::Memory(Memory::AsyncGroup(which, _, reads)) => {
            let agents: &[Agent] = match (which, reads) {
                (Group::Copies, _) => &[Agent::Copies],
                (_, true) => &[Agent::BulkReads],
                (_, false) => &[Agent::BulkReads, Agent::BulkWrites],
            };
            Info { group: Some(agents), ..plain }
        }
        Op::Matrix(op) => match &**op {
            Matrix::GroupMultiply(_) => Info { kind: AccessKind::AsyncCopy, name: Some(PRODUCT), ..plain },
            Matrix::Group(_) => Info { group: Some(&[Agent::Products]), ..plain },
            Matrix::Multiply(_) | Matrix::Rows(_) | Matrix::Tile(_) | Matrix::Transpose(_) | Matrix::Nothing => plain,
        },
        Op::Memory(Memory::Fence(_, kind)) => Info { fence: Some(*kind), ..plain },
        Op::Memory(Memory::Mbarrier(op)) => {
            let (order, kind, name) = match op.op {
                MbarrierOp::Init { .. } => (Order::WEAK, AccessKind::Store, "initialization of an mbarrier"),
                MbarrierOp::Inval => (Order::WEAK, AccessKind::Store, "invalidation of an mbarrier"),
                MbarrierOp::ExpectTx { .. }
                | MbarrierOp::CompleteTx { .. }
                | MbarrierOp::Arrive { .. }
                | MbarrierOp::Wait { .. }
                | MbarrierOp::CopiesArrive { .. } => {
                    (relaxed(Scope::Cluster), AccessKind::Atomic, "operation on an mbarrier")
                }
            };
            Info { order, kind, bytes: 8, relaxed: op.relaxed, name: Some(name), ..plain }
        }
        Op::ClusterBarrier { relaxed, .. } => Info { relaxed: *relaxed, ..plain },
        Op::Memory(Memory::PendingCount { .. } | Memory::MapEdit(_) | Memory::Address(_) | Memory::Texture(_)) => plain,
        Op::Alu(_) | Op::Warp(_) | Op::Call(_) | Op::Stack(_) | Op::Barrier(_) | Op::Clock { .. } | control!() => plain,
    }
}
