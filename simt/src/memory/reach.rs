//! From an instruction's addresses to the memory behind them: which space, whether the addresses are
//! good, what the observer is told.

use super::global::Allocation;
use super::storage::{AnyAllocation, Lanes, Local, OneAllocation, ReadOnly, Shared, Storage, each};
use super::{
    AccessFault, AccessProblem, CONST_WINDOW, Env, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW,
    WINDOW_BYTES,
};
use crate::code::Reg;
use crate::observe::{Access, AccessKind, Observer};
use crate::parse::ast::Space;
use crate::regs::{LANES, Lanes64, Regs};

/// Where an instruction's addresses lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Region {
    /// Anywhere: each lane's address says where.
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
    /// `.param` variables of a function's body or head: they lie in the frame's local memory.
    FrameParam,
}

impl Region {
    /// Where its window begins among generic addresses; 0 for device memory, which has the rest.
    pub(crate) fn window(self) -> u64 {
        match self {
            Region::Generic | Region::Global => 0,
            Region::Shared => SHARED_WINDOW,
            Region::Local | Region::FrameParam => LOCAL_WINDOW,
            Region::Const => CONST_WINDOW,
            Region::Param => PARAM_WINDOW,
        }
    }

    /// The space that a generic address lies in.
    pub(crate) fn of(address: u64) -> Self {
        match address / WINDOW_BYTES * WINDOW_BYTES {
            SHARED_WINDOW => Region::Shared,
            LOCAL_WINDOW => Region::Local,
            CONST_WINDOW => Region::Const,
            PARAM_WINDOW => Region::Param,
            _ => Region::Global,
        }
    }

    fn space(self) -> Space {
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
    /// Bytes behind it.
    pub offset: i32,
    /// Where it lies.
    pub region: Region,
}

impl Address {
    #[inline(always)]
    pub(super) fn lanes(&self, regs: &Regs<'_>) -> Lanes64 {
        // Loops, for `map` of an array of this size stays a call for each element.
        let mut at = [0; LANES];
        match self.base {
            Reg::R64(base) => {
                let offset = i64::from(self.offset) as u64;
                let base = regs.get64(base);
                for lane in 0..LANES {
                    at[lane] = base[lane].wrapping_add(offset);
                }
            }
            // Addresses of 32 bits are added up in 32 bits.
            Reg::R32(base) => {
                let offset = self.offset as u32;
                let base = regs.get32(base);
                for lane in 0..LANES {
                    at[lane] = u64::from(base[lane].wrapping_add(offset));
                }
            }
            Reg::Pred(_) => unreachable!("decoding takes no predicate for an address"),
        }
        at
    }
}

/// What an instruction does at its addresses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// Bytes for each lane, a power of two; the addresses are multiples of it.
    pub(super) bytes: u32,
    /// What the observer is told.
    pub(super) kind: AccessKind,
    /// Whether it writes.
    pub(super) write: bool,
    /// Whether each value is accessed by itself.
    pub(super) strong: bool,
}

/// An instruction that accesses memory.
pub(super) trait Perform {
    /// Where.
    fn address(&self) -> &Address;

    /// What it does there.
    fn shape(&self) -> Shape;

    /// Does it, at addresses that have been checked.
    fn perform<S: Storage>(&self, regs: &mut Regs<'_>, memory: &mut S, lanes: &Lanes<'_>);
}

/// Runs an instruction on the lanes of `mask`, of which there is at least one.
#[inline(always)]
pub(super) fn run<P: Perform, O: Observer>(
    op: &P,
    env: &mut Env<'_, O>,
    mask: u32,
) -> Result<(), AccessFault> {
    let address = op.address();
    let at = address.lanes(&env.regs);
    match address.region {
        Region::Generic => generic(op, env, &at, mask),
        region => in_region(op, env, region, &at, mask),
    }
}

#[inline(always)]
fn in_region<P: Perform, O: Observer>(
    op: &P,
    env: &mut Env<'_, O>,
    region: Region,
    at: &Lanes64,
    mask: u32,
) -> Result<(), AccessFault> {
    let shape = op.shape();
    let found = check(env, region, at, mask, shape)?;
    observe(env, region, at, mask, shape);
    let lanes = Lanes { at, mask };
    match region {
        Region::Generic | Region::Global => match found {
            Some(allocation) => {
                let mut memory = OneAllocation {
                    words: &allocation.words,
                    base: allocation.base,
                    strong: shape.strong,
                };
                op.perform(&mut env.regs, &mut memory, &lanes);
            }
            None => op.perform(&mut env.regs, &mut AnyAllocation(env.global), &lanes),
        },
        Region::Shared => op.perform(&mut env.regs, &mut Shared(env.shared), &lanes),
        Region::Local | Region::FrameParam => {
            op.perform(&mut env.regs, &mut Local(env.local), &lanes);
        }
        Region::Const => op.perform(&mut env.regs, &mut ReadOnly(env.constants), &lanes),
        Region::Param => op.perform(&mut env.regs, &mut ReadOnly(env.params), &lanes),
    }
    Ok(())
}

