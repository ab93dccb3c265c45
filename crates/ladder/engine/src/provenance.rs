//! The date and the compilers of a result.

use crate::catalog::Kernels;
use crate::device::DeviceInfo;

/// The date of a result, and the compilers of the program that produced it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// The date, for example `2026-04-01`.
    pub date: String,
    /// The compilers of the host and of the device code.
    pub toolchain: String,
}

impl Provenance {
    /// Returns today's date, with the compilers of this program and of the kernels that `device` runs.
    pub fn now(kernels: &Kernels, device: &DeviceInfo) -> Self {
        Self { date: jiff::Zoned::now().date().to_string(), toolchain: kernels.toolchain(device.compute_capability) }
    }
}
