//! A GPU's stream and the addresses of its buffers, for code that is not one of this program's kernels.

use std::any::Any;
use std::ffi::c_void;
use std::rc::Rc;

/// A GPU's stream. The stream and its context stay open as long as a clone of this value exists, even after the device
/// is dropped.
#[derive(Clone)]
pub struct GpuStream {
    raw: *mut c_void,
    _owner: Rc<dyn Any>,
}

/// A buffer in a GPU's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceMemory {
    /// The first address of the buffer on the device.
    pub address: u64,
    /// The size of the buffer in bytes.
    pub bytes: u64,
}

/// Enqueues work on a stream. The function receives the addresses of the buffers, and returns an error message if it
/// cannot enqueue the work.
pub type Enqueue<'a> = &'a mut dyn FnMut(&GpuStream, &[DeviceMemory]) -> Result<(), String>;

/// Enqueues work on a stream after one of several launches, like [`Enqueue`]. The first argument is the index of the
/// launch.
pub type EnqueueAfter<'a> = &'a mut dyn FnMut(usize, &GpuStream, &[DeviceMemory]) -> Result<(), String>;

/// Returns a reason if the host should stop waiting for the running work.
pub type Watch = Box<dyn FnMut() -> Option<String> + Send>;

impl GpuStream {
    /// Wraps the handle of a stream.
    ///
    /// # Safety
    /// The caller must ensure that `raw` is a stream of the current context, and that this context is a device's
    /// primary context. The stream and the context must both stay open until `owner` is dropped.
    pub unsafe fn new(raw: *mut c_void, owner: Rc<dyn Any>) -> Self {
        Self { raw, _owner: owner }
    }

    /// Returns the `CUstream`, which the CUDA runtime calls `cudaStream_t`.
    pub fn as_raw(&self) -> *mut c_void {
        self.raw
    }
}
