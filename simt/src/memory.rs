//! Memory: its spaces, and the instructions that use it.
//!
//! Addresses of the shared, local, constant and parameter spaces are offsets from 0. In the generic
//! space (PTX ISA §5.1, "Generic Addressing") each has a window, at [`SHARED_WINDOW`] and so on; every
//! other generic address is global.

pub mod global;
pub mod local;

use crate::code::R32;
use crate::lower::{Context, Refusal};
use crate::observe::{Observer, Place, Site};
use crate::parse::ast::Instruction;
use crate::regs::Regs;

pub use global::GlobalMemory;
pub use local::LocalMemory;

/// Where the window of shared memory begins among generic addresses.
pub const SHARED_WINDOW: u64 = 0x0000_7100_0000_0000;
/// Where the window of local memory begins.
pub const LOCAL_WINDOW: u64 = 0x0000_7200_0000_0000;
/// Where the window of constant memory begins.
pub const CONST_WINDOW: u64 = 0x0000_7300_0000_0000;
/// Where the window of a kernel's parameters begins.
pub const PARAM_WINDOW: u64 = 0x0000_7400_0000_0000;
/// The size of each window.
pub const WINDOW_BYTES: u64 = 0x0000_0100_0000_0000;

/// What a memory instruction reaches.
pub struct Env<'a, O> {
    /// The warp's registers.
    pub regs: Regs<'a>,
    /// The block's shared memory, static then dynamic.
    pub shared: &'a mut [u8],
    /// The warp's local memory.
    pub local: &'a mut LocalMemory,
    /// The kernel's parameters.
    pub params: &'a [u8],
    /// Constant memory.
    pub constants: &'a [u8],
    /// Device memory.
    pub global: &'a GlobalMemory,
    /// Who watches.
    pub observer: &'a mut O,
    /// The instruction.
    pub site: Site,
    /// The warp.
    pub place: Place,
}

/// Why a lane's access cannot be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessFault {
    /// The lane.
    pub lane: u32,
    /// The address, as the instruction has it.
    pub address: u64,
    /// How many bytes.
    pub bytes: u32,
    /// Whether it writes.
    pub write: bool,
    /// What is wrong with it.
    pub what: AccessProblem,
}

/// What is wrong with an access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccessProblem {
    /// The address is no multiple of the access's size.
    Misaligned,
    /// Outside every allocation, or past the end of its space.
    OutOfBounds,
    /// Written, and the space is read-only.
    ReadOnly,
}

/// A memory instruction.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    /// A placeholder until the instructions are here.
    pub placeholder: R32,
}

/// Decodes a memory instruction; `None` if the opcode is no such.
pub(crate) fn decode(
    _inst: &Instruction<'_>,
    _words: &[&str],
    _cx: &mut Context<'_, '_>,
) -> Result<Option<Memory>, Refusal> {
    Ok(None)
}

impl Memory {
    /// Runs it on the lanes of `mask`.
    #[inline]
    pub(crate) fn execute<O: Observer>(
        &self,
        _env: &mut Env<'_, O>,
        _mask: u32,
    ) -> Result<(), AccessFault> {
        Ok(())
    }
}
