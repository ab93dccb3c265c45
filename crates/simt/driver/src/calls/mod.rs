//! The driver's functions that need several kinds of objects: functions that enqueue, capture or wait.

use crate::abi::call::Entry;

pub(crate) mod context;
mod copy;
mod copy_batch;
mod device;
mod launch;
mod memory;
mod module;
mod stream;

/// The functions of these modules.
pub(crate) const FUNCTIONS: &[&[Entry]] = &[
    context::FUNCTIONS,
    copy::FUNCTIONS,
    copy_batch::FUNCTIONS,
    device::FUNCTIONS,
    launch::FUNCTIONS,
    memory::FUNCTIONS,
    module::FUNCTIONS,
    stream::FUNCTIONS,
];
