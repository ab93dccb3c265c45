//! The path from an instruction's addresses to memory. This module finds the space that contains the addresses, checks
//! whether the instruction may access it, and creates the access that the observer receives.

use super::address::{Address, Region};
use super::cluster::RANK_UNIT;
use super::global::{Allocation, GlobalMemory};
use super::storage::{AnyAllocation, Lanes, OneAllocation, ReadOnly, Storage};
use super::words::prefetch_word;
use super::{AccessFault, AccessProblem, Accessed, Env, Observe, PLACES, Recent, WINDOW_BYTES};
use crate::observe::{Access, AccessKind, StoredValues};
use crate::regs::{ALL, HALF, LANES, Lanes64, Regs, lanes as lanes_of};
use crate::vectors::{Pattern, Portable, Vectors};
use ptx::ast::Space;

/// The properties of an instruction's access to memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// The number of bytes that each lane accesses: a power of two, which is also the required alignment.
    pub(crate) bytes: u32,
    /// The kind that the observer receives.
    pub(crate) kind: AccessKind,
    /// Whether the access is a write.
    pub(crate) write: bool,
    /// Whether each value is accessed individually.
    pub(crate) strong: bool,
}

impl Shape {
    /// Returns the access that an observer receives.
    #[inline(always)]
    pub(crate) fn access(self, region: Region, mask: u32, at: &Lanes64, patterns: Option<[Pattern; 2]>) -> Access<'_> {
        Access {
            space: region.space(),
            kind: self.kind,
            bytes: self.bytes,
            mask,
            rank: None,
            stored: StoredValues::default(),
            addresses: at,
            patterns,
        }
    }

    /// Returns the reason why this access is invalid at every address of a space, if it is.
    #[inline(always)]
    fn refusal(self, region: Region) -> Option<AccessProblem> {
        let is_atomic = matches!(self.kind, AccessKind::Atomic | AccessKind::Reduction);
        match region {
            Region::Const | Region::Param if self.write => Some(AccessProblem::ReadOnly),
            Region::Local | Region::FrameParam if is_atomic => Some(AccessProblem::NotAtomic),
            _ => None,
        }
    }

    /// Creates the fault of a lane at an address. `space` is the space and its size in bytes.
    pub(super) fn fault(self, lane: usize, address: u64, what: AccessProblem, space: (Space, u64)) -> AccessFault {
        AccessFault::new(lane, address, (self.bytes, self.write), what, space)
    }
}

/// The result of an instruction that accesses memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccessOutcome {
    /// The access is complete. All addresses are in this space; the addresses and their patterns are recorded for the
    /// observer.
    Done(Region, Option<[Pattern; 2]>),
    /// The addresses are in several spaces and nothing has been accessed yet: [`split`] performs the access.
    SeveralSpaces,
}

/// The outcome of an access, packed in one register. A larger type would be returned in memory, and the caller would
/// stall while reading it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct PackedOutcome(u32);

impl PackedOutcome {
    /// The access faults, and nothing has been accessed.
    pub(crate) const FAULT: Self = Self(0);
    /// [`AccessOutcome::SeveralSpaces`]
    pub(crate) const SEVERAL_SPACES: Self = Self(1);
    const DONE: u32 = 2;
    const REGIONS: [Region; 8] = [
        Region::Generic,
        Region::Global,
        Region::Shared,
        Region::Local,
        Region::Const,
        Region::Param,
        Region::FrameParam,
        Region::Generic,
    ];

    /// Packs an outcome. The patterns take two bits, and the bit above them is set if there are patterns.
    #[inline(always)]
    pub(crate) fn of(outcome: AccessOutcome) -> Self {
        let AccessOutcome::Done(region, patterns) = outcome else { return Self::SEVERAL_SPACES };
        let patterns = patterns.map_or(0, |[low, high]| 4 | (low as u32) << 1 | high as u32);
        Self(Self::DONE | (region as u32) << 2 | patterns << 5)
    }

    /// Returns the space and the patterns of a completed access.
    #[inline(always)]
    pub(crate) fn done(self) -> Option<(Region, Option<[Pattern; 2]>)> {
        let pattern = |bit: u32| if self.0 >> bit & 1 == 0 { Pattern::Row } else { Pattern::Same };
        let patterns = (self.0 >> 7 & 1 != 0).then(|| [pattern(6), pattern(5)]);
        (self.0 & Self::DONE != 0).then(|| (Self::REGIONS[(self.0 >> 2) as usize % 8], patterns))
    }
}