/// Tells the observer.
#[inline(always)]
pub(super) fn observe<O: Observer>(
    env: &mut Env<'_, O>,
    region: Region,
    at: &Lanes64,
    mask: u32,
    shape: Shape,
) {
    let access = Access {
        space: region.space(),
        kind: shape.kind,
        bytes: shape.bytes,
        mask,
        addresses: at,
    };
    env.observer.access(env.site, env.place, &access);
}

/// Splits the lanes by the space that their addresses lie in.
fn generic<P: Perform, O: Observer>(
    op: &P,
    env: &mut Env<'_, O>,
    at: &Lanes64,
    mask: u32,
) -> Result<(), AccessFault> {
    let first = at[mask.trailing_zeros() as usize];
    let mut different = 0;
    each(mask, |lane| different |= at[lane] ^ first);
    if different < WINDOW_BYTES {
        let region = Region::of(first);
        return match region.window() {
            0 => in_region(op, env, region, at, mask),
            window => {
                let mut offsets = [0; LANES];
                for lane in 0..LANES {
                    offsets[lane] = at[lane].wrapping_sub(window);
                }
                in_region(op, env, region, &offsets, mask).map_err(|fault| fault.shifted(window))
            }
        };
    }
    let all = [
        Region::Global,
        Region::Shared,
        Region::Local,
        Region::Const,
        Region::Param,
    ];
    let parts = all.map(|region| {
        let lanes = at.iter().enumerate().fold(0, |lanes, (lane, at)| {
            lanes | u32::from(Region::of(*at) == region) << lane
        });
        let window = region.window();
        (region, lanes & mask, at.map(|at| at.wrapping_sub(window)))
    });
    // All are checked before the first is done.
    let parts = || parts.iter().filter(|(_, mask, _)| *mask != 0);
    let fault = parts()
        .filter_map(|(region, mask, at)| {
            let fault = check(env, *region, at, *mask, op.shape()).err()?;
            Some(fault.shifted(region.window()))
        })
        .min_by_key(|fault| fault.lane);
    if let Some(fault) = fault {
        return Err(fault);
    }
    for (region, mask, at) in parts() {
        in_region(op, env, *region, at, *mask)?;
    }
    Ok(())
}

/// Checks the lanes' addresses. For device memory, returns the allocation that all of them lie in, if they
/// lie in one.
#[inline(always)]
pub(super) fn check<'a, O>(
    env: &Env<'a, O>,
    region: Region,
    at: &Lanes64,
    mask: u32,
    shape: Shape,
) -> Result<Option<&'a Allocation>, AccessFault> {
    let bytes = u64::from(shape.bytes);
    let first = mask.trailing_zeros() as usize;
    let (allocation, base, size) = match region {
        Region::Generic | Region::Global => match env.global.find(at[first]) {
            Some(found) => (Some(found), found.base, found.bytes),
            None => (None, 0, 0),
        },
        Region::Shared => (None, 0, env.shared.len() as u64),
        Region::Local | Region::FrameParam => (None, 0, u64::from(env.local.len())),
        Region::Const => (None, 0, env.constants.len() as u64),
        Region::Param => (None, 0, env.params.len() as u64),
    };
    let writable = !matches!(region, Region::Const | Region::Param);
    if bytes <= size && (writable || !shape.write) {
        // Differences of sizes and offsets have their highest bit set where an offset is too large, as
        // an allocation has fewer than 2^63 bytes; the low bits of an address are zero if it is aligned.
        let last = size - bytes;
        let mut high = 0;
        let mut low = 0;
        each(mask, |lane| {
            let offset = at[lane].wrapping_sub(base);
            high |= offset | last.wrapping_sub(offset);
            low |= at[lane];
        });
        if high >> 63 == 0 && low & (bytes - 1) == 0 {
            return Ok(allocation);
        }
    }
    check_each(env, region, at, mask, shape, size)?;
    // What is left: lanes in different allocations.
    Ok(None)
}

/// Checks lane by lane, where the short ways have found something.
#[cold]
fn check_each<O>(
    env: &Env<'_, O>,
    region: Region,
    at: &Lanes64,
    mask: u32,
    shape: Shape,
    size: u64,
) -> Result<(), AccessFault> {
    let bytes = u64::from(shape.bytes);
    let inside = |at: u64| match region {
        Region::Generic | Region::Global => env
            .global
            .find(at)
            .is_some_and(|found| at - found.base + bytes <= found.bytes),
        _ => at.checked_add(bytes).is_some_and(|end| end <= size),
    };
    for lane in crate::warp::lanes(mask) {
        let what = if shape.write && matches!(region, Region::Const | Region::Param) {
            AccessProblem::ReadOnly
        } else if at[lane] & (bytes - 1) != 0 {
            AccessProblem::Misaligned
        } else if !inside(at[lane]) {
            AccessProblem::OutOfBounds
        } else {
            continue;
        };
        return Err(AccessFault {
            lane: lane as u32,
            address: at[lane],
            bytes: shape.bytes,
            write: shape.write,
            what,
            space: region.space(),
            offset: at[lane],
            space_bytes: size,
        });
    }
    Ok(())
}
