//! When and with which compilers a result was made.

use crate::catalog::Kernels;
use crate::device::DeviceInfo;

/// The date and the compilers with which a result was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// The date, as in `2026-04-01`.
    pub date: String,
    /// The compilers of the host and of the device code.
    pub toolchain: String,
}

impl Provenance {
    /// Today's date, with the compilers of this program and of the kernels that `device` runs.
    pub fn now(kernels: &Kernels, device: &DeviceInfo) -> Self {
        Self { date: jiff::Zoned::now().date().to_string(), toolchain: kernels.toolchain(device.compute_capability) }
    }
}
