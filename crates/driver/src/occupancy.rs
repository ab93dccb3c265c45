//! Occupancy: how many blocks of a kernel a multiprocessor has room for.

use crate::device::Device;
use crate::function::Function;

/// The blocks of a kernel that a multiprocessor holds at once.
pub(crate) fn blocks(device: &Device, function: &Function, threads: u32, dynamic_shared: u32) -> u32 {
    let attribute = |number| device.attribute(number).unwrap_or_default().max(0) as u32;
    let warps = threads.div_ceil(32).max(1);
    let per_warp = (function.registers() * 32).next_multiple_of(256);
    let shared = (function.kernel.program().shared_bytes + dynamic_shared + attribute(111)).next_multiple_of(128);
    let limits =
        [attribute(39) / 32 / warps, attribute(106), attribute(82) / (per_warp * warps), attribute(81) / shared];
    limits.into_iter().min().unwrap_or_default()
}
