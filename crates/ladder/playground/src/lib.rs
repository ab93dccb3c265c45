//! The playground: simt in a browser. It runs a rung of any ladder, or pasted PTX. It shows the state of each warp at
//! each step: registers, masks, the reconvergence stack, requests, banks.
//!
//! The page sends requests in JSON and receives answers in JSON ([`Playground::answer`]). A request is a [`Request`].
//! The answers are `serde` structures, defined next to the code that creates them. For WebAssembly, `exports` has the
//! functions that the page calls. These functions use the C ABI and the module's memory, so they need no further tool.
//! `wasm-bindgen` would require its command-line program, which takes minutes to compile, for seven functions that take
//! and return numbers.
//!
//! A run records once how the warps of one block change (`trace`). The page can then look up every state, forward and
//! backward.
//!
//! This crate must not depend on how the page draws anything (`www`).

mod device;
mod done;
#[cfg(target_family = "wasm")]
pub mod exports;
mod listing;
mod pasted;
mod playground;
mod request;
mod run;
mod rungs;
mod trace;
mod view;

pub use playground::Playground;
pub use request::Request;

/// The kernels' source files: their paths relative to the root of the repository, and their texts.
static SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));
