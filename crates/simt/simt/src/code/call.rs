//! Calls, what may be called, and the frames' local memory.

use super::{R32, R64, Reg};

/// A call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Which function.
    pub callee: Callee,
    /// Where the arguments and results lie in the caller's frame.
    pub slots: Signature,
}

/// The function that a call calls.
#[derive(Debug, Clone, PartialEq)]
pub enum Callee {
    /// Index into [`Program::functions`](super::Program::functions).
    Function(u32),
    /// A function of CUDA's device runtime, which no module defines.
    Runtime(Runtime),
    /// The function at an address.
    Pointer {
        /// The register of the address.
        address: R64,
        /// The addresses of `.calltargets`, if there is such a list.
        listed: Option<Box<[u64]>>,
    },
}

/// The functions of CUDA's device runtime that this machine has.
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

/// The results and parameters of a function, or those of a call, in a frame.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Signature {
    /// The results.
    pub results: Vec<Slot>,
    /// The parameters or arguments.
    pub parameters: Vec<Slot>,
}

impl Signature {
    /// Whether results and parameters are as many and as large as those of another, wherever they lie.
    pub(crate) fn fits(&self, other: &Self) -> bool {
        fn same(own: &[Slot], other: &[Slot]) -> bool {
            let bytes = |slot: &Slot| slot.bytes;
            own.iter().map(bytes).eq(other.iter().map(bytes))
        }
        same(&self.results, &other.results) && same(&self.parameters, &other.parameters)
    }
}

/// Bytes of a frame's local memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// Offset in the frame.
    pub at: u32,
    /// How many.
    pub bytes: u32,
}

/// Where the code of functions begins among addresses: data accesses there are out of bounds.
pub(crate) const FUNCTIONS: u64 = 0x1_0000_0000;
/// Bytes between the addresses of two functions.
pub(crate) const FUNCTION_BYTES: u64 = 16;

/// A function of the module whose address may be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The address.
    pub address: u64,
    /// The function's name.
    pub name: String,
    /// Index into [`Program::functions`](super::Program::functions); `None` if no indirect call of the program fits the function, or its body is
    /// not in the module.
    pub function: Option<u32>,
}

/// An instruction on the frame's part of the stack that grows while it runs; `top` is the register of its end.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "the fields are the instruction's operands")]
pub enum Stack {
    Alloca { to: Reg, bytes: Reg, align: u32, top: R32 },
    Save { to: Reg, top: R32 },
    Restore { from: Reg, top: R32 },
}