/// An instruction that accesses memory.
pub(crate) trait MemoryOp {
    /// Returns the address.
    fn address(&self) -> &Address;

    /// Returns the properties of the access.
    fn shape(&self) -> Shape;

    /// Performs the access at addresses that have been checked.
    fn perform<S: Storage>(&self, regs: &mut Regs<'_>, memory: &mut S, lanes: &Lanes<'_>);
}

/// Runs an instruction on the lanes of `mask`, which is not empty, and stores the lanes' addresses in `at`.
#[inline(always)]
pub(super) fn run<V: Vectors, P: MemoryOp>(
    vectors: V,
    op: &P,
    env: &mut Env<'_, '_>,
    mask: u32,
    at: &mut Lanes64,
) -> Accessed<AccessOutcome> {
    let address = op.address();
    address.lanes(&env.regs, at);
    let mut region = address.region;
    let mut window = 0;
    if region == Region::Generic {
        let first = at[mask.trailing_zeros() as usize % LANES];
        let mut different = 0;
        if mask == ALL {
            for at in at.iter() {
                different |= at ^ first;
            }
        } else {
            for lane in lanes_of(mask) {
                different |= at[lane] ^ first;
            }
        }
        if different >= WINDOW_BYTES {
            return Ok(AccessOutcome::SeveralSpaces);
        }
        region = Region::of(first);
        window = region.window();
        if window != 0 {
            for at in at.iter_mut() {
                *at = at.wrapping_sub(window);
            }
        }
    }
    let done = match V::PORTABLE {
        true => in_region_portably(op, env, region, at, mask),
        false => in_region(vectors, op, env, region, at, mask),
    };
    match done {
        Ok(patterns) => Ok(AccessOutcome::Done(region, patterns)),
        Err(AccessFault { address: at, .. })
            if address.region == Region::Global && Region::of(at) == Region::Const
                || region == Region::Shared && at >= RANK_UNIT =>
        {
            Ok(AccessOutcome::SeveralSpaces)
        }
        Err(fault) => Err(fault.shifted(window)),
    }
}

#[inline(always)]
fn in_region<V: Vectors, P: MemoryOp>(
    vectors: V,
    op: &P,
    env: &mut Env<'_, '_>,
    region: Region,
    at: &Lanes64,
    mask: u32,
) -> Accessed<Option<[Pattern; 2]>> {
    let shape = op.shape();
    let lanes = Lanes::new(vectors, at, mask, shape.bytes);
    let found = check(vectors, env, region, &lanes, shape)?;
    match region {
        Region::Generic | Region::Global => match found {
            Some(allocation) => {
                if lanes.patterns.is_some() {
                    env.recent.prefetch(op, allocation, at[0]);
                }
                let mut memory =
                    OneAllocation { words: &allocation.words, base: allocation.base, strong: shape.strong };
                op.perform(&mut env.regs, &mut memory, &lanes);
            }
            None => in_any_allocation(op, env, &lanes),
        },
        Region::Shared => op.perform(&mut env.regs, env.shared, &lanes),
        Region::Local | Region::FrameParam => op.perform(&mut env.regs, env.local, &lanes),
        Region::Const | Region::Param => {
            let bytes = if region == Region::Const { env.constants } else { env.params };
            op.perform(&mut env.regs, &mut ReadOnly(bytes), &lanes);
        }
    }
    Ok(lanes.patterns)
}

/// Runs [`in_region`] on any CPU; compiled once for each kind of instruction.
#[inline(never)]
fn in_region_portably<P: MemoryOp>(
    op: &P,
    env: &mut Env<'_, '_>,
    region: Region,
    at: &Lanes64,
    mask: u32,
) -> Accessed<Option<[Pattern; 2]>> {
    in_region(Portable, op, env, region, at, mask)
}

/// Accesses device memory when the lanes address more than one allocation, which is rare. This is a separate function
/// so that it is compiled only once.
#[inline(never)]
fn in_any_allocation<P: MemoryOp>(op: &P, env: &mut Env<'_, '_>, lanes: &Lanes<'_>) {
    op.perform(&mut env.regs, &mut AnyAllocation(env.global), lanes);
}

