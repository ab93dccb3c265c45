//! The properties of a GPU.

use cust::device::{Device as CudaDevice, DeviceAttribute};
use cust::error::CudaError;

use crate::device::DeviceInfo;

/// Reads the device's properties from the driver and its kernel module.
pub(super) fn device_info(device: CudaDevice) -> Result<DeviceInfo, CudaError> {
    let attribute = |which| u32::try_from(device.get_attribute(which).ok()?).ok();
    let required = |which| device.get_attribute(which).map(i32::unsigned_abs);
    let major = required(DeviceAttribute::ComputeCapabilityMajor)?;
    let minor = required(DeviceAttribute::ComputeCapabilityMinor)?;
    let memory_khz = attribute(DeviceAttribute::MemoryClockRate).filter(|&khz| khz > 0);
    let bus_bits = attribute(DeviceAttribute::GlobalMemoryBusWidth).filter(|&bits| bits > 0);
    let peak = memory_khz.zip(bus_bits).map(|(khz, bits)| 2.0 * f64::from(khz) * 1e3 * f64::from(bits) / 8.0);
    let cuda = cust::CudaApiVersion::get()?;
    let cuda = format!("CUDA {}.{}", cuda.major(), cuda.minor());
    Ok(DeviceInfo {
        kind: "gpu",
        name: device.name()?,
        driver: kernel_driver_version().map(|version| format!("{version} ({cuda})")).or(Some(cuda)),
        compute_capability: Some((major, minor)),
        multiprocessors: attribute(DeviceAttribute::MultiprocessorCount),
        clock_mhz: attribute(DeviceAttribute::ClockRate).map(|khz| f64::from(khz) / 1e3),
        l2_bytes: attribute(DeviceAttribute::L2CacheSize).map(u64::from),
        memory_bytes: device.total_memory().ok().map(|bytes| bytes as u64),
        peak_bytes_per_s: peak,
    })
}

/// Returns the version of the driver's kernel module. The CUDA API only reports the CUDA version.
fn kernel_driver_version() -> Option<String> {
    module_version(&std::fs::read_to_string("/proc/driver/nvidia/version").ok()?)
}

/// Parses the version in the line `NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  …`.
fn module_version(text: &str) -> Option<String> {
    let numeric = |word: &&str| word.contains('.') && word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    text.lines().next()?.split_whitespace().find(numeric).map(str::to_owned)
}

#[cfg(test)]
mod tests;
