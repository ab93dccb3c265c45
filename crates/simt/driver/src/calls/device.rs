//! The functions of devices.

use std::ffi::c_char;

use crate::abi::call::{In, Out, functions};
use crate::abi::error::Code;
use crate::gpu::array;
use crate::gpu::state::driver;

/// Parses `domain:bus:device.function`, in hexadecimal. Either the domain or the function may be missing.
fn parse_place(text: &str) -> Option<[i32; 3]> {
    let mut parts = text.split(':').rev();
    let (slot, bus, domain) = (parts.next()?, parts.next()?, parts.next());
    let (slot, function) = slot.split_once('.').map_or((slot, None), |(slot, function)| (slot, Some(function)));
    if parts.next().is_some() || domain.is_none() && function.is_none() {
        return None;
    }
    let number = |text: &str| i32::from_str_radix(text, 16).ok();
    Some([number(domain.unwrap_or("0"))?, number(bus)?, number(slot)?])
}

/// `CUdevprop`: the attributes in the first version of CUDA.
#[repr(C)]
struct Properties([i32; 14]);

/// The attributes in the order of [`Properties`].
const PROPERTIES: [u32; 14] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];

/// The maximum number of texels of a texture over linear memory, and the maximum size of that memory in bytes. The
/// values are those of an H200.
const LINEAR_TEXELS: usize = 1 << 30;
const LINEAR_BYTES: usize = 1 << 32;

functions! {
    fn cuDeviceGetCount(count: Out<i32>) {
        count.set(driver()?.devices.len() as i32)
    }

    fn cuDeviceGet(device: Out<i32>, number: i32) {
        device.check()?;
        driver()?.device(number)?;
        device.set(number)
    }

    fn cuDeviceGetName(name: Out<c_char>, capacity: i32, device: i32) {
        let device = driver()?.device(device)?;
        name.set_text(&device.name, usize::try_from(capacity).unwrap_or_default())
    }

    fn cuDeviceGetUuid_v2 | cuDeviceGetUuid(uuid: Out<[u8; 16]>, device: i32) {
        uuid.set(driver()?.device(device)?.uuid)
    }

    /// Returns `CUDA_ERROR_NOT_SUPPORTED`: only Windows has locally unique ids.
    fn cuDeviceGetLuid(_luid: Out<[u8; 8]>, _nodes: Out<u32>, device: i32) {
        driver()?.device(device)?;
        Err(Code::NOT_SUPPORTED.into())
    }

    fn cuDeviceGetNvSciSyncAttributes(_attributes: Out<usize>, device: i32, _flags: i32) {
        driver()?.device(device)?;
        Err(Code::NOT_SUPPORTED.into())
    }

    fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: i32) {
        bytes.set(driver()?.device(device)?.memory_bytes as usize)
    }

    fn cuDeviceGetAttribute(value: Out<i32>, attribute: u32, device: i32) {
        value.check()?;
        value.set(driver()?.device(device)?.attribute(attribute)?)
    }

    fn cuDeviceGetProperties(properties: Out<Properties>, device: i32) {
        let device = driver()?.device(device)?;
        properties.set(Properties(PROPERTIES.map(|number| device.attribute(number).unwrap_or_default())))
    }

    fn cuDeviceComputeCapability(major: Out<i32>, minor: Out<i32>, device: i32) {
        let capability = driver()?.device(device)?.capability;
        major.set(capability.0 as i32)?;
        minor.set(capability.1 as i32)
    }

    fn cuDeviceGetPCIBusId(text: Out<c_char>, capacity: i32, device: i32) {
        let [domain, bus, slot] = driver()?.device(device)?.place()?;
        let place = format!("{domain:04X}:{bus:02X}:{slot:02X}.0");
        let capacity = usize::try_from(capacity).unwrap_or_default();
        text.set_text(&place, capacity)?;
        if capacity > place.len() { Ok(()) } else { Err(Code::INVALID_VALUE.into()) }
    }

    fn cuDeviceGetByPCIBusId(device: Out<i32>, text: In<c_char>) {
        device.check()?;
        let place = parse_place(text.text()?).ok_or(Code::INVALID_VALUE)?;
        let found = driver()?.devices.iter().position(|device| device.place().is_ok_and(|pci| pci == place));
        device.set(found.ok_or(Code::INVALID_DEVICE)? as i32)
    }

    fn cuDeviceGetExecAffinitySupport(is_supported: Out<i32>, _kind: u32, device: i32) {
        driver()?.device(device)?;
        is_supported.set(0)
    }

    fn cuDeviceGetTexture1DLinearMaxWidth(texels: Out<usize>, format: u32, channels: u32, device: i32) {
        driver()?.device(device)?;
        let (format, _) = array::format(format, channels).map_err(|_| Code::INVALID_VALUE)?;
        texels.set(LINEAR_TEXELS.min(LINEAR_BYTES / format.bytes() as usize))
    }
}
