//! The lowered form of a kernel: flat code over numbered registers, which the simulator runs.
//!
//! Each register belongs to one of three files: predicates, 32-bit registers (which also hold zero-extended 8-bit and
//! 16-bit values), and 64-bit registers. A register holds 32 values, one for each lane of a warp; a predicate is a mask
//! of lanes. Immediates, addresses of variables and special registers are also registers, filled when a frame begins
//! ([`FrameInit`]). Every operand is therefore an index, and no instruction has to check the kinds of its operands.

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
    /// The guard, which selects the lanes that execute the instruction.
    pub guard: Option<Guard>,
    /// The operation.
    pub op: Op,
}

/// The operation of an instruction. A program counter is an index into [`Func::code`].
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// Executed by each lane independently, on registers only.
    Alu(Alu),
    /// Loads, stores, atomics, fences.
    Memory(Memory),
    /// Executed by the lanes of a warp together: shuffles, votes.
    Warp(Warp),
    /// Executed by the lanes of a warp together: tensor cores, and matrices in memory.
    Matrix(Box<Matrix>),
    /// A branch to `target`. The lanes for which the guard is true jump; they reconverge with the remaining lanes at
    /// `reconverge`.
    Branch {
        /// The target.
        target: u32,
        /// The branch's immediate post-dominator; [`NEVER`] if the lanes reconverge only at the exit.
        reconverge: u32,
    },
    /// `brx.idx`: each lane jumps to the target that its index selects.
    BranchIndexed {
        /// The index.
        index: R32,
        /// The targets.
        targets: Box<[u32]>,
        /// The immediate post-dominator or [`NEVER`], as in [`Op::Branch`].
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
        /// Whether this is `.wait`.
        waits: bool,
        /// Whether this is `.relaxed`, which does not order memory accesses.
        relaxed: bool,
        /// Whether all threads of a warp reach the barrier together (`.aligned`).
        aligned: bool,
    },
    /// `mov` from a running counter: `%clock`, `%clock64`, `%globaltimer`.
    Clock {
        /// The destination register.
        to: Reg,
        /// Whether this reads the upper half (`%clock_hi`, `%globaltimer_hi`).
        high: bool,
    },
    /// Hints that have no effect in the simulator (`prefetch`, `nanosleep`, `pmevent`).
    Nothing,
}

/// A pattern for the operations ([`Op`]) that neither access memory nor compute a value: branches, exits and hints.
/// Because the pattern lists these operations, a `match` that uses it instead of `_` stops compiling when an operation
/// is added.
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

/// The `reconverge` of a branch whose lanes do not reconverge before they exit.
pub const NEVER: u32 = u32::MAX;

/// `bar` and `barrier` (PTX ISA §9.7.13.1).
#[derive(Debug, Clone, PartialEq)]
pub struct Barrier {
    /// The barrier's number, one of 16.
    pub id: R32,
    /// The number of threads that the barrier waits for; all threads of the block if `None`.
    pub count: Option<R32>,
    /// Whether the threads wait for the barrier: false for `arrive`.
    pub waits: bool,
    /// Whether all threads of a warp arrive together (`bar`, `barrier.aligned`).
    pub aligned: bool,
    /// The reduction over the threads' predicates.
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
        /// The offset in bytes.
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
    /// Returns whether the value differs between the blocks of a launch or can be changed by instructions.
    pub(crate) fn differs_between_blocks(self) -> bool {
        matches!(self, FrameInit::Special(Special::Ctaid(_) | Special::Clusterid(_)) | FrameInit::FrameEnd)
    }
}

/// The number of bytes of a block's shared memory that are reserved for the system if the kernel reads the address of
/// this region.
pub(crate) const RESERVED_SHARED: u32 = 1024;

/// A special register whose value is known when a warp starts (PTX ISA §10).
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
    /// `%reserved_smem_offset_begin` and similar registers: the offset in bytes from the start of the reserved memory.
    ReservedSmem(u32),
    /// `%envreg1`
    Envreg(u8),
    /// `%current_graph_exec`: zero, because launches are never part of a graph.
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
    /// The initial value.
    pub init: FrameInit,
}

