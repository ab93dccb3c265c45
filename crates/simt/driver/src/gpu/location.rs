//! Locations of memory: devices and the host.

use crate::abi::error::{Code, Error, Result};
use crate::gpu::state::driver;

/// `CUmemLocation`: a kind (`CUmemLocationType`) and the number of a device or of a part of the host's memory.
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

/// The host's number where only devices have numbers (`CU_DEVICE_CPU`).
const CPU: i32 = -1;

impl Location {
    /// A device, or the host where the number is its own: `CUDA_ERROR_INVALID_DEVICE` for others.
    pub(crate) fn of_number(device: i32) -> Result<Self> {
        match device {
            CPU => Ok(Self { kind: HOST, id: CPU }),
            _ => driver()?.device(device).map(|_| Self { kind: DEVICE, id: device }),
        }
    }

    /// Itself, if it is a device that exists or the host: `CUDA_ERROR_INVALID_VALUE` otherwise.
    pub(crate) fn checked(self) -> Result<Self> {
        match self.kind {
            DEVICE if driver()?.device(self.id).is_ok() => Ok(self),
            HOST | HOST_NUMA | HOST_NUMA_CURRENT => Ok(self),
            _ => Err(Code::INVALID_VALUE.into()),
        }
    }

    /// Whether it is a device.
    pub(crate) fn is_device(self) -> bool {
        self.kind == DEVICE
    }

    /// The number where only devices have numbers.
    pub(crate) fn number(self) -> i32 {
        if self.is_device() { self.id } else { CPU }
    }
}

/// `CUmemAccessDesc`: who may access memory, and how.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Access {
    pub(crate) location: Location,
    /// `CUmemAccess_flags`.
    pub(crate) flags: u32,
}

/// `CU_MEM_ACCESS_FLAGS_PROT_NONE` and the others.
pub(crate) const NO_ACCESS: u32 = 0;
pub(crate) const READ: u32 = 1;
pub(crate) const READ_WRITE: u32 = 3;

/// The bits of `CUmemAllocationHandleType`, and those of file descriptors and fabric handles.
const HANDLE_TYPES: u32 = 15;
const EXPORTABLE: u32 = 9;

/// Refuses types of handles that no memory has. Memory that a program may want to export is memory like any other until it
/// is exported, which no simulated device can do.
pub(crate) fn check_handle_types(types: u32) -> Result<()> {
    match types {
        0..=HANDLE_TYPES if types & !EXPORTABLE == 0 => Ok(()),
        0..=HANDLE_TYPES => Err(Error::new(Code::NOT_SUPPORTED, "memory with handles of Windows")),
        _ => Err(Code::INVALID_VALUE.into()),
    }
}
