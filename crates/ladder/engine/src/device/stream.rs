//! Access to a GPU's stream and to the addresses of its buffers, for code that is not one of this program's kernels.

use std::any::Any;
use std::ffi::c_void;
use std::rc::Rc;

/// A GPU's stream. The stream and its context stay open as long as one clone of this value exists, even when the
/// device is dropped before.
#[derive(Clone)]
pub struct GpuStream {
    raw: *mut c_void,
    _owner: Rc<dyn Any>,
}

/// A buffer in a GPU's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceMemory {
    /// Its first address on the device.
    pub address: u64,
    /// Its size in bytes.
    pub bytes: u64,
}

/// Puts work into a stream. The function receives the addresses of the buffers, and returns the reason when it cannot
/// enqueue the work.
pub type Enqueue<'a> = &'a mut dyn FnMut(&GpuStream, &[DeviceMemory]) -> Result<(), String>;

/// Puts work into a stream behind the launch of this place among several, like [`Enqueue`].
pub type EnqueueBehind<'a> = &'a mut dyn FnMut(usize, &GpuStream, &[DeviceMemory]) -> Result<(), String>;

/// Says why work that is under way is not worth waiting for any more.
pub type Watch = Box<dyn FnMut() -> Option<String> + Send>;

impl GpuStream {
    /// The stream with this handle.
    ///
    /// # Safety
    /// `raw` is a stream of the current context, which is a device's primary context, and both stay open until `owner`
    /// is dropped.
    pub unsafe fn new(raw: *mut c_void, owner: Rc<dyn Any>) -> Self {
        Self { raw, _owner: owner }
    }

    /// The `CUstream`, which the CUDA runtime calls `cudaStream_t`.
    pub fn as_raw(&self) -> *mut c_void {
        self.raw
    }
}
