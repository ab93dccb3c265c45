//! The driver's figures for a function: its registers and memory, and how many of its blocks a multiprocessor holds.

use cust::error::CudaError;
use cust::function::{BlockSize, Function, FunctionAttribute};

use super::allow_shared;
use crate::device::Resident;
use crate::launch::Launch;
use crate::registry::MAX_SHARED;

/// Asks for the function's attributes, and for the number of resident blocks with the launch's threads and shared
/// memory.
pub(super) fn resident(function: &Function<'_>, launch: &Launch) -> Result<Resident, CudaError> {
    let attribute = |which| function.get_attribute(which).map(i32::unsigned_abs);
    // This is more than a block has without an opt-in, and the device may not have as much.
    let fits =
        launch.shared_bytes <= MAX_SHARED || allow_shared(function, launch.shared_bytes).is_ok();
    let [x, y, z] = launch.block;
    Ok(Resident {
        registers: attribute(FunctionAttribute::NumRegisters)?,
        static_shared: attribute(FunctionAttribute::SharedMemorySizeBytes)?,
        local_bytes: attribute(FunctionAttribute::LocalSizeBytes)?,
        max_threads: attribute(FunctionAttribute::MaxThreadsPerBlock)?,
        blocks: match fits {
            true => function.max_active_blocks_per_multiprocessor(
                BlockSize::xyz(x, y, z),
                launch.shared_bytes as usize,
            )?,
            false => 0,
        },
    })
}
