//! Running kernels: the simulator, its buffers, and launches.

mod arg;
mod available;
mod block;
mod fault;
mod frames;
mod geometry;
mod heap;
mod instance;
mod interrupt;
mod launch;
mod observed;
mod printf;
mod residents;
mod saved;
mod schedule;
mod simulator;
mod skipped;
mod state;
mod warp;

pub use crate::source_frames::Frame;
pub use arg::Arg;
pub use available::available_memory;
pub use fault::{Fault, FaultKind, OtherThread, ravel, unravel};
pub use frames::{Position, frames};
pub use geometry::GeometryLimits;
pub use instance::{Instance, InstanceError};
pub use interrupt::{interruption, is_interrupted};
pub use launch::{Launch, LaunchError};
pub use observed::Observed;
pub use saved::SavedState;
pub use schedule::Schedule;
pub use simulator::{Buffer, Config, Element, Simulator};
pub use skipped::SkippedFaults;
