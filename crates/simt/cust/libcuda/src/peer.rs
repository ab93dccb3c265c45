//! Access between the memories of devices, a feature that cust lacks.

use std::ffi::{c_int, c_uint};
use std::ptr;

use cust_raw::{
    CUcontext, CUdevice, CUevent, CUevent_flags, CUresult, CUstream, CUstream_flags, cuCtxGetCurrent, cuCtxSetCurrent,
    cuDevicePrimaryCtxRetain, cuEventCreate, cuEventDestroy_v2, cuEventRecord, cuStreamCreateWithPriority,
    cuStreamDestroy_v2, cuStreamWaitEvent,
};

use crate::table::{cuCtxEnablePeerAccess, cuDeviceCanAccessPeer, cuDeviceGetP2PAttribute, cuMemcpyPeerAsync};

/// `CUdevice_P2PAttribute`: the performance rank of the link, and whether the link supports atomic operations.
const PERFORMANCE_RANK: u32 = 1;
const NATIVE_ATOMICS: u32 = 3;

/// The link from one device to the memory of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Whether kernels can access the other device's memory.
    pub can_access: bool,
    /// The rank of the link by speed among all links: 0 is the fastest kind.
    pub performance_rank: i32,
    /// Whether the link supports all atomic operations. NVLink does, and PCI Express does not.
    pub has_atomics: bool,
}

/// Returns the link from `device` to the memory of `peer`. Both are device numbers. Call `cust::init` first.
///
/// # Errors
/// Returns the driver's error when a device does not exist, or when both are the same device.
pub fn link(device: CUdevice, peer: CUdevice) -> Result<Link, CUresult> {
    let attribute = |attribute| {
        let mut value: c_int = 0;
        // SAFETY: `value` is writable memory for the result, and the other arguments are numbers.
        done(unsafe { cuDeviceGetP2PAttribute(&raw mut value, attribute, device, peer) }).map(|()| value)
    };
    let mut can_access: c_int = 0;
    // SAFETY: `can_access` is writable memory for the result, and the other arguments are numbers.
    done(unsafe { cuDeviceCanAccessPeer(&raw mut can_access, device, peer) })?;
    Ok(Link {
        can_access: can_access != 0,
        performance_rank: attribute(PERFORMANCE_RANK)?,
        has_atomics: attribute(NATIVE_ATOMICS)? != 0,
    })
}

/// Lets kernels of the current context access the memory of another device's primary context, which is then retained
/// until the process ends. Enabling access twice is not an error.
///
/// # Errors
/// Returns the driver's error when the devices have no peer access, or when both are the same device.
pub fn enable_peer(peer: CUdevice) -> Result<(), CUresult> {
    let context = retain(peer)?;
    // SAFETY: `context` is a valid context, because `retain` retained it.
    match unsafe { cuCtxEnablePeerAccess(context, 0) } {
        CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(()),
        result => done(result),
    }
}

/// Returns a function that makes the current context current in another thread.
///
/// # Errors
/// Returns the driver's error.
pub fn carry_context() -> Result<impl FnOnce() -> Result<(), CUresult> + Send + 'static, CUresult> {
    struct Carried(CUcontext);
    // SAFETY: a context may be current in several threads.
    unsafe impl Send for Carried {}
    let mut carried = Carried(ptr::null_mut());
    // SAFETY: `carried.0` is writable memory for the context.
    done(unsafe { cuCtxGetCurrent(&raw mut carried.0) })?;
    Ok(move || {
        let carried = carried;
        // SAFETY: `carried.0` is a context or null, and the driver accepts both.
        done(unsafe { cuCtxSetCurrent(carried.0) })
    })
}

