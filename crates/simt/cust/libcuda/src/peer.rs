//! How devices reach each other's memory, which cust does not ask.

use std::ffi::{c_int, c_uint};
use std::ptr;

use cust_raw::{
    CUcontext, CUdevice, CUevent, CUevent_flags, CUresult, CUstream, CUstream_flags, cuCtxGetCurrent, cuCtxSetCurrent,
    cuDevicePrimaryCtxRetain, cuEventCreate, cuEventDestroy_v2, cuEventRecord, cuStreamCreateWithPriority,
    cuStreamDestroy_v2, cuStreamWaitEvent,
};

use crate::table::{cuCtxEnablePeerAccess, cuDeviceCanAccessPeer, cuDeviceGetP2PAttribute, cuMemcpyPeerAsync};

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
    let context = retain(peer)?;
    // SAFETY: the context is retained.
    match unsafe { cuCtxEnablePeerAccess(context, 0) } {
        CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(()),
        result => done(result),
    }
}

/// What makes the current context the current one of another thread.
///
/// # Errors
/// The driver's.
pub fn carry_context() -> Result<impl FnOnce() -> Result<(), CUresult> + Send + 'static, CUresult> {
    struct Carried(CUcontext);
    // SAFETY: a context may be the current one of several threads.
    unsafe impl Send for Carried {}
    let mut carried = Carried(ptr::null_mut());
    // SAFETY: a place for the context.
    done(unsafe { cuCtxGetCurrent(&raw mut carried.0) })?;
    Ok(move || {
        let carried = carried;
        // SAFETY: a context, or none.
        done(unsafe { cuCtxSetCurrent(carried.0) })
    })
}

/// Copies so many bytes from one device's memory to another's, in a stream. The devices' primary contexts stay until the process
/// ends.
///
/// # Errors
/// The driver's, when there are no such devices and when the copy is refused.
///
/// # Safety
/// Both are places of so many bytes in the memory of these devices, which nobody else uses until the stream has done it; the
/// stream is one of the current context.
pub unsafe fn copy_peer(
    (to_device, to): (CUdevice, u64),
    (from_device, from): (CUdevice, u64),
    bytes: usize,
    stream: CUstream,
) -> Result<(), CUresult> {
    let (to_context, from_context) = (retain(to_device)?, retain(from_device)?);
    // SAFETY: the caller's promise; the contexts are retained.
    done(unsafe { cuMemcpyPeerAsync(to, to_context, from, from_context, bytes, stream) })
}

/// The primary context of a device, which stays from now on.
fn retain(device: CUdevice) -> Result<CUcontext, CUresult> {
    let mut context = ptr::null_mut();
    // SAFETY: a place for the context; the device is a number.
    done(unsafe { cuDevicePrimaryCtxRetain(&raw mut context, device) }).map(|()| context)
}

/// A second stream of the current context, beside others that it waits for and that wait for it.
pub struct SideStream {
    stream: CUstream,
    event: CUevent,
}

impl SideStream {
    /// Makes one, which does not wait for the null stream.
    ///
    /// # Errors
    /// The driver's.
    pub fn new() -> Result<Self, CUresult> {
        let mut side = Self { stream: ptr::null_mut(), event: ptr::null_mut() };
        let (without_null, without_times) =
            (CUstream_flags::CU_STREAM_NON_BLOCKING, CUevent_flags::CU_EVENT_DISABLE_TIMING);
        // SAFETY: a place for each handle.
        done(unsafe { cuStreamCreateWithPriority(&raw mut side.stream, without_null as c_uint, 0) })?;
        // SAFETY: as above.
        done(unsafe { cuEventCreate(&raw mut side.event, without_times as c_uint) })?;
        Ok(side)
    }

    /// The stream's handle.
    pub fn as_raw(&self) -> CUstream {
        self.stream
    }

    /// What comes into this stream from now on waits for what is in the other one.
    ///
    /// # Errors
    /// The driver's.
    ///
    /// # Safety
    /// `other` is a stream of the context.
    pub unsafe fn follow(&self, other: CUstream) -> Result<(), CUresult> {
        // SAFETY: the caller's promise.
        unsafe { self.order(other, self.stream) }
    }

    /// What comes into the other stream from now on waits for what is in this one.
    ///
    /// # Errors
    /// The driver's.
    ///
    /// # Safety
    /// `other` is a stream of the context.
    pub unsafe fn lead(&self, other: CUstream) -> Result<(), CUresult> {
        // SAFETY: the caller's promise.
        unsafe { self.order(self.stream, other) }
    }

    unsafe fn order(&self, first: CUstream, second: CUstream) -> Result<(), CUresult> {
        // SAFETY: the caller's promise; the event is ours.
        done(unsafe { cuEventRecord(self.event, first) })?;
        // SAFETY: as above.
        done(unsafe { cuStreamWaitEvent(second, self.event, 0) })
    }
}

impl Drop for SideStream {
    fn drop(&mut self) {
        // SAFETY: both are ours, and what is in the stream goes on without them; null handles are refused.
        unsafe {
            let _ = cuEventDestroy_v2(self.event);
            let _ = cuStreamDestroy_v2(self.stream);
        }
    }
}

fn done(result: CUresult) -> Result<(), CUresult> {
    if result == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(result) }
}
