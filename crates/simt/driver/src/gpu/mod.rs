//! The devices, and everything that programs create on them: contexts, modules, memory, streams and so on.
//!
//! The modules are in groups. No group depends on a later group, and there are no dependency cycles between modules; a
//! step of `cargo xtask test` checks this. Each module holds the state for its objects, separately for each driver of
//! the process ([`PerDriver`](crate::abi::handles::PerDriver)).

use crate::abi::call::Entry;

// The device, and values that do not depend on objects.
pub(crate) mod attributes;
pub(crate) mod device;
pub(crate) mod jit;
pub(crate) mod launch_attributes;
pub(crate) mod limits;
pub(crate) mod ranges;
pub(crate) mod sanitize;
pub(crate) mod state;

// Objects.
pub(crate) mod context;
pub(crate) mod event;
pub(crate) mod function;
pub(crate) mod graph_memory;
pub(crate) mod hazards;
pub(crate) mod link;
pub(crate) mod location;
pub(crate) mod memory;
pub(crate) mod module;
pub(crate) mod peer;
pub(crate) mod pool;
pub(crate) mod stream;
pub(crate) mod tensor_map;

// Operations, and the queue of pending operations.
pub(crate) mod copy;
pub(crate) mod mem_op;
pub(crate) mod op;
pub(crate) mod queue;

// Objects that operations do not need.
pub(crate) mod array;
pub(crate) mod copy3d;
pub(crate) mod library;
pub(crate) mod occupancy;
pub(crate) mod pointer;
pub(crate) mod texture;
pub(crate) mod virtual_memory;

// Sources of operations.
pub(crate) mod capture;
pub(crate) mod graph;
pub(crate) mod launch;
pub(crate) mod submit;

/// The functions of all these modules.
pub(crate) const FUNCTIONS: &[&[Entry]] = &[
    array::FUNCTIONS,
    capture::calls::FUNCTIONS,
    event::FUNCTIONS,
    graph::calls::FUNCTIONS,
    graph::exec::FUNCTIONS,
    graph::generic::FUNCTIONS,
    graph::kernel::FUNCTIONS,
    graph::nodes::FUNCTIONS,
    graph::objects::FUNCTIONS,
    graph::transfer::FUNCTIONS,
    graph::update::FUNCTIONS,
    graph_memory::FUNCTIONS,
    library::FUNCTIONS,
    link::FUNCTIONS,
    memory::FUNCTIONS,
    memory::host::FUNCTIONS,
    memory::managed::FUNCTIONS,
    module::FUNCTIONS,
    occupancy::FUNCTIONS,
    peer::FUNCTIONS,
    pointer::FUNCTIONS,
    pool::FUNCTIONS,
    state::FUNCTIONS,
    stream::FUNCTIONS,
    tensor_map::FUNCTIONS,
    texture::FUNCTIONS,
    virtual_memory::FUNCTIONS,
];
