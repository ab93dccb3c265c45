//! The cost of an instruction: the pipe that issues it, the number of instructions that `ptxas` generates for it, and
//! the latency of its result.

use devices::Latencies;
use simt::code::{FrameInit, Op, Special};
use simt::matrix::{GroupOperand, Matrix};
use simt::memory::Memory;
use simt::observe::AsyncGroup;
use simt_isa::Class;

use crate::instruction::Instruction;

/// The number of rounds of a loop that `ptxas` combines into one.
pub(crate) const UNROLLED: u32 = 4;

/// One instruction of a program.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) kind: Kind,
    pub(crate) cost: Cost,
    /// Whether the instruction starts a part of the program in which `ptxas` hoists loads of global memory.
    pub(crate) leads: bool,
    /// Whether the instruction starts a loop that `ptxas` unrolls, so that `leads` applies once every [`UNROLLED`]
    /// rounds.
    pub(crate) unrolled: bool,
    /// Whether the instruction prevents `ptxas` from hoisting loads above it.
    pub(crate) holds: bool,
    /// Whether the instruction is a hoisted load or computes an address for one.
    pub(crate) moves: bool,
    /// Whether the instruction is a load from an address that depends on other loads.
    pub(crate) gathers: bool,
    /// The registers that the instruction writes.
    pub(crate) defs: Vec<u32>,
    /// The registers that the instruction reads.
    pub(crate) uses: Vec<u32>,
}

/// The effect of an instruction on a warp's clock, apart from the instruction's latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// No other effect.
    Plain,
    /// Accesses memory. The observer sees the access after the instruction.
    Memory,
    /// `cp.async`
    AsyncCopy,
    /// `cp.async.commit_group`
    Commit,
    /// `cp.async.wait_group`, with the number of groups that may still be pending.
    Wait(u32),
    /// `cp.async.wait_all`
    WaitAll,
    /// A warp's product, which waits for its tensor core: `mma`, `wmma.mma`.
    Product,
    /// An asynchronous product of a warpgroup: `wgmma.mma_async`.
    GroupProduct,
    /// `wgmma.fence`
    ProductFence,
    /// `wgmma.commit_group`
    CommitProducts,
    /// `wgmma.wait_group`, with the number of groups that may still be pending.
    WaitProducts(u32),
}

impl Kind {
    pub(crate) fn of(inst: &Instruction<'_>) -> Self {
        let left = |left: u64| u32::try_from(left).unwrap_or(u32::MAX);
        match inst.op {
            Op::Memory(Memory::AsyncGroup(_, AsyncGroup::Commit, _)) => Self::Commit,
            Op::Memory(Memory::AsyncGroup(_, AsyncGroup::Wait(groups), _)) => Self::Wait(left(*groups)),
            Op::Memory(Memory::AsyncGroup(_, AsyncGroup::WaitAll, _)) => Self::WaitAll,
            Op::Matrix(matrix) => match &**matrix {
                Matrix::GroupMultiply(_) => Self::GroupProduct,
                Matrix::Group(AsyncGroup::Commit) => Self::CommitProducts,
                Matrix::Group(AsyncGroup::Wait(groups)) => Self::WaitProducts(left(*groups)),
                Matrix::Group(AsyncGroup::WaitAll) => Self::WaitProducts(0),
                Matrix::Nothing => Self::ProductFence,
                Matrix::Rows(_) | Matrix::Tile(_) => Self::Memory,
                Matrix::Multiply(_) => Self::Product,
                Matrix::Transpose(_) => Self::Plain,
            },
            _ if inst.opcode.starts_with("cp.") => Self::AsyncCopy,
            _ if matches!(simt_isa::class(inst.opcode), Some(Class::Memory(_))) => Self::Memory,
            _ => Self::Plain,
        }
    }

    pub(crate) fn is_memory(self) -> bool {
        matches!(self, Self::Memory | Self::AsyncCopy)
    }
}

/// Returns the work of a matrix product on the tensor cores. The unit is the time of one fused multiply-add of `f16`
/// numbers. The rate of tensor cores is twice as high for bytes, half as high for `tf32`, and a sixteenth as high for
/// `f64`. All rates double if the matrix A is sparse. Source: the tables of peak rates in "NVIDIA A100 Tensor Core GPU
/// Architecture" and "NVIDIA H100 Tensor Core GPU Architecture".
fn products(opcode: &str) -> f32 {
    let words = || opcode.split('.');
    let has = |name: &str| words().any(|word| word == name);
    let weight = match () {
        () if has("f64") => 16.0,
        () if has("tf32") => 2.0,
        () if has("b1") => 1.0 / 16.0,
        () if ["s4", "u4"].into_iter().any(has) => 0.25,
        () if ["s8", "u8", "e4m3", "e5m2"].into_iter().any(has) => 0.5,
        () => 1.0,
    };
    let sparse = if words().any(|word| word.starts_with("sp")) { 0.5 } else { 1.0 };
    // A warp computes a quarter of a warpgroup's product.
    let share = if opcode.starts_with("wgmma") { 0.25 } else { 1.0 };
    ptx::opcode::sides(opcode).map_or(0, |sides| sides.iter().product::<usize>()) as f32 * weight * sparse * share
}