/// A lowered function.
#[derive(Debug, Clone, Default)]
pub struct Func {
    /// The function's name.
    pub name: String,
    /// The number of 32-bit registers.
    pub r32: u32,
    /// The number of 64-bit registers.
    pub r64: u32,
    /// The number of predicates.
    pub preds: u32,
    /// The registers that get a value when a frame begins.
    pub frame_init: Vec<InitializedRegister>,
    /// The number of bytes of local memory per frame, a multiple of 16. They hold `.local` variables, and the `.param`
    /// variables of the body and of a `.func`.
    pub frame_bytes: u32,
    /// The offsets of the function's results and parameters in the frame.
    pub slots: Signature,
    /// The register that holds the end of the stack, if the function has an [`Op::Stack`].
    pub stack_top: Option<R32>,
    /// The instructions. The last one is a [`Op::Return`] or a jump.
    pub code: Vec<Inst>,
    /// The position of each instruction in the text.
    pub origins: Vec<Origin>,
    /// The registers declared in the text.
    pub register_names: Vec<RegisterNames>,
    /// The registers and variables that each instruction reads and writes.
    pub(crate) operands: FunctionOperands,
}

impl Op {
    /// Returns the instructions that this operation, if it is a branch, may jump to.
    pub fn targets(&self) -> &[u32] {
        match self {
            Op::Branch { target, .. } => std::slice::from_ref(target),
            Op::BranchIndexed { targets, .. } => targets,
            _ => &[],
        }
    }

    /// Returns whether lanes that execute the operation never continue with the next instruction.
    pub fn is_jump(&self) -> bool {
        matches!(self, Op::Branch { .. } | Op::BranchIndexed { .. } | Op::Return | Op::Exit | Op::Trap)
    }
}

impl Func {
    /// Returns the instructions that may follow the instruction at `pc`.
    pub fn successors(&self, pc: usize) -> impl Iterator<Item = usize> {
        let Inst { guard, op } = &self.code[pc];
        let continues = guard.is_some() || !op.is_jump();
        op.targets().iter().map(|target| *target as usize).chain(continues.then_some(pc + 1))
    }

    /// Returns what each instruction reads and writes, in order.
    pub fn operands(&self) -> impl Iterator<Item = Operands<'_>> {
        self.operands.iter()
    }

    /// Returns what the instruction at `pc` reads and writes.
    pub fn operands_of(&self, pc: usize) -> Operands<'_> {
        self.operands.of(pc)
    }
}

/// The position in the text of the instruction that was lowered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Origin {
    /// The position of the opcode in the text.
    pub at: At,
    /// The `.loc` that applies to the instruction.
    pub loc: Option<Loc>,
    /// The class of the opcode.
    pub class: Class,
}

impl Program {
    /// Returns whether `is` is true for any function.
    pub fn any(&self, is: impl Fn(&Func) -> bool) -> bool {
        self.functions.iter().any(is)
    }

    /// Returns whether the program can allocate or free memory.
    pub fn uses_heap(&self) -> bool {
        self.any(|func| {
            func.code.iter().any(|inst| {
                matches!(&inst.op, Op::Call(call)
                    if matches!(call.callee, Callee::Runtime(Runtime::Allocate | Runtime::Free)))
            })
        })
    }

    /// Returns whether the program reads the address of the shared memory reserved for the system.
    pub(crate) fn uses_reserved_shared(&self) -> bool {
        let is_reserved =
            |init: &InitializedRegister| matches!(init.init, FrameInit::Special(Special::ReservedSmem(_)));
        self.any(|func| func.frame_init.iter().any(is_reserved))
    }

    /// Returns whether the instruction at a site is an atomic that [only
    /// counts](crate::memory::atomic::Atomic::only_counts).
    pub(crate) fn is_counting_atomic(&self, site: Site) -> bool {
        self.op(site).is_some_and(|op| matches!(op, Op::Memory(Memory::Atomic(atomic)) if atomic.only_counts))
    }