/// Returns the space of one address of an instruction whose addresses are in several spaces. `ld.global` can also read
/// constants, because the window of constant memory is in global memory on a GPU (observed on an H200).
fn region_of(address: &Address, at: u64) -> Region {
    match (address.region, Region::of(at)) {
        (Region::Global, Region::Const) | (Region::Generic, _) => Region::of(at),
        (region, _) => region,
    }
}

/// Runs an instruction whose generic addresses are in several spaces, one space after the other.
#[cold]
pub(super) fn split<P: MemoryOp>(op: &P, env: &mut Env<'_, '_>, mask: u32, observe: &mut Observe<'_>) -> Accessed {
    let at = op.address().of_lanes(&env.regs);
    let window = |region: Region| if op.address().region == Region::Shared { 0 } else { region.window() };
    // The space, the rank of the block whose shared memory is accessed, the lanes, and their addresses.
    let mut parts: Vec<(Region, u32, u32, Lanes64)> = Vec::new();
    for lane in lanes_of(mask) {
        let region = region_of(op.address(), at[lane]);
        let at = at[lane].wrapping_sub(window(region));
        let (rank, at) = if region == Region::Shared { env.cluster.find(at) } else { (env.cluster.rank, at) };
        let known = parts.iter_mut();
        match known.into_iter().find(|part| (part.0, part.1) == (region, rank)) {
            Some(part) => {
                part.2 |= 1 << lane;
                part.3[lane] = at;
            }
            None => {
                let mut all = [0; LANES];
                all[lane] = at;
                parts.push((region, rank, 1 << lane, all));
            }
        }
    }
    let order = [Region::Global, Region::Shared, Region::Local, Region::Const, Region::Param];
    parts.sort_by_key(|part| (order.iter().position(|region| *region == part.0), part.1));
    let shape = op.shape();
    // All accesses are checked before the first is performed.
    let mut faults = Vec::new();
    for (region, rank, mask, at) in &parts {
        let lanes = Lanes::new(Portable, at, *mask, shape.bytes);
        let inaccessible = if *region == Region::Shared { env.cluster.inaccessible(*rank) } else { None };
        let found = match inaccessible.filter(|_| *rank != env.cluster.rank) {
            Some(what) => {
                let lane = mask.trailing_zeros() as usize;
                Err(shape.fault(lane, at[lane], what, (region.space(), env.shared.len())))
            }
            None => in_block(env, *rank, |env| check(Portable, env, *region, &lanes, shape).map(drop)),
        };
        faults.extend(found.err().map(|fault| fault.shifted(window(*region))));
    }
    if let Some(fault) = faults.into_iter().min_by_key(|fault| fault.lane) {
        return Err(fault);
    }
    for (region, rank, mask, at) in &parts {
        in_block(env, *rank, |env| in_region_portably(op, env, *region, at, *mask))?;
        let rank = (*region == Region::Shared && *rank != env.cluster.rank).then_some(*rank);
        observe(&Access { rank, ..shape.access(*region, *mask, at, None) });
    }
    Ok(())
}

/// Runs `act` with the shared memory of the cluster's block `rank` instead of that of the executing block.
fn in_block<'a, 'm, T>(env: &mut Env<'a, 'm>, rank: u32, act: impl FnOnce(&mut Env<'a, 'm>) -> T) -> T {
    if rank == env.cluster.rank {
        return act(env);
    }
    std::mem::swap(env.shared, &mut env.cluster.shared[rank as usize]);
    let result = act(env);
    std::mem::swap(env.shared, &mut env.cluster.shared[rank as usize]);
    result
}

