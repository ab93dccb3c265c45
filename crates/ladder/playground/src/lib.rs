//! The playground: simt in a browser. The playground runs a rung of any ladder, or pasted PTX, and shows the state of
//! each warp at each step: registers, masks, the reconvergence stack, requests and banks.
//!
//! The page sends each [`Request`] in JSON and receives an answer in JSON ([`Playground::answer`]). The answers are
//! `serde` structures, defined next to the code that creates them. On WebAssembly, `exports` contains the functions
//! that the page calls. These functions use the C ABI and the module's memory, so no further tool is needed.
//! `wasm-bindgen` would require its command-line program, which takes minutes to compile, for seven functions that take
//! and return numbers.
//!
//! A run records every change of the state of one block's warps (`trace`). The page can then look up the state at any
//! step, moving forward or backward.
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
