//! The simulated GPUs, and all that programs make on them: contexts, modules, memory, streams and so on.
//!
//! These modules know each other in many ways: everything belongs to a context, a context ends everything that is its, and
//! operations of all kinds wait in one queue. So they are one module for the layers around it.

use crate::abi::call::Entry;

pub(crate) mod array;
pub(crate) mod attributes;
pub(crate) mod capture;
pub(crate) mod context;
pub(crate) mod copy;
pub(crate) mod copy3d;
pub(crate) mod copy_batch;
pub(crate) mod device;
pub(crate) mod event;
pub(crate) mod function;
pub(crate) mod graph;
pub(crate) mod jit;
pub(crate) mod launch;
pub(crate) mod launch_attributes;
pub(crate) mod library;
pub(crate) mod limits;
pub(crate) mod link;
pub(crate) mod location;
pub(crate) mod mem_op;
pub(crate) mod memory;
pub(crate) mod module;
pub(crate) mod occupancy;
pub(crate) mod op;
pub(crate) mod peer;
pub(crate) mod pool;
pub(crate) mod queue;
pub(crate) mod sanitize;
pub(crate) mod state;
pub(crate) mod stream;
pub(crate) mod tensor_map;
pub(crate) mod texture;
pub(crate) mod virtual_memory;

/// The functions of all these modules.
pub(crate) const FUNCTIONS: &[&[Entry]] = &[
    array::FUNCTIONS,
    capture::calls::FUNCTIONS,
    context::calls::FUNCTIONS,
    copy::FUNCTIONS,
    copy3d::FUNCTIONS,
    copy_batch::FUNCTIONS,
    device::FUNCTIONS,
    event::FUNCTIONS,
    function::FUNCTIONS,
    graph::calls::FUNCTIONS,
    graph::exec::FUNCTIONS,
    graph::generic::FUNCTIONS,
    graph::kernel::FUNCTIONS,
    graph::memory::FUNCTIONS,
    graph::nodes::FUNCTIONS,
    graph::objects::FUNCTIONS,
    graph::transfer::FUNCTIONS,
    launch::FUNCTIONS,
    library::FUNCTIONS,
    mem_op::FUNCTIONS,
    link::FUNCTIONS,
    memory::FUNCTIONS,
    memory::host::FUNCTIONS,
    memory::managed::FUNCTIONS,
    memory::pointer::FUNCTIONS,
    module::FUNCTIONS,
    occupancy::FUNCTIONS,
    peer::FUNCTIONS,
    pool::FUNCTIONS,
    state::FUNCTIONS,
    stream::FUNCTIONS,
    tensor_map::FUNCTIONS,
    texture::FUNCTIONS,
    virtual_memory::FUNCTIONS,
];