/// Copies `bytes` bytes from one device's memory to another's, in a stream. The devices' primary contexts are retained
/// until the process ends.
///
/// # Errors
/// Returns the driver's error when a device does not exist or the driver refuses the copy.
///
/// # Safety
/// The caller must ensure that `to` and `from` are addresses of `bytes` bytes in the memory of their devices, that
/// nothing else uses that memory until the stream has finished the copy, and that the stream belongs to the current
/// context.
pub unsafe fn copy_peer(
    (to_device, to): (CUdevice, u64),
    (from_device, from): (CUdevice, u64),
    bytes: usize,
    stream: CUstream,
) -> Result<(), CUresult> {
    let (to_context, from_context) = (retain(to_device)?, retain(from_device)?);
    // SAFETY: both addresses point to `bytes` bytes in the memory of their devices, the stream belongs to the current
    // context, and both contexts are retained.
    done(unsafe { cuMemcpyPeerAsync(to, to_context, from, from_context, bytes, stream) })
}

/// Returns the primary context of a device and retains it until the process ends.
fn retain(device: CUdevice) -> Result<CUcontext, CUresult> {
    let mut context = ptr::null_mut();
    // SAFETY: `context` is writable memory for the context, and `device` is a number.
    done(unsafe { cuDevicePrimaryCtxRetain(&raw mut context, device) }).map(|()| context)
}

/// An additional stream of the current context, which can be ordered before and after other streams.
pub struct SideStream {
    stream: CUstream,
    event: CUevent,
}

impl SideStream {
    /// Creates a stream that does not synchronize with the null stream.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn new() -> Result<Self, CUresult> {
        let mut side = Self { stream: ptr::null_mut(), event: ptr::null_mut() };
        let (without_null, without_times) =
            (CUstream_flags::CU_STREAM_NON_BLOCKING, CUevent_flags::CU_EVENT_DISABLE_TIMING);
        // SAFETY: `side.stream` is writable memory for the handle.
        done(unsafe { cuStreamCreateWithPriority(&raw mut side.stream, without_null as c_uint, 0) })?;
        // SAFETY: `side.event` is writable memory for the handle.
        done(unsafe { cuEventCreate(&raw mut side.event, without_times as c_uint) })?;
        Ok(side)
    }

    /// Returns the handle of the stream.
    pub fn as_raw(&self) -> CUstream {
        self.stream
    }

    /// Makes later work in this stream wait for the earlier work in `other`.
    ///
    /// # Errors
    /// Returns the driver's error.
    ///
    /// # Safety
    /// The caller must ensure that `other` is a stream of the same context.
    pub unsafe fn follow(&self, other: CUstream) -> Result<(), CUresult> {
        // SAFETY: `other` and `self.stream` are streams of the same context.
        unsafe { self.order(other, self.stream) }
    }

    /// Makes later work in `other` wait for the earlier work in this stream.
    ///
    /// # Errors
    /// Returns the driver's error.
    ///
    /// # Safety
    /// The caller must ensure that `other` is a stream of the same context.
    pub unsafe fn lead(&self, other: CUstream) -> Result<(), CUresult> {
        // SAFETY: `self.stream` and `other` are streams of the same context.
        unsafe { self.order(self.stream, other) }
    }

    unsafe fn order(&self, first: CUstream, second: CUstream) -> Result<(), CUresult> {
        // SAFETY: `self.event` exists until `self` is dropped, and `first` is a stream of its context.
        done(unsafe { cuEventRecord(self.event, first) })?;
        // SAFETY: `self.event` exists until `self` is dropped, and `second` is a stream of its context.
        done(unsafe { cuStreamWaitEvent(second, self.event, 0) })
    }
}

impl Drop for SideStream {
    fn drop(&mut self) {
        // SAFETY: `self` owns both handles, the stream's work continues without them, and the driver refuses null
        // handles.
        unsafe {
            let _ = cuEventDestroy_v2(self.event);
            let _ = cuStreamDestroy_v2(self.stream);
        }
    }
}

fn done(result: CUresult) -> Result<(), CUresult> {
    if result == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(result) }
}