    /// Returns whether the instruction at a site is `ldmatrix` or `stmatrix`.
    pub(crate) fn moves_matrix_rows(&self, site: Site) -> bool {
        self.op(site).is_some_and(|op| matches!(op, Op::Matrix(matrix) if matches!(**matrix, Matrix::Rows(_))))
    }

    /// Returns what the instruction at a site reads and writes.
    ///
    /// # Panics
    /// Panics when the program has no such instruction.
    pub fn operands(&self, site: Site) -> Operands<'_> {
        self.functions[site.function as usize].operands.of(site.pc as usize)
    }

    fn op(&self, site: Site) -> Option<&Op> {
        let function = self.functions.get(site.function as usize)?;
        function.code.get(site.pc as usize).map(|inst| &inst.op)
    }
}

/// A variable of a module in global or constant memory. Its value persists between launches.
#[derive(Debug, Clone, PartialEq)]
pub struct ModuleVariable {
    /// The name in the text.
    pub name: String,
    /// The size in bytes.
    pub bytes: u64,
    /// The alignment in bytes.
    pub align: u32,
    /// The offset in constant memory; `None` for a variable in global memory.
    pub constant_at: Option<u32>,
    /// Whether the variable is visible to other modules: `.visible`, `.weak` or `.common`.
    pub is_visible: bool,
    /// Whether the host program accesses the variable at the same address (`.attribute(.managed)`).
    pub is_managed: bool,
    /// The initial bytes; if there are fewer than `bytes`, the rest is zero.
    pub init: Vec<u8>,
    /// The addresses of variables that the initial value contains.
    pub addresses: Vec<InitialAddress>,
}

/// An initial value that is the address of a variable, either in the variable's state space or generic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InitialAddress {
    /// The offset of the address in the initialized variable.
    pub at: u64,
    /// The size of the address in bytes.
    pub bytes: u32,
    /// The number of the variable that the address points to.
    pub variable: u32,
    /// The offset in bytes from that variable.
    pub offset: i64,
    /// The number of bits by which the address is shifted right. A `mask()` selects one byte with this shift.
    pub shift: u32,
}

/// A kernel together with all functions reachable from it.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// The functions; the first is the entry.
    pub functions: Vec<Func>,
    /// The kernel's parameters.
    pub params: Vec<Param>,
    /// The size of parameter memory in bytes.
    pub param_bytes: u32,
    /// The size of static shared memory in bytes; dynamic shared memory starts at the next multiple of 16.
    pub shared_bytes: u32,
    /// The names and address ranges of the variables in static shared memory.
    pub shared: Vec<(String, Range<u64>)>,
    /// The functions whose address is taken in the module, in ascending order of address.
    pub targets: Vec<Target>,
    /// The numbers of the module variables reachable from the kernel, in ascending order.
    pub variables: Vec<u32>,
    /// `.reqntid`, if given.
    pub required_block: Option<[u32; 3]>,
    /// The product of `.maxntid`, if given.
    pub max_threads: Option<u32>,
    /// `.maxnreg`, if given: the maximum number of registers per thread.
    pub max_registers: Option<u32>,
    /// `.reqnctapercluster`, if given.
    pub required_cluster: Option<[u32; 3]>,
    /// `.explicitcluster`
    pub explicit_cluster: bool,
    /// The cached analysis results of this program, reused by its next launch.
    pub analyses: Arc<AnalysisCache>,
}

/// The results of analyzing a program, which observers cache between launches: at most one value of each type.
#[derive(Debug, Default)]
pub struct AnalysisCache(Mutex<Vec<Arc<dyn Any + Send + Sync>>>);

impl AnalysisCache {
    /// Returns the value of type `T`. The first call computes it with `make`.
    pub fn get<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        let mut values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = values.iter().find_map(|value| value.clone().downcast().ok());
        known.unwrap_or_else(|| {
            let new = Arc::new(make());
            values.push(new.clone());
            new
        })
    }
}
