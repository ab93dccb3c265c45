//! What the instructions of a kernel do, by a number for each.

use crate::code::{Op, Program};
use crate::memory::access::MemoryOp;
use crate::memory::atomic::Atomic;
use crate::memory::bulk::BulkSource;
use crate::memory::mbarrier::MbarrierOp;
use crate::memory::{Group, Memory};
use crate::observe::{AccessKind, FenceKind, Order, Scope, Semantics, Site};

/// What an instruction does to memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Info {
    pub(super) order: Order,
    pub(super) kind: AccessKind,
    /// Bytes of a lane.
    pub(super) bytes: u8,
    /// If it is a fence.
    pub(super) fence: Option<FenceKind>,
    /// If it groups asynchronous operations: of which kind, and whether it waits for what they read only.
    pub(super) group: Option<(Group, bool)>,
    /// What it is of asynchronous operations or mbarriers, in words.
    pub(super) name: Option<&'static str>,
    /// Whether it is `.relaxed`, of those that wait for each other.
    pub(super) relaxed: bool,
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
    };
}

/// The instructions of a kernel and of the functions that it calls.
#[derive(Debug)]
pub(super) struct Sites {
    /// The number of each function's first instruction.
    first: Vec<u32>,
    all: Vec<Info>,
}

/// The number of an instruction.
pub(super) type SiteNumber = u32;

impl Sites {
    pub(super) fn new(program: &Program) -> Self {
        let mut sites = Self { first: Vec::new(), all: Vec::new() };
        for function in &program.functions {
            sites.first.push(sites.all.len() as u32);
            sites.all.extend(function.code.iter().map(|inst| info(&inst.op)));
        }
        sites
    }

    /// Whether there are asynchronous operations.
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
    // A reduction is done for all of the GPU, element by element.
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
        Op::Memory(Memory::Atomic(op)) => {
            let shape = op.shape();
            Info { order: op.order, kind: shape.kind, bytes: shape.bytes as u8, ..plain }
        }
        Op::Memory(Memory::AsyncCopy(_)) => {
            Info { kind: AccessKind::AsyncCopy, name: Some("asynchronous copy (cp.async)"), ..plain }
        }
        Op::Memory(Memory::Bulk(op)) => match op.from {
            BulkSource::Memory(..) => reduces(op.reduce.as_ref(), "bulk copy (cp.async.bulk)"),
            BulkSource::Registers(..) => reduces(op.reduce.as_ref(), "asynchronous store (st.async)"),
        },
        Op::Memory(Memory::Tensor(op)) => {
            let reduce = op.reduce.as_ref().and_then(|all| Some(&all.first()?.1));
            reduces(reduce, "tensor copy (cp.async.bulk.tensor)")
        }
        Op::Memory(Memory::AsyncGroup(which, _, reads)) => Info { group: Some((*which, *reads)), ..plain },
        Op::Memory(Memory::Fence(_, kind)) => Info { fence: Some(*kind), ..plain },
        Op::Memory(Memory::Mbarrier(op)) => {
            let (order, kind, name) = match op.op {
                MbarrierOp::Init { .. } => (Order::WEAK, AccessKind::Store, "initialization of an mbarrier"),
                MbarrierOp::Inval => (Order::WEAK, AccessKind::Store, "invalidation of an mbarrier"),
                _ => (relaxed(Scope::Cluster), AccessKind::Atomic, "operation on an mbarrier"),
            };
            Info { order, kind, bytes: 8, relaxed: op.relaxed, name: Some(name), ..plain }
        }
        Op::ClusterBarrier { relaxed, .. } => Info { relaxed: *relaxed, ..plain },
        _ => plain,
    }
}