/// Returns the cycles until the sums of `mma` or `wmma.mma` are available. `reference` is the number of cycles for a
/// product of 16 x 8 x 16 halves.
///
/// A product of half this size takes 8 cycles less. A larger product takes 8 more cycles for each additional 16 x 8 x
/// 16 halves (Sun and others, "Dissecting Tensor Cores via Microbenchmarks", arXiv:2206.02874).
fn product_cycles(products: f32, reference: u32) -> u32 {
    const REFERENCE: f32 = 16.0 * 8.0 * 16.0;
    (reference as f32 - 16.0 + products.min(REFERENCE) / REFERENCE * 16.0 + (products / REFERENCE - 1.0).max(0.0) * 8.0)
        as u32
}

/// Returns the bytes of shared memory that the tensor cores read for a warp's share of `wgmma`: the bytes of B, and the
/// bytes of A unless A is in registers.
fn operand_bytes(inst: &Instruction<'_>) -> f32 {
    let has = |name: &str| inst.opcode.split('.').any(|word| word == name);
    let element = match () {
        () if has("tf32") => 4.0,
        () if ["s8", "u8", "e4m3", "e5m2"].into_iter().any(has) => 1.0,
        () => 2.0,
    };
    let Some([m, n, k]) = ptx::opcode::sides(inst.opcode) else { return 0.0 };
    let in_registers = matches!(inst.op, Op::Matrix(matrix)
        if matches!(&**matrix, Matrix::GroupMultiply(op) if matches!(op.a, GroupOperand::Registers(_))));
    let rows = n + if in_registers { 0 } else { m };
    (rows * k) as f32 * element / 4.0
}

/// The part of a multiprocessor that executes an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pipe {
    /// No instruction is issued: `ptxas` folds it into other instructions.
    None,
    /// Integers, logic, comparisons.
    Alu,
    /// Single precision, and integer products.
    Fma,
    /// Double precision.
    Fp64,
    /// Conversions, square roots and other special functions.
    Special,
    /// Memory, shuffles.
    Memory,
    /// Branches, barriers, votes.
    Control,
    /// Tensor cores.
    Matrix,
}

impl Pipe {
    /// The number of pipes.
    pub const COUNT: usize = Self::Matrix as usize + 1;
}

/// The number of passes that an atomic addition of floats takes; an addition of integers takes one pass (measured with
/// `sum_all` and `count_all` on an H100).
const FLOAT_PASSES: f32 = 2.4;

/// The cost of an instruction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// The pipe that executes the instruction.
    pub pipe: Pipe,
    /// The number of issued instructions.
    pub issued: f32,
    /// Whether the instruction accesses the L2 even if the L1 contains the data.
    pub bypasses_l1: bool,
    /// For an atomic, the number of passes over a sector per lane that updates the same word.
    pub passes: f32,
    /// Whether the instruction is an atomic that one lane of each warp executes for all lanes.
    pub elects: bool,
    /// The work of a warp on the tensor cores. The unit is the time of one fused multiply-add of `f16` numbers.
    pub products: f32,
    /// The bytes of shared memory that a warp's share of `wgmma` reads.
    pub operands: f32,
    wait: Wait,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Wait {
    Nothing,
    Alu(u32),
    Special,
    Shuffle,
    /// The latency of an `mma` with this many products.
    Products(f32),
}

