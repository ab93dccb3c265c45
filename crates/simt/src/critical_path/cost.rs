//! The cost of an instruction: the pipe that issues it, how many instructions `ptxas` makes of it, and the latency of
//! its result.

use ptx::ast::{Instruction, Number, Operand};
use ptx::opcode::{self, Class};

/// One instruction of a program.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) kind: Kind,
    pub(super) cost: Cost,
    /// Registers that it writes.
    pub(super) defs: Vec<u32>,
    /// Registers that it reads.
    pub(super) uses: Vec<u32>,
}

/// The effect of an instruction on a warp's clock besides its latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing else.
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
}

impl Kind {
    pub(super) fn of(inst: &Instruction<'_>) -> Self {
        let rest = inst.opcode.strip_prefix("cp.async.").unwrap_or_default();
        let rest = rest.strip_prefix("bulk.").unwrap_or(rest);
        match (opcode::class(inst.opcode), &inst.operands[..]) {
            _ if rest.starts_with("commit") => Self::Commit,
            (_, [Operand::Number(Number::Integer(left))]) if rest.starts_with("wait_group") => {
                Self::Wait(u32::try_from(*left).unwrap_or(u32::MAX))
            }
            _ if rest.starts_with("wait_all") => Self::WaitAll,
            _ if inst.opcode.starts_with("cp.") => Self::AsyncCopy,
            (Some(Class::Memory(_)), _) => Self::Memory,
            (Some(Class::Matrix), _) if is_matrix_access(inst.opcode) => Self::Memory,
            _ => Self::Plain,
        }
    }

    pub(super) fn is_memory(self) -> bool {
        matches!(self, Self::Memory | Self::AsyncCopy)
    }
}

/// Whether it loads or stores a matrix.
fn is_matrix_access(opcode: &str) -> bool {
    ["ldmatrix", "stmatrix", "wmma.load", "wmma.store"].iter().any(|name| opcode.starts_with(name))
}

/// What a product of matrices takes of the tensor cores: additions of products of two halves in the same time. Tensor cores
/// have twice the rate for bytes, half of it for `tf32` and a sixteenth for `f64` ("NVIDIA A100 Tensor Core GPU
/// Architecture", "NVIDIA H100 Tensor Core GPU Architecture", tables of peak rates), and twice that if A is sparse.
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
    // A warp has a quarter of a warp group's product.
    let own = if opcode.starts_with("wgmma") { 0.25 } else { 1.0 };
    opcode::sides(opcode).map_or(0, |sides| sides.iter().product::<usize>()) as f32 * weight * sparse * own
}

/// Cycles until the sums of such a product are available.
///
/// `mma` of 16 x 8 x 16 halves takes 33 and of 16 x 8 x 8 25 on an A100 (Sun and others, "Dissecting Tensor Cores via
/// Microbenchmarks", arXiv:2206.02874), and the former as many on an H100; there a tensor core takes 128 cycles for
/// `wgmma` of 64 x 256 x 16 (Luo and others, arXiv:2402.13499). What is more than one such `mma` comes 8 cycles later each.
fn product_cycles(opcode: &str) -> u32 {
    const ONE: f32 = 16.0 * 8.0 * 16.0;
    let products = products(opcode);
    match opcode.starts_with("wgmma") {
        true => (products / ONE * 4.0).max(33.0) as u32,
        false => (17.0 + products.min(ONE) / ONE * 16.0 + (products / ONE - 1.0).max(0.0) * 8.0) as u32,
    }
}

/// The part of a multiprocessor that executes an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pipe {
    /// Nothing is issued: `ptxas` folds it into others.
    None,
    /// Integers, logic, comparisons.
    Alu,
    /// Single precision, and integer products.
    Fma,
    /// Double precision.
    Fp64,
    /// Conversions, square roots and the like.
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

/// Cycles until the result of an instruction is available, if it waits for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latencies {
    /// Arithmetic.
    pub alu: u32,
    /// Double precision, conversions, special functions.
    pub special: u32,
    /// Shuffles and votes.
    pub shuffle: u32,
    /// A load of shared memory.
    pub shared: u32,
    /// Each further pass of an atomic on shared memory.
    pub atomic: u32,
    /// A load that hits the L1.
    pub l1: u32,
    /// A load that hits the L2.
    pub l2: u32,
    /// A load from memory.
    pub memory: u32,
    /// From the last warp's arrival at a barrier to the first instruction behind it.
    pub barrier: u32,
}

/// The cost of an instruction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// The pipe.
    pub pipe: Pipe,
    /// Instructions issued for it.
    pub issued: f32,
    /// Whether it goes to the L2 even if the L1 holds the data.
    pub past_l1: bool,
    /// What a warp takes of the tensor cores: additions of products of two halves in the same time.
    pub products: f32,
    wait: Wait,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Wait {
    Nothing,
    Alu(u32),
    Special,
    Shuffle,
    Cycles(u32),
}

impl Cost {
    /// The cost of an instruction.
    pub fn of(inst: &Instruction<'_>) -> Self {
        let opcode = inst.opcode;
        let class = opcode::class(opcode);
        let base = opcode.split('.').next().unwrap_or(opcode);
        let has = |word: &str| opcode.split('.').any(|other| other == word);
        let wide = has("b64") || has("u64") || has("s64");
        let double = has("f64");
        let cost = Self::new;
        // A 64-bit integer is two registers, and most instructions are issued for each.
        let halves = if wide { 2.0 } else { 1.0 };
        match base {
            "mov" if inst.uses().iter().any(|name| matches!(*name, "%tid" | "%ctaid")) => {
                cost(Pipe::Alu, 1.0, Wait::Special)
            }
            "mov" | "cvta" | "isspacep" | "pragma" => cost(Pipe::None, 0.0, Wait::Nothing),
            "ld" if has("param") || has("const") => cost(Pipe::None, 0.0, Wait::Nothing),
            "cp" => cost(Pipe::Memory, 1.0, Wait::Nothing),
            "shfl" => cost(Pipe::Memory, 1.0, Wait::Shuffle),
            _ if matches!(class, Some(Class::Memory(_))) => Self {
                past_l1: has("relaxed") || has("acquire") || has("cg") || has("cv"),
                ..cost(Pipe::Memory, 1.0, Wait::Nothing)
            },
            _ if class == Some(Class::Matrix) && is_matrix_access(opcode) => cost(Pipe::Memory, 1.0, Wait::Nothing),
            "movmatrix" => cost(Pipe::Memory, 1.0, Wait::Shuffle),
            _ if class == Some(Class::Matrix) && products(opcode) > 0.0 => {
                Self { products: products(opcode), ..cost(Pipe::Matrix, 1.0, Wait::Cycles(product_cycles(opcode))) }
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

    /// A product of 32-bit numbers that is only added to an address: `ptxas` makes one instruction of both.
    pub(super) const FOLDED: Self = Self::new(Pipe::None, 0.0, Wait::Nothing);

    /// The addition that uses such a product.
    pub(super) const FUSED: Self = Self::new(Pipe::Fma, 1.0, Wait::Alu(1));

    const fn new(pipe: Pipe, issued: f32, wait: Wait) -> Self {
        Self { pipe, issued, past_l1: false, products: 0.0, wait }
    }

    /// Cycles until its result is available, without the latency of memory itself.
    pub fn latency(&self, latencies: &Latencies) -> u32 {
        match self.wait {
            Wait::Nothing => 0,
            Wait::Alu(times) => latencies.alu * times,
            Wait::Special => latencies.special,
            Wait::Shuffle => latencies.shuffle,
            Wait::Cycles(cycles) => cycles,
        }
    }
}
