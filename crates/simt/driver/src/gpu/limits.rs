//! The limits of a context (`CUlimit`): their values at the beginning, and what becomes of the values that a program asks
//! for, as an H200's driver has them.

use std::collections::HashMap;

use crate::abi::error::{Code, Result};
use crate::gpu::device::Device;

/// The limits by their numbers. Those that are missing are not supported.
pub(crate) type Limits = HashMap<u32, u64>;

/// Bytes of a thread's stack.
const STACK_BYTES: u32 = 0;
/// Bytes that `printf` may print between two synchronizations.
pub(crate) const PRINTF_BYTES: u32 = 1;
/// Bytes that `malloc` gives out in kernels.
pub(crate) const HEAP_BYTES: u32 = 2;
/// Launches by kernels that may wait.
const PENDING_LAUNCHES: u32 = 4;
/// Bytes that the L2 fetches at a time.
const FETCH_BYTES: u32 = 5;
/// Bytes of the L2 for lines that stay.
const PERSISTING_BYTES: u32 = 6;
/// Bytes of shared memory of a block, and whether graphics share the context: both can only be read.
const SHARED_BYTES: u32 = 7;
const SHARES_GRAPHICS: u32 = 8;
/// The first number that no limit has.
const END: u32 = 10;

/// The granularity of the L2 that is set aside, as a part of all that can be.
const PERSISTING_PARTS: u64 = 10;

/// The limits of a new context.
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

/// The value of a limit: `CUDA_ERROR_UNSUPPORTED_LIMIT` when the device does not have it.
pub(crate) fn find(limits: &Limits, limit: u32) -> Result<u64> {
    let otherwise = if limit < END { Code::UNSUPPORTED_LIMIT } else { Code::INVALID_VALUE };
    limits.get(&limit).copied().ok_or_else(|| otherwise.into())
}

/// The value that a limit gets when a program asks for this one.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` when it is too large, `CUDA_ERROR_NOT_PERMITTED` when the limit can only be read.
pub(crate) fn rounded(device: &Device, limit: u32, value: u64) -> Result<u64> {
    let up_to = |most: u64| if value <= most { Ok(value) } else { Err(Code::INVALID_VALUE) };
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
