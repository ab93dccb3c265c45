//! Memory: its spaces, and the instructions that use it.
//!
//! Addresses of the shared, local, constant and parameter spaces are offsets from 0. In the generic
//! space (PTX ISA §5.1, "Generic Addressing") each has a window, at [`SHARED_WINDOW`] and so on; every
//! other generic address is global.

pub mod address;
pub mod async_copy;
pub mod atomic;
mod decode;
pub mod global;
pub mod half;
pub mod load_store;
pub mod local;
mod reach;
mod row;
mod storage;
#[cfg(test)]
mod tests;
mod words;

use std::sync::atomic::{Ordering, fence};

use crate::observe::{Observer, Place, Site};
use crate::parse::ast::Space;
use crate::regs::Regs;

use address::Convert;
use async_copy::AsyncCopy;
use atomic::Atomic;
pub(crate) use decode::decode;
pub use global::GlobalMemory;
use load_store::{Load, Store};
pub use local::LocalMemory;
pub use reach::{Address, Region};

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
    /// The space that the address lies in.
    pub space: Space,
    /// The address in that space: another one if the instruction has generic addresses.
    pub offset: u64,
    /// How large that space is, except for global memory.
    pub space_bytes: u64,
}

impl AccessFault {
    /// The same fault, of an instruction whose addresses are `window` behind those of the space.
    fn shifted(mut self, window: u64) -> Self {
        self.address = self.address.wrapping_add(window);
        self
    }

    /// Where it is in its space: `16 bytes past the end of the block's shared memory of 4096 bytes`.
    /// `None` for global memory, of which the allocations have to be asked.
    pub fn near(&self) -> Option<String> {
        let whose = match self.space {
            Space::Shared => "the block's shared memory",
            Space::Local => "the thread's local memory",
            Space::Const => "the module's constants",
            Space::Param => "the parameters",
            Space::Global | Space::Reg | Space::Tex => return None,
        };
        let (at, bytes) = (self.offset, self.space_bytes);
        Some(if at >= bytes {
            format!(
                "{} bytes past the end of {whose} of {bytes} bytes",
                at - bytes
            )
        } else {
            format!("at byte {at} of {whose} of {bytes} bytes")
        })
    }
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
pub enum Memory {
    /// `ld`, `ldu`
    Load(Load),
    /// `st`
    Store(Store),
    /// `atom`, `red`
    Atomic(Box<Atomic>),
    /// `cp.async`
    AsyncCopy(Box<AsyncCopy>),
    /// `cp.async.commit_group`, `.wait_group`, `.wait_all`: the copies are done.
    Nothing,
    /// `membar`, `fence`
    Fence,
    /// `cvta` and the like: addresses as values.
    Convert(Convert),
}

impl Memory {
    /// Runs it on the lanes of `mask`, of which there is at least one.
    ///
    /// # Errors
    /// The lowest lane's [`AccessFault`]. Then no lane's access has been done.
    #[inline]
    pub(crate) fn execute<O: Observer>(
        &self,
        env: &mut Env<'_, O>,
        mask: u32,
    ) -> Result<(), AccessFault> {
        match self {
            Memory::Load(op) => op.execute(env, mask)?,
            Memory::Store(op) => op.execute(env, mask)?,
            Memory::Atomic(op) => op.execute(env, mask)?,
            Memory::AsyncCopy(op) => op.execute(env, mask)?,
            Memory::Nothing => {}
            Memory::Fence => fence(Ordering::SeqCst),
            Memory::Convert(op) => op.execute(&mut env.regs, mask),
        }
        Ok(())
    }
}
