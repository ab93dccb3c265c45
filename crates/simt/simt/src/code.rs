//! The lowered form of a kernel: flat code over numbered registers, which the machine runs.
//!
//! Registers live in three files by width: predicates, 32 bits (which also hold those of 8 and 16,
//! zero-extended), and 64 bits. A register holds 32 values, one for each lane of a warp; a predicate is
//! a mask of lanes. Immediates, addresses of variables and special registers are registers too, filled
//! when a frame begins ([`FrameInit`]), so that every operand is an index and no instruction asks what kind
//! its operands are.

mod call;

use std::any::Any;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use ptx::ast::{At, Loc};
use simt_isa::Class;

use crate::alu::Alu;
use crate::matrix::Matrix;
use crate::memory::Memory;
use crate::observe::Site;
pub use crate::params::Param;
use crate::warp::Warp;

pub use call::{Call, Callee, Runtime, Signature, Slot, Stack, Target};
pub(crate) use call::{FUNCTION_BYTES, FUNCTIONS};

use crate::operands::{FunctionOperands, Operands};
pub use crate::regs::{Guard, Pred, R32, R64, Reg, RegisterNames};

/// One instruction.
#[derive(Debug, Clone, PartialEq)]
pub struct Inst {
    /// The guard, which selects the lanes that execute it.
    pub guard: Option<Guard>,
    /// The operation.
    pub op: Op,
}

/// The operation of an instruction. A program counter is an index into [`Func::code`].
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// Each lane by itself, registers only.
    Alu(Alu),
    /// Loads, stores, atomics, fences.
    Memory(Memory),
    /// Lanes of a warp together: shuffles, votes.
    Warp(Warp),
    /// Lanes of a warp together: tensor cores, and matrices in memory.
    Matrix(Box<Matrix>),
    /// A branch to `target`; the guard decides which lanes jump. The lanes that jump and those that do not reconverge
    /// at `reconverge`.
    Branch {
        /// The target.
        target: u32,
        /// The branch's immediate post-dominator; [`NEVER`] where the lanes reconverge at the exit only.
        reconverge: u32,
    },
    /// `brx.idx`: each lane to the target that its index names.
    BranchIndexed {
        /// The index.
        index: R32,
        /// The targets.
        targets: Box<[u32]>,
        /// As for [`Op::Branch`].
        reconverge: u32,
    },
    /// A call. Arguments and results are copied between the frames' parameter memory.
    Call(Box<Call>),
    /// `alloca`, `stacksave`, `stackrestore`
    Stack(Stack),
    /// Returns from the function; in the entry, ends the thread.
    Return,
    /// Ends the thread.
    Exit,
    /// `trap`
    Trap,
    /// `bar`, `barrier`.
    Barrier(Barrier),
    /// `barrier.cluster.arrive`, `barrier.cluster.wait`
    ClusterBarrier {
        /// Whether it is `.wait`.
        waits: bool,
        /// Whether it is `.relaxed`, so that it orders no accesses to memory.
        relaxed: bool,
        /// Whether all threads of a warp come to it together (`.aligned`).
        aligned: bool,
    },
    /// `mov` from a counter that runs: `%clock`, `%clock64`, `%globaltimer`.
    Clock {
        /// The destination register.
        to: Reg,
        /// Whether the upper half (`%clock_hi`, `%globaltimer_hi`).
        high: bool,
    },
    /// Hints that have no effect here (`prefetch`, `nanosleep`, `pmevent`).
    Nothing,
}

/// The pattern of those operations ([`Op`]) that access no memory and compute nothing: branches, ends, and hints. A match with
/// this pattern instead of `_` does not compile after a new operation is added.
#[macro_export]
macro_rules! control {
    () => {
        Op::Branch { .. }
            | Op::BranchIndexed { .. }
            | Op::Return
            | Op::Exit
            | Op::Trap
            | Op::ClusterBarrier { .. }
            | Op::Nothing
    };
}

/// The `reconverge` of a branch whose lanes do not reconverge before they end.
pub const NEVER: u32 = u32::MAX;

/// `bar` and `barrier` (PTX ISA §9.7.13.1).
#[derive(Debug, Clone, PartialEq)]
pub struct Barrier {
    /// Which of the 16 barriers.
    pub id: R32,
    /// How many threads it waits for; all of the block's if `None`.
    pub count: Option<R32>,
    /// Whether threads wait: those that `arrive` do not.
    pub waits: bool,
    /// Whether all threads of a warp arrive together (`bar`, `barrier.aligned`).
    pub aligned: bool,
    /// The reduction that it computes over the threads' predicates.
    pub reduce: Option<BarrierReduce>,
}

/// `bar.red`
#[derive(Debug, Clone, PartialEq)]
pub struct BarrierReduce {
    /// How the predicates are combined.
    pub op: ReduceOp,
    /// The register of this thread's predicate.
    pub value: Pred,
    /// Whether that predicate is negated (`!%p`).
    pub negated: bool,
    /// The register of the result: a predicate for `and` and `or`, a 32-bit register for `popc`.
    pub to: Reg,
}

