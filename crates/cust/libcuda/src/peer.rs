//! How devices reach each other's memory, which cust does not ask.

use std::ffi::c_int;
use std::ptr;

use cust_raw::{CUdevice, CUresult, cuDevicePrimaryCtxRetain};

use crate::table::{cuCtxEnablePeerAccess, cuDeviceCanAccessPeer, cuDeviceGetP2PAttribute};

/// `CUdevice_P2PAttribute`: the rank of the link's speed, and whether it has atomic operations.
const PERFORMANCE_RANK: u32 = 1;
const NATIVE_ATOMICS: u32 = 3;

/// How one device reaches the memory of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Whether kernels can access the other's memory.
    pub can_access: bool,
    /// How fast the link is among those of the machine: 0 is the fastest kind.
    pub performance_rank: i32,
    /// Whether it has all atomic operations, as NVLink has and PCI Express has not.
    pub has_atomics: bool,
}

/// How `device` reaches the memory of another one, `peer`, by their numbers. `cust::init` has been called.
///
/// # Errors
/// The driver's, when there are no such devices or they are the same.
pub fn link(device: CUdevice, peer: CUdevice) -> Result<Link, CUresult> {
    let attribute = |attribute| {
        let mut value: c_int = 0;
        // SAFETY: a place for the number; the others are numbers.
        done(unsafe { cuDeviceGetP2PAttribute(&raw mut value, attribute, device, peer) }).map(|()| value)
    };
    let mut can_access: c_int = 0;
    // SAFETY: as above.
    done(unsafe { cuDeviceCanAccessPeer(&raw mut can_access, device, peer) })?;
    Ok(Link {
        can_access: can_access != 0,
        performance_rank: attribute(PERFORMANCE_RANK)?,
        has_atomics: attribute(NATIVE_ATOMICS)? != 0,
    })
}

/// Lets kernels of the current context access the memory of another device's primary context, which stays until the process
/// ends. It may be allowed already.
///
/// # Errors
/// The driver's, when the devices have no peer access or are the same.
pub fn enable_peer(peer: CUdevice) -> Result<(), CUresult> {
    let mut context = ptr::null_mut();
    // SAFETY: a place for the context; the device is a number.
    done(unsafe { cuDevicePrimaryCtxRetain(&raw mut context, peer) })?;
    // SAFETY: the context is retained.
    match unsafe { cuCtxEnablePeerAccess(context, 0) } {
        CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(()),
        result => done(result),
    }
}

fn done(result: CUresult) -> Result<(), CUresult> {
    if result == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(result) }
}
