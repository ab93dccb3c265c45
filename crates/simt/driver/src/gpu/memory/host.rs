//! Page-locked host memory, which kernels access at the same address as the program.

use std::ffi::c_void;
use std::ptr::NonNull;

use super::allocate;
use crate::abi::call::{Out, functions};
use crate::abi::error::{Code, Error, Result};
use crate::gpu::ranges::{self, Kind, Range, range_of};
use crate::gpu::state::driver;
use crate::gpu::{context, hazards};

/// `CU_MEMHOSTALLOC_DEVICEMAP`, a flag of all page-locked memory.
const DEVICE_MAP: u32 = 2;
/// All flags for allocating page-locked memory, and all flags for registering it.
const HOST_FLAGS: u32 = 7;
const REGISTER_FLAGS: u32 = 15;
/// `CU_MEMHOSTREGISTER_IOMEMORY` and `CU_MEMHOSTREGISTER_READ_ONLY`.
const IO_MEMORY: u32 = 4;
pub(crate) const READ_ONLY: u32 = 8;

/// Allocates page-locked memory. For zero bytes, the address is null, which is not an error.
fn allocate_host(address: Out<u64>, bytes: usize, flags: u32) -> Result<()> {
    address.check()?;
    if flags & !HOST_FLAGS != 0 {
        return Err(Code::INVALID_VALUE.into());
    }
    context::current()?;
    match bytes {
        0 => address.set(0),
        _ => address.set(allocate(bytes, Kind::Host, flags | DEVICE_MAP, 0)?),
    }
}

functions! {
    fn cuMemAllocHost_v2(address: Out<u64>, bytes: usize) {
        allocate_host(address, bytes, 0)
    }

    fn cuMemHostAlloc(address: Out<u64>, bytes: usize, flags: u32) {
        allocate_host(address, bytes, flags)
    }

    fn cuMemHostRegister_v2(memory: *mut c_void, bytes: usize, flags: u32) {
        let context = context::current()?;
        hazards::check()?;
        let address = memory.expose_provenance() as u64;
        if flags & !REGISTER_FLAGS != 0 || bytes == 0 || address.checked_add(bytes as u64).is_none() {
            return Err(Code::INVALID_VALUE.into());
        }
        if flags & IO_MEMORY != 0 {
            return Err(Error::new(Code::INVALID_VALUE, "I/O memory cannot be registered"));
        }
        match ranges::overlapping(address, bytes as u64) {
            Some(range) if range.kind == Kind::Registered => return Err(Code::HOST_MEMORY_ALREADY_REGISTERED.into()),
            Some(_) => return Err(Code::INVALID_VALUE.into()),
            None => {}
        }
        let start = NonNull::new(memory.cast::<u8>()).ok_or(Code::INVALID_VALUE)?;
        // SAFETY: `cuda.h` requires that the program owns this memory and keeps it until it unregisters it. Eight-byte
        // words never cross a page boundary.
        let mapped = unsafe { driver()?.simulator().memory_mut().map(start, bytes as u64) };
        let simulator_base = mapped.ok_or(Code::INVALID_VALUE)?;
        let range = Range::new(address, bytes as u64, Kind::Registered, context.handle);
        ranges::add(Range { simulator_base, flags: flags & READ_ONLY | DEVICE_MAP, ..range });
        Ok(())
    }

    fn cuMemHostGetDevicePointer_v2(address: Out<u64>, memory: u64, flags: u32) {
        context::current()?;
        let range = range_of(memory).filter(|range| range.kind.is_host() || range.kind == Kind::Mapped);
        match range {
            Some(_) if flags == 0 => address.set(memory),
            _ => Err(Code::INVALID_VALUE.into()),
        }
    }

    fn cuMemHostGetFlags(flags: Out<u32>, memory: u64) {
        context::current()?;
        let range = range_of(memory).ok_or(Code::INVALID_VALUE)?;
        match range.kind {
            Kind::Host | Kind::Registered => flags.set(range.flags & HOST_FLAGS),
            Kind::Managed => flags.set(DEVICE_MAP),
            _ => Err(Code::INVALID_VALUE.into()),
        }
    }
}