/// `.popc`, `.and`, `.or`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the modifiers")]
pub enum ReduceOp {
    Popc,
    And,
    Or,
}

/// The initial value of a register when a frame begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FrameInit {
    /// The same number in every lane.
    Number(u64),
    /// The address of a `.global` variable, plus an offset.
    Global {
        /// The number of the module's variable.
        variable: u32,
        /// Bytes.
        offset: i64,
    },
    /// An offset in this frame's local memory, as an address of the local space.
    Local(u32),
    /// The end of this frame's local memory.
    FrameEnd,
    /// An offset in dynamic shared memory, as an address of the shared space.
    DynamicShared(i64),
    /// A special register.
    Special(Special),
}

impl FrameInit {
    /// Whether the value differs between the blocks of a launch, or instructions change it.
    pub(crate) fn differs_between_blocks(self) -> bool {
        matches!(self, FrameInit::Special(Special::Ctaid(_) | Special::Clusterid(_)) | FrameInit::FrameEnd)
    }
}

/// Bytes of a block's shared memory that are reserved for the system, where a kernel asks for their place.
pub(crate) const RESERVED_SHARED: u32 = 1024;

/// A special register whose value a warp knows when it starts (PTX ISA §10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the variants are the registers")]
pub enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    LaneId,
    WarpId,
    NWarpId,
    SmId,
    NSmId,
    GridId,
    LanemaskEq,
    LanemaskLe,
    LanemaskLt,
    LanemaskGe,
    LanemaskGt,
    TotalSmemSize,
    DynamicSmemSize,
    AggrSmemSize,
    /// `%reserved_smem_offset_begin` and the like: bytes behind the begin of the memory reserved for the system.
    ReservedSmem(u32),
    /// `%envreg1`
    Envreg(u8),
    /// `%current_graph_exec`: no launch is part of a graph.
    Zero,
    Clusterid(u8),
    Nclusterid(u8),
    ClusterCtaid(u8),
    ClusterNctaid(u8),
    ClusterCtarank,
    ClusterNctarank,
    IsExplicitCluster,
}

/// A register that gets a value when a frame begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InitializedRegister {
    /// The register.
    pub reg: Reg,
    /// Its value.
    pub init: FrameInit,
}

/// A lowered function.
#[derive(Debug, Clone, Default)]
pub struct Func {
    /// Its name.
    pub name: String,
    /// How many 32-bit registers it has.
    pub r32: u32,
    /// How many 64-bit registers it has.
    pub r64: u32,
    /// How many predicates it has.
    pub preds: u32,
    /// The registers that get a value when a frame begins.
    pub frame_init: Vec<InitializedRegister>,
    /// Bytes of local memory that a frame takes, a multiple of 16: `.local` variables, and `.param`
    /// variables of the body and of a `.func`.
    pub frame_bytes: u32,
    /// Where its results and parameters lie in the frame.
    pub slots: Signature,
    /// The register of the stack's end, if it has [`Op::Stack`].
    pub stack_top: Option<R32>,
    /// The instructions. The last one is a [`Op::Return`] or a jump.
    pub code: Vec<Inst>,
    /// For each instruction, the place in the text that it comes from.
    pub origins: Vec<Origin>,
    /// The registers that the text declares.
    pub register_names: Vec<RegisterNames>,
    /// For each instruction, what it reads and writes.
    pub(crate) operands: FunctionOperands,
}

impl Op {
    /// The instructions that a branch may jump to.
    pub fn targets(&self) -> &[u32] {
        match self {
            Op::Branch { target, .. } => std::slice::from_ref(target),
            Op::BranchIndexed { targets, .. } => targets,
            _ => &[],
        }
    }

    /// Whether lanes that execute it never continue with the next instruction.
    pub fn is_jump(&self) -> bool {
        matches!(self, Op::Branch { .. } | Op::BranchIndexed { .. } | Op::Return | Op::Exit | Op::Trap)
    }
}

impl Func {
    /// The instructions that may follow the instruction at `pc`.
    pub fn successors(&self, pc: usize) -> impl Iterator<Item = usize> {
        let Inst { guard, op } = &self.code[pc];
        let continues = guard.is_some() || !op.is_jump();
        op.targets().iter().map(|target| *target as usize).chain(continues.then_some(pc + 1))
    }

    /// What each instruction reads and writes, in order.
    pub fn operands(&self) -> impl Iterator<Item = Operands<'_>> {
        self.operands.iter()
    }

    /// What the instruction at `pc` reads and writes.
    pub fn operands_of(&self, pc: usize) -> Operands<'_> {
        self.operands.of(pc)
    }
}

/// The place in the text that an instruction comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Origin {
    /// Where its opcode stands in the text.
    pub at: At,
    /// The `.loc` before it.
    pub loc: Option<Loc>,
    /// The class of its opcode.
    pub class: Class,
}

