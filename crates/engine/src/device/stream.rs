//! What code that is not this program's kernels needs to work on a GPU's buffers: the stream, and addresses.

use std::any::Any;
use std::ffi::c_void;
use std::rc::Rc;

/// A GPU's stream. It stays open, with its context, as long as one clone of this is left, also when the device is
/// dropped before.
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

/// Puts work into a stream, on buffers whose places it is told; when it cannot, it gives the reason.
pub type Enqueue<'a> = &'a mut dyn FnMut(&GpuStream, &[DeviceMemory]) -> Result<(), String>;

impl GpuStream {
    /// The stream with this handle.
    ///
    /// # Safety
    /// `raw` is a stream of the context that is current, a device's primary one, and both stay open for as long as
    /// `owner` is not dropped.
    pub unsafe fn new(raw: *mut c_void, owner: Rc<dyn Any>) -> Self {
        Self { raw, _owner: owner }
    }

    /// The `CUstream`, which the CUDA runtime calls `cudaStream_t`.
    pub fn as_raw(&self) -> *mut c_void {
        self.raw
    }
}