impl Cost {
    /// Returns the cost of an instruction.
    pub(crate) fn of(inst: &Instruction<'_>) -> Self {
        let opcode = inst.opcode;
        let class = simt_isa::class(opcode);
        let base = opcode.split('.').next().unwrap_or(opcode);
        let has = |word: &str| opcode.split('.').any(|other| other == word);
        let wide = has("b64") || has("u64") || has("s64");
        let double = has("f64");
        let cost = Self::new;
        // A 64-bit integer occupies two registers, and most instructions are issued once for each.
        let halves = if wide { 2.0 } else { 1.0 };
        match base {
            "mov"
                if inst
                    .reads_initial(|init| matches!(init, FrameInit::Special(Special::Tid(_) | Special::Ctaid(_)))) =>
            {
                cost(Pipe::Alu, 1.0, Wait::Special)
            }
            "mov" | "cvta" | "isspacep" | "pragma" => cost(Pipe::None, 0.0, Wait::Nothing),
            "ld" if has("param") || has("const") => cost(Pipe::None, 0.0, Wait::Nothing),
            "cp" => cost(Pipe::Memory, 1.0, Wait::Nothing),
            "shfl" => cost(Pipe::Memory, 1.0, Wait::Shuffle),
            _ if matches!(class, Some(Class::Memory(_))) => Self {
                bypasses_l1: has("relaxed") || has("acquire") || has("cg") || has("cv"),
                passes: if has("add") && ["f16", "f16x2", "bf16", "bf16x2", "f32", "f64"].into_iter().any(has) {
                    FLOAT_PASSES
                } else {
                    1.0
                },
                ..cost(Pipe::Memory, 1.0, Wait::Nothing)
            },
            _ if class == Some(Class::Matrix) && Kind::of(inst) == Kind::Memory => {
                cost(Pipe::Memory, 1.0, Wait::Nothing)
            }
            "movmatrix" => cost(Pipe::Memory, 1.0, Wait::Shuffle),
            "wgmma" if products(opcode) > 0.0 => Self {
                products: products(opcode),
                operands: operand_bytes(inst),
                ..cost(Pipe::Matrix, 1.0, Wait::Nothing)
            },
            _ if class == Some(Class::Matrix) && products(opcode) > 0.0 => {
                Self { products: products(opcode), ..cost(Pipe::Matrix, 1.0, Wait::Products(products(opcode))) }
            }
            _ if class == Some(Class::Texture) => cost(Pipe::Memory, 1.0, Wait::Special),
            _ if class == Some(Class::Warp) => cost(Pipe::Control, 1.0, Wait::Shuffle),
            _ if matches!(class, Some(Class::Control | Class::Barrier | Class::Fence)) => {
                cost(Pipe::Control, 1.0, Wait::Nothing)
            }
            "div" | "rem" if has("f32") => cost(Pipe::Fma, 10.0, Wait::Alu(9)),
            "div" | "rem" if double => cost(Pipe::Fp64, 12.0, Wait::Alu(30)),
            "div" | "rem" if wide => cost(Pipe::Alu, 70.0, Wait::Alu(60)),
            "div" | "rem" => cost(Pipe::Alu, 18.0, Wait::Alu(22)),
            "sqrt" | "rsqrt" | "rcp" | "sin" | "cos" | "ex2" | "lg2" | "tanh" => {
                cost(Pipe::Special, 2.0, Wait::Special)
            }
            "cvt" if wide && !double && !has("f32") => cost(Pipe::Alu, 1.0, Wait::Alu(1)),
            "cvt" if double || has("f32") || has("f16") => cost(Pipe::Special, 1.0, Wait::Special),
            "popc" | "clz" | "bfind" | "brev" => cost(Pipe::Special, 1.0, Wait::Special),
            "mul" | "mad" if wide && !has("wide") => cost(Pipe::Fma, 4.0, Wait::Alu(3)),
            _ if double => cost(Pipe::Fp64, 1.0, Wait::Special),
            "fma" | "mul" | "mad" => cost(Pipe::Fma, 1.0, Wait::Alu(1)),
            "add" | "sub" | "neg" | "abs" if has("f32") || has("f16") || has("f16x2") => {
                cost(Pipe::Fma, 1.0, Wait::Alu(1))
            }
            _ => cost(Pipe::Alu, halves, Wait::Alu(halves as u32)),
        }
    }

    /// A product of 32-bit numbers that is only added to an address: `ptxas` fuses the product and the addition.
    pub(crate) const FOLDED: Self = Self::new(Pipe::None, 0.0, Wait::Nothing);

    /// The addition that is fused with such a product.
    pub(crate) const FUSED: Self = Self::new(Pipe::Fma, 1.0, Wait::Alu(1));

    const fn new(pipe: Pipe, issued: f32, wait: Wait) -> Self {
        Self { pipe, issued, bypasses_l1: false, passes: 1.0, elects: false, products: 0.0, operands: 0.0, wait }
    }

    /// Returns the cycles until the result is available, without the latency of memory itself.
    pub fn latency(&self, latencies: &Latencies) -> u32 {
        match self.wait {
            Wait::Nothing => 0,
            Wait::Alu(times) => latencies.alu * times,
            Wait::Special => latencies.special,
            Wait::Shuffle => latencies.shuffle,
            Wait::Products(products) => product_cycles(products, latencies.mma),
        }
    }
}
