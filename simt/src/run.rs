//! Running kernels: the machine, its buffers, and launches.

mod available;
mod block;
mod fault;
mod launch;
mod machine;
mod warp;

pub use available::available_memory;
pub use fault::{Fault, FaultKind};
pub use launch::{Arg, LaunchError};
pub use machine::{Buffer, Config, Element, Machine};
