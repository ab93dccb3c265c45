//! The CUDA driver, implemented on [`simt`]: what programs call as `cuInit`, `cuLaunchKernel` and so on, with a simulated
//! GPU behind it.
//!
//! [`function`] gives each function that the real driver exports, by its name, with C's calling convention. Two crates use
//! it: `ladder-libcuda` in programs that use cust, and `libcuda-so`, which exports all of them as `libcuda.so.1`.
//!
//! # How it works
//!
//! - `call` is the way in: arguments from C, results and errors to C. `symbols` has the functions by their names and
//!   versions (`cuGetProcAddress`), `runtime` what NVIDIA's runtime library asks for besides.
//! - `state` has the devices and the machine, `context` the contexts, `handles` all objects by their handles.
//! - `memory` has what lies at the addresses that kernels access; `pool` and `virtual_memory` are other ways to it, `array` and
//!   `texture` what is read as texels, and `tensor_map` what describes tiles.
//! - `image` and `fatbin` find PTX in what a program loads; `module`, `library` and `function` hold it; `link` makes one module of
//!   several.
//! - `launch`, `copy` and the others check what a program asks for and make an operation (`op`) of it, which `stream`
//!   enqueues and `queue` does, in a thread of its own. `mem_op` and `event` are the operations between streams.
//! - `capture` makes nodes of a `graph` of the operations of a stream instead.
//!
//! # Devices
//!
//! The environment variable [`DEVICE`] names the simulated GPU and [`DEVICES`] says how many of them there are. They are
//! run by one machine and share its memory: a kernel on one device can access the memory of another, whether or not the
//! program has enabled that (`cuCtxEnablePeerAccess`). What each has in use is counted for itself.
//!
//! # Errors
//!
//! Every function returns the code that the real driver returns, and nothing else reaches the program: no panic, no
//! exit. What there is to say besides (which thread of which kernel, which line of the source) goes to the standard error, or to
//! the file that the environment variable [`LOG`] names. A function that is not implemented returns
//! `CUDA_ERROR_NOT_SUPPORTED`, and is named once.
//!
//! The crate must not know cust, ladders or who links it.

mod array;
mod attributes;
mod call;
mod capture;
mod context;
mod copy;
mod copy3d;
mod copy_batch;
mod device;
mod error;
mod event;
mod fatbin;
mod function;
mod graph;
mod handles;
mod image;
mod jit;
mod launch;
mod launch_attributes;
mod library;
mod limits;
mod link;
mod location;
mod mem_op;
mod memory;
mod module;
mod occupancy;
mod op;
mod peer;
mod platform;
mod pool;
mod queue;
mod report;
mod runtime;
mod simulation;
mod state;
mod stream;
mod symbols;
mod tensor_map;
mod texture;
mod virtual_memory;

pub use call::Function;
pub use device::{DEVICE, DEVICES};
pub use report::LOG;
pub use simulation::{InUse, Inside, Kernel, Simulation};
pub use state::is_inside;
pub use symbols::{counts, function};

/// The functions of all modules.
const ALL: &[&[call::Entry]] = &[
    array::FUNCTIONS,
    capture::calls::FUNCTIONS,
    context::FUNCTIONS,
    copy::FUNCTIONS,
    copy3d::FUNCTIONS,
    copy_batch::FUNCTIONS,
    device::FUNCTIONS,
    error::FUNCTIONS,
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
    runtime::FUNCTIONS,
    state::FUNCTIONS,
    stream::FUNCTIONS,
    symbols::FUNCTIONS,
    tensor_map::FUNCTIONS,
    texture::FUNCTIONS,
    virtual_memory::FUNCTIONS,
];