impl<'m> Recent<'m> {
    /// Returns the allocation that contains an address.
    #[inline(always)]
    fn find(&mut self, global: &'m GlobalMemory, address: u64) -> Option<&'m Allocation> {
        let has = |allocation: &Allocation| address.wrapping_sub(allocation.base) < allocation.bytes;
        match self.found {
            [Some(recent), _] if has(recent) => Some(recent),
            [_, Some(recent)] if has(recent) => Some(recent),
            _ => self.search(global, address),
        }
    }

    #[inline(never)]
    fn search(&mut self, global: &'m GlobalMemory, address: u64) -> Option<&'m Allocation> {
        let found = global.find(address)?;
        self.found = [Some(found), self.found[0]];
        Some(found)
    }

    /// Prefetches the memory that the next warp will access with this instruction, if the instruction's address
    /// advances by the same distance as between the last two warps. The CPU's prefetcher cannot predict these
    /// addresses: to the CPU, all simulated loads are one instruction, whose addresses do not follow a pattern.
    #[inline(always)]
    fn prefetch<P>(&mut self, op: &P, allocation: &Allocation, address: u64) {
        let place = &mut self.at[std::ptr::from_ref(op).addr() / align_of::<u64>() % PLACES];
        let next = address.wrapping_add(address.wrapping_sub(*place));
        *place = address;
        let word = (next.wrapping_sub(allocation.base) / 8) as usize;
        for word in [word, word.wrapping_add(64 / 8)] {
            if let Some(word) = allocation.words.get(word) {
                prefetch_word(word);
            }
        }
    }
}

/// Checks the lanes' addresses. For device memory, returns the allocation that contains all of these addresses, if
/// there is one.
#[inline(always)]
pub(crate) fn check<'m>(
    vectors: impl Vectors,
    env: &mut Env<'_, 'm>,
    region: Region,
    lanes: &Lanes<'_>,
    shape: Shape,
) -> Accessed<Option<&'m Allocation>> {
    let bytes = u64::from(shape.bytes);
    let Lanes { at, mask, patterns } = *lanes;
    let first = mask.trailing_zeros() as usize % LANES;
    let (allocation, base, size) = match region {
        Region::Generic | Region::Global => match env.recent.find(env.global, at[first]) {
            Some(found) => (Some(found), found.base, found.bytes),
            None => (None, 0, 0),
        },
        Region::Shared => (None, 0, env.shared.len()),
        Region::Local | Region::FrameParam => (None, 0, u64::from(env.local.len())),
        Region::Const => (None, 0, env.constants.len() as u64),
        Region::Param => (None, 0, env.params.len() as u64),
    };
    if bytes <= size && shape.refusal(region).is_none() {
        // An allocation has fewer than 2^63 bytes.
        let last = size - bytes;
        let good = |lane: usize| at[lane].wrapping_sub(base) <= last && at[lane] & (bytes - 1) == 0;
        let good = match patterns {
            // If the first and the last of consecutive elements are in bounds, so are the elements between them. If the
            // first is aligned, all of them are.
            Some([Pattern::Row, Pattern::Row]) if at[LANES - 1].wrapping_sub(at[0]) == bytes * (LANES as u64 - 1) => {
                good(0) && at[LANES - 1].wrapping_sub(base) <= last
            }
            Some(patterns) => patterns.iter().enumerate().all(|(half, pattern)| {
                let first = half * HALF;
                good(first) && (*pattern == Pattern::Same || good(first + HALF - 1))
            }),
            None if mask == ALL => vectors.inside(at, base, last, bytes),
            None => lanes_of(mask).all(good),
        };
        if good {
            return Ok(allocation);
        }
    }
    check_each(env, region, at, mask, shape, size)?;
    // The lanes access different allocations.
    Ok(None)
}

/// Checks each lane after the combined check of all lanes has failed.
#[cold]
fn check_each(env: &Env<'_, '_>, region: Region, at: &Lanes64, mask: u32, shape: Shape, size: u64) -> Accessed {
    let bytes = u64::from(shape.bytes);
    let inside = |at: u64| match region {
        Region::Generic | Region::Global => {
            env.global.find(at).is_some_and(|found| at - found.base + bytes <= found.bytes)
        }
        _ => at.checked_add(bytes).is_some_and(|end| end <= size),
    };
    for lane in lanes_of(mask) {
        let what = if let Some(refusal) = shape.refusal(region) {
            refusal
        } else if at[lane] & (bytes - 1) != 0 {
            AccessProblem::Misaligned
        } else if !inside(at[lane]) {
            AccessProblem::OutOfBounds
        } else {
            continue;
        };
        return Err(shape.fault(lane, at[lane], what, (region.space(), size)));
    }
    Ok(())
}
