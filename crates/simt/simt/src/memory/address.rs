//! The state spaces of addresses, and the windows of the spaces in the generic address space.

use ptx::ast::Space;

use super::{CONST_WINDOW, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, WINDOW_BYTES};
use crate::regs::{LANES, Lanes64, Reg, Regs};

/// The memory that contains an instruction's addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Region {
    /// Any memory: the address of each lane determines its space.
    Generic,
    /// Device memory.
    Global,
    /// The block's shared memory.
    Shared,
    /// The thread's local memory.
    Local,
    /// Constants.
    Const,
    /// The kernel's parameters.
    Param,
    /// `.param` variables of a function's body or signature, which are in the frame's local memory.
    FrameParam,
}

impl Region {
    /// Returns the generic address at which the space's window starts; 0 for device memory, which uses all addresses
    /// outside the windows.
    pub fn window(self) -> u64 {
        match self {
            Region::Generic | Region::Global => 0,
            Region::Shared => SHARED_WINDOW,
            Region::Local | Region::FrameParam => LOCAL_WINDOW,
            Region::Const => CONST_WINDOW,
            Region::Param => PARAM_WINDOW,
        }
    }

    /// Returns the space that contains a generic address.
    pub fn of(address: u64) -> Self {
        match address / WINDOW_BYTES * WINDOW_BYTES {
            SHARED_WINDOW => Region::Shared,
            LOCAL_WINDOW => Region::Local,
            CONST_WINDOW => Region::Const,
            PARAM_WINDOW => Region::Param,
            _ => Region::Global,
        }
    }

    /// Returns the state space of the addresses; `Global` if they are generic.
    pub fn space(self) -> Space {
        match self {
            Region::Generic | Region::Global => Space::Global,
            Region::Shared => Space::Shared,
            Region::Local => Space::Local,
            Region::Const => Space::Const,
            Region::Param | Region::FrameParam => Space::Param,
        }
    }
}

/// The address of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// The register that holds the base.
    pub base: Reg,
    /// The offset from the base in bytes.
    pub offset: i32,
    /// The space that contains the address.
    pub region: Region,
    /// Whether the base is known before the kernel runs, because it is the address of a variable and the same for all
    /// lanes.
    pub fixed: bool,
}

impl Address {
    /// Returns a lane's address.
    #[inline(always)]
    pub(super) fn lane(&self, regs: &Regs<'_>, lane: usize) -> u64 {
        match self.base {
            Reg::R64(base) => regs.get64(base)[lane].wrapping_add(i64::from(self.offset) as u64),
            Reg::R32(base) => u64::from(regs.get32(base)[lane].wrapping_add(self.offset as u32)),
            Reg::Pred(_) => unreachable!("decoding takes no predicate for an address"),
        }
    }

    /// Returns the addresses of all lanes.
    pub(crate) fn of_lanes(&self, regs: &Regs<'_>) -> Lanes64 {
        let mut at = [0; LANES];
        self.lanes(regs, &mut at);
        at
    }

    #[inline(always)]
    pub(crate) fn lanes(&self, regs: &Regs<'_>, at: &mut Lanes64) {
        // The code uses loops because the compiler does not inline the closure of `map` on an array of this size.
        match self.base {
            Reg::R64(base) => {
                let offset = i64::from(self.offset) as u64;
                let base = regs.get64(base);
                for lane in 0..LANES {
                    at[lane] = base[lane].wrapping_add(offset);
                }
                hide(at);
            }
            // 32-bit addresses are added in 32 bits.
            Reg::R32(base) => {
                let offset = self.offset as u32;
                let base = regs.get32(base);
                for lane in 0..LANES {
                    at[lane] = u64::from(base[lane].wrapping_add(offset));
                }
                hide(at);
            }
            Reg::Pred(_) => unreachable!("decoding takes no predicate for an address"),
        }
    }
}

/// Makes the compiler read the addresses from memory when they are used. Without this function, the compiler would keep
/// each address in a scalar register, although vectors of addresses are needed.
#[inline(always)]
fn hide(at: &mut Lanes64) {
    std::hint::black_box(at);
}