impl Program {
    /// Whether a function fulfils this.
    pub fn any(&self, is: impl Fn(&Func) -> bool) -> bool {
        self.functions.iter().any(is)
    }

    /// Whether it can allocate or free memory.
    pub fn uses_heap(&self) -> bool {
        self.any(|func| {
            func.code.iter().any(|inst| {
                matches!(&inst.op, Op::Call(call)
                    if matches!(call.callee, Callee::Runtime(Runtime::Allocate | Runtime::Free)))
            })
        })
    }

    /// Whether it knows where the shared memory lies that is reserved for the system.
    pub(crate) fn uses_reserved_shared(&self) -> bool {
        let is_reserved =
            |init: &InitializedRegister| matches!(init.init, FrameInit::Special(Special::ReservedSmem(_)));
        self.any(|func| func.frame_init.iter().any(is_reserved))
    }

    /// Whether the instruction at a site is an atomic that [only counts](crate::memory::atomic::Atomic::only_counts).
    pub(crate) fn is_counting_atomic(&self, site: Site) -> bool {
        self.op(site).is_some_and(|op| matches!(op, Op::Memory(Memory::Atomic(own)) if own.only_counts))
    }

    /// Whether the instruction at a site is `ldmatrix` or `stmatrix`.
    pub(crate) fn moves_matrix_rows(&self, site: Site) -> bool {
        self.op(site).is_some_and(|op| matches!(op, Op::Matrix(own) if matches!(**own, Matrix::Rows(_))))
    }

    /// What the instruction at a site reads and writes.
    ///
    /// # Panics
    /// When the program has no such instruction.
    pub fn operands(&self, site: Site) -> Operands<'_> {
        self.functions[site.function as usize].operands.of(site.pc as usize)
    }

    fn op(&self, site: Site) -> Option<&Op> {
        let function = self.functions.get(site.function as usize)?;
        function.code.get(site.pc as usize).map(|inst| &inst.op)
    }
}

/// A variable of a module in global or constant memory, whose value lives from launch to launch.
#[derive(Debug, Clone, PartialEq)]
pub struct ModuleVariable {
    /// Its name, as the text has it.
    pub name: String,
    /// Bytes.
    pub bytes: u64,
    /// Alignment in bytes.
    pub align: u32,
    /// Offset in constant memory; `None` for a variable in global memory.
    pub constant_at: Option<u32>,
    /// Whether other modules see it: it is `.visible`, `.weak` or `.common`.
    pub is_visible: bool,
    /// Whether the host's program accesses it at the same address (`.attribute(.managed)`).
    pub is_managed: bool,
    /// Its initial bytes; shorter than `bytes` where the rest is zero.
    pub init: Vec<u8>,
    /// Addresses of variables within it.
    pub addresses: Vec<InitialAddress>,
}

/// An initial value that is the address of a variable, in its own space or generic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InitialAddress {
    /// Offset in the variable that holds the address.
    pub at: u64,
    /// Bytes of the value.
    pub bytes: u32,
    /// The number of the variable whose address it is.
    pub variable: u32,
    /// Bytes behind that address.
    pub offset: i64,
    /// Bits that the address is shifted down by: `mask()` selects one byte.
    pub shift: u32,
}

/// A kernel together with all functions that it can reach.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// The functions; the first is the entry.
    pub functions: Vec<Func>,
    /// The kernel's parameters.
    pub params: Vec<Param>,
    /// Bytes of parameter memory.
    pub param_bytes: u32,
    /// Bytes of static shared memory; dynamic shared memory begins behind it, at the next multiple of 16.
    pub shared_bytes: u32,
    /// The names of the variables in static shared memory, and where they lie.
    pub shared: Vec<(String, Range<u64>)>,
    /// The functions whose address is taken in the module, in rising order of addresses.
    pub targets: Vec<Target>,
    /// The numbers of the module's variables that it can reach, in rising order.
    pub variables: Vec<u32>,
    /// `.reqntid`, if given.
    pub required_block: Option<[u32; 3]>,
    /// The product of `.maxntid`, if given.
    pub max_threads: Option<u32>,
    /// `.maxnreg`, if given: the registers that a thread may have.
    pub max_registers: Option<u32>,
    /// `.reqnctapercluster`, if given.
    pub required_cluster: Option<[u32; 3]>,
    /// `.explicitcluster`
    pub explicit_cluster: bool,
    /// The results of analyses of this program, for its next launch.
    pub analyses: Arc<AnalysisCache>,
}

/// The results of analyses of a program, one value of each type, which observers keep from launch to launch.
#[derive(Debug, Default)]
pub struct AnalysisCache(Mutex<Vec<Arc<dyn Any + Send + Sync>>>);

impl AnalysisCache {
    /// Returns the value of this type. `make` computes it the first time.
    pub fn get<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.iter().find_map(|own| own.clone().downcast().ok());
        known.unwrap_or_else(|| {
            let new = Arc::new(make());
            kept.push(new.clone());
            new
        })
    }
}
