//! The limits of a context (`CUlimit`): their initial values, and how requested values are rounded. The initial values
//! and the rounding are those of an H200's driver.

use std::collections::HashMap;

use crate::abi::error::{Code, Result};
use crate::gpu::device::Device;

/// The limits by number. A missing limit is not supported.
pub(crate) type Limits = HashMap<u32, u64>;

/// The stack size of a thread in bytes.
const STACK_BYTES: u32 = 0;
/// The number of bytes that `printf` may print between two synchronizations.
pub(crate) const PRINTF_BYTES: u32 = 1;
/// The size in bytes of the heap for `malloc` in kernels.
pub(crate) const HEAP_BYTES: u32 = 2;
/// The number of pending launches by kernels.
const PENDING_LAUNCHES: u32 = 4;
/// The fetch granularity of the L2 in bytes.
const FETCH_BYTES: u32 = 5;
/// The number of L2 bytes for persisting lines.
const PERSISTING_BYTES: u32 = 6;
/// A block's shared memory in bytes, and whether graphics share the context: both are read-only.
const SHARED_BYTES: u32 = 7;
const SHARES_GRAPHICS: u32 = 8;
/// The end of the valid limit numbers.
const END: u32 = 10;

/// The number of steps in which the persisting part of the L2 can be set.
const PERSISTING_PARTS: u64 = 10;

/// Returns the limits of a new context.
pub(crate) fn initial(device: &Device) -> Limits {
    let mut limits = Limits::from([
        (STACK_BYTES, 1024),
        (PRINTF_BYTES, u64::from(device.multiprocessors) << 16),
        (HEAP_BYTES, 8 << 20),
        (PENDING_LAUNCHES, 2048),
        (FETCH_BYTES, 64),
        (SHARED_BYTES, device.limits.shared_opt_in.into()),
        (SHARES_GRAPHICS, 0),
    ]);
    if device.persisting_l2_bytes > 0 {
        limits.insert(PERSISTING_BYTES, device.persisting_l2_bytes / PERSISTING_PARTS * 3);
    }
    limits
}

/// Returns the value of a limit, or `CUDA_ERROR_UNSUPPORTED_LIMIT` when the device does not have the limit.
pub(crate) fn find(limits: &Limits, limit: u32) -> Result<u64> {
    let otherwise = if limit < END { Code::UNSUPPORTED_LIMIT } else { Code::INVALID_VALUE };
    limits.get(&limit).copied().ok_or_else(|| otherwise.into())
}

/// Returns the value to which a limit is set when a program requests `value`.
///
/// # Errors
/// Returns `CUDA_ERROR_INVALID_VALUE` when the value is too large, and `CUDA_ERROR_NOT_PERMITTED` when the limit is
/// read-only.
pub(crate) fn rounded(device: &Device, limit: u32, value: u64) -> Result<u64> {
    let up_to = |limit: u64| if value <= limit { Ok(value) } else { Err(Code::INVALID_VALUE) };
    Ok(match limit {
        STACK_BYTES => up_to(1 << 19)?.next_multiple_of(16),
        PRINTF_BYTES => value.clamp(1 << 19, 1 << 31),
        HEAP_BYTES => value.clamp(4 << 20, device.memory_bytes).next_multiple_of(1 << 16),
        PENDING_LAUNCHES => value.min(599_186),
        FETCH_BYTES => up_to(128)?,
        PERSISTING_BYTES => {
            up_to(device.persisting_l2_bytes)?.next_multiple_of((device.persisting_l2_bytes / PERSISTING_PARTS).max(1))
        }
        SHARED_BYTES | SHARES_GRAPHICS => return Err(Code::NOT_PERMITTED.into()),
        _ => return Err(Code::INVALID_VALUE.into()),
    })
}
