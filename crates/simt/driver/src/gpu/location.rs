//! Memory locations: devices and the host.

use crate::abi::error::{Code, Error, Result};
use crate::gpu::state::driver;

/// `CUmemLocation`: a kind (`CUmemLocationType`), and the number of a device or of a NUMA node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Location {
    pub(crate) kind: u32,
    pub(crate) id: i32,
}

/// `CU_MEM_LOCATION_TYPE_DEVICE`, `…_HOST`, `…_HOST_NUMA` and `…_HOST_NUMA_CURRENT`.
pub(crate) const DEVICE: u32 = 1;
pub(crate) const HOST: u32 = 2;
const HOST_NUMA: u32 = 3;
const HOST_NUMA_CURRENT: u32 = 4;

/// The host's device number in interfaces that know only devices (`CU_DEVICE_CPU`).
const CPU: i32 = -1;

impl Location {
    /// Returns the location of a device number, which may be the host's. Returns `CUDA_ERROR_INVALID_DEVICE` for other
    /// numbers.
    pub(crate) fn of_number(device: i32) -> Result<Self> {
        match device {
            CPU => Ok(Self { kind: HOST, id: CPU }),
            _ => driver()?.device(device).map(|_| Self { kind: DEVICE, id: device }),
        }
    }

    /// Returns `self` if it is the host or an existing device, and `CUDA_ERROR_INVALID_VALUE` otherwise.
    pub(crate) fn checked(self) -> Result<Self> {
        match self.kind {
            DEVICE if driver()?.device(self.id).is_ok() => Ok(self),
            HOST | HOST_NUMA | HOST_NUMA_CURRENT => Ok(self),
            _ => Err(Code::INVALID_VALUE.into()),
        }
    }

    /// Returns whether the location is a device.
    pub(crate) fn is_device(self) -> bool {
        self.kind == DEVICE
    }

    /// Returns the device number in interfaces that know only devices.
    pub(crate) fn number(self) -> i32 {
        if self.is_device() { self.id } else { CPU }
    }
}

/// `CUmemAccessDesc`: the access that a location has to memory.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Access {
    pub(crate) location: Location,
    /// `CUmemAccess_flags`.
    pub(crate) flags: u32,
}

/// `CU_MEM_ACCESS_FLAGS_PROT_NONE` and the other access flags.
pub(crate) const NO_ACCESS: u32 = 0;
pub(crate) const READ: u32 = 1;
pub(crate) const READ_WRITE: u32 = 3;

/// All bits of `CUmemAllocationHandleType`, and the bits for file descriptors and fabric handles.
const HANDLE_TYPES: u32 = 15;
const EXPORTABLE: u32 = 9;

/// Refuses unsupported handle types. Exportable memory is ordinary memory until it is exported, which `sim` does not
/// support.
pub(crate) fn check_handle_types(types: u32) -> Result<()> {
    match types {
        0..=HANDLE_TYPES if types & !EXPORTABLE == 0 => Ok(()),
        0..=HANDLE_TYPES => Err(Error::new(Code::NOT_SUPPORTED, "memory with Windows handles is not supported")),
        _ => Err(Code::INVALID_VALUE.into()),
    }
}
