//! Peers: devices that access each other's memory.
//!
//! All devices share one memory, so every access works, whether it is enabled or not. The state only records which
//! contexts enabled access, because enabling it twice is an error.

use std::collections::BTreeSet;
use std::sync::Mutex;

use crate::abi::call::{In, Out, functions};
use crate::abi::error::{Code, Result};
use crate::abi::handles::{Handle, PerDriver, lock};
use crate::gpu::context::{self, Context};
use crate::gpu::state::driver;

/// Pairs of contexts: the context that accesses memory, and the context to which the memory belongs.
static ENABLED: PerDriver<Mutex<BTreeSet<(Handle, Handle)>>> = PerDriver::new();

/// Forgets all peer access from and to a context.
pub(crate) fn remove_all(context: Handle) {
    lock(ENABLED.get()).retain(|(from, to)| *from != context && *to != context);
}

/// Returns the peer context with this handle, or `CUDA_ERROR_INVALID_CONTEXT` when it is not usable.
fn peer(handle: Handle) -> Result<std::sync::Arc<Context>> {
    let peer = if handle == 0 { None } else { Context::of(handle).ok() };
    peer.filter(|peer| peer.is_active()).ok_or_else(|| Code::INVALID_CONTEXT.into())
}

/// Checks that both devices exist and differ. Returns `CUDA_ERROR_INVALID_DEVICE` otherwise.
fn check_pair(device: i32, peer: i32) -> Result<()> {
    driver()?.device(device)?;
    driver()?.device(peer)?;
    if device == peer { Err(Code::INVALID_DEVICE.into()) } else { Ok(()) }
}

/// `CUatomicOperationCapability`: the supported operand types.
const SIGNED: u32 = 1;
const UNSIGNED: u32 = 2;
/// Whether the operation has a form without a result (`red`).
const REDUCTION: u32 = 4;
const BITS_32: u32 = 8;
const BITS_64: u32 = 16;
const BITS_128: u32 = 32;
const VECTOR: u32 = 64;

/// The capabilities of each `CUatomicOperation`, in order. These are the capabilities of `atom` and `red` in PTX.
const ATOMICS: [u32; 13] = {
    let arithmetic = SIGNED | UNSIGNED | REDUCTION | BITS_32 | BITS_64;
    let (count, logic) = (UNSIGNED | REDUCTION | BITS_32, UNSIGNED | REDUCTION | BITS_32 | BITS_64);
    let exchange = UNSIGNED | BITS_32 | BITS_64 | BITS_128;
    let (add, compare) = (SIGNED | REDUCTION | BITS_32 | BITS_64 | VECTOR, 0);
    [arithmetic, arithmetic, arithmetic, count, count, logic, logic, logic, exchange, exchange, add, compare, compare]
};

/// Writes the capabilities of the requested atomic operations.
fn atomics(of: [u32; 13], capabilities: Out<u32>, operations: In<u32>, count: u32) -> Result<()> {
    let operations = operations.all(count as usize)?;
    let found: Option<Vec<u32>> = operations.iter().map(|operation| of.get(*operation as usize).copied()).collect();
    capabilities.set_all(found.ok_or(Code::INVALID_VALUE)?, count as usize);
    Ok(())
}

/// Returns an error when no operations are requested.
fn check_operations(capabilities: Out<u32>, operations: In<u32>, count: u32) -> Result<()> {
    capabilities.check()?;
    if count == 0 || operations.as_ptr().is_null() { Err(Code::INVALID_VALUE.into()) } else { Ok(()) }
}

functions! {
    fn cuDeviceCanAccessPeer(can: Out<i32>, device: i32, peer: i32) {
        can.check()?;
        driver()?.device(device)?;
        driver()?.device(peer)?;
        can.set((device != peer).into())
    }

    fn cuDeviceGetP2PAttribute(value: Out<i32>, attribute: u32, device: i32, peer: i32) {
        value.check()?;
        check_pair(device, peer)?;
        match attribute {
            // All links are equally fast, and all support atomic operations.
            1 | 5 => value.set(0),
            2..=4 => value.set(1),
            _ => Err(Code::INVALID_VALUE.into()),
        }
    }

    fn cuDeviceGetP2PAtomicCapabilities(
        capabilities: Out<u32>, operations: In<u32>, count: u32, device: i32, peer: i32,
    ) {
        check_operations(capabilities, operations, count)?;
        check_pair(device, peer)?;
        atomics(ATOMICS, capabilities, operations, count)
    }

    fn cuDeviceGetHostAtomicCapabilities(capabilities: Out<u32>, operations: In<u32>, count: u32, device: i32) {
        check_operations(capabilities, operations, count)?;
        driver()?.device(device)?;
        // As over PCI Express, atomic operations on the host's memory are not supported.
        atomics([0; 13], capabilities, operations, count)
    }

    fn cuCtxEnablePeerAccess(context: Handle, flags: u32) {
        let current = context::current()?;
        let peer = peer(context)?;
        if flags != 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        if peer.device == current.device {
            return Err(Code::PEER_ACCESS_UNSUPPORTED.into());
        }
        let is_new = lock(ENABLED.get()).insert((current.handle, peer.handle));
        if is_new { Ok(()) } else { Err(Code::PEER_ACCESS_ALREADY_ENABLED.into()) }
    }

    fn cuCtxDisablePeerAccess(context: Handle) {
        let current = context::current()?;
        let peer = peer(context)?;
        let was_enabled = lock(ENABLED.get()).remove(&(current.handle, peer.handle));
        if was_enabled { Ok(()) } else { Err(Code::PEER_ACCESS_NOT_ENABLED.into()) }
    }

    fn cuFlushGPUDirectRDMAWrites(target: u32, scope: u32) {
        context::current()?;
        match (target, scope) {
            (0, 100 | 200) => Ok(()),
            _ => Err(Code::INVALID_VALUE.into()),
        }
    }
}
