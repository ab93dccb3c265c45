//! Calls, call targets, and the local memory of frames.

use super::{R32, R64, Reg};

/// A call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The called function.
    pub callee: Callee,
    /// The offsets of the arguments and results in the caller's frame.
    pub slots: Signature,
}

/// The function that a call invokes.
#[derive(Debug, Clone, PartialEq)]
pub enum Callee {
    /// The index in [`Program::functions`](super::Program::functions).
    Function(u32),
    /// A function of CUDA's device runtime, which is not defined in any module.
    Runtime(Runtime),
    /// The function at an address.
    Pointer {
        /// The register that holds the address.
        address: R64,
        /// The addresses listed by `.calltargets`, if there is such a list.
        listed: Option<Box<[u64]>>,
    },
}

/// The functions of CUDA's device runtime that the simulator implements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runtime {
    /// `vprintf(format, arguments)`
    Print,
    /// `__assertfail(expression, file, line, function, …)`
    Assert,
    /// `malloc(bytes)`
    Allocate,
    /// `free(address)`
    Free,
}

/// The results and parameters of a function or a call, in a frame.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Signature {
    /// The results.
    pub results: Vec<Slot>,
    /// The parameters or arguments.
    pub parameters: Vec<Slot>,
}

impl Signature {
    /// Returns whether both signatures have the same number and sizes of results and parameters, regardless of the
    /// offsets.
    pub(crate) fn fits(&self, other: &Self) -> bool {
        fn same(slots: &[Slot], other: &[Slot]) -> bool {
            let bytes = |slot: &Slot| slot.bytes;
            slots.iter().map(bytes).eq(other.iter().map(bytes))
        }
        same(&self.results, &other.results) && same(&self.parameters, &other.parameters)
    }
}

/// A byte range in a frame's local memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// The offset in the frame.
    pub at: u32,
    /// The size in bytes.
    pub bytes: u32,
}

/// The start of the address range of functions. Data accesses in this range are out of bounds.
pub(crate) const FUNCTIONS: u64 = 0x1_0000_0000;
/// The distance between the addresses of two functions, in bytes.
pub(crate) const FUNCTION_BYTES: u64 = 16;

/// A function of the module that can be called by address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The address.
    pub address: u64,
    /// The function's name.
    pub name: String,
    /// The index in [`Program::functions`](super::Program::functions). `None` if no indirect call in the program
    /// matches the function's signature, or if the function's body is not in the module.
    pub function: Option<u32>,
}

/// An instruction that uses the dynamic part of the frame's stack; `top` is the register that holds the end of the
/// stack.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "the fields are the instruction's operands")]
pub enum Stack {
    Alloca { to: Reg, bytes: Reg, align: u32, top: R32 },
    Save { to: Reg, top: R32 },
    Restore { from: Reg, top: R32 },
}
