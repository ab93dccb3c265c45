//! The playground: simt in a browser. It runs a rung of any ladder, or PTX that somebody pasted, and shows what each warp
//! does in each step: registers, masks, the reconvergence stack, requests, banks.
//!
//! A page asks in JSON and is answered in JSON ([`Playground::answer`]). What is asked is a [`Request`]; the answers are
//! `serde` structures beside the code that makes them. For WebAssembly, `exports` has the functions that the page
//! calls: plain C, over the module's memory. That takes no further tool: `wasm-bindgen` would need its command-line
//! program, minutes of compiling, for seven functions that take and return numbers.
//!
//! A run records how the warps of one block change (`trace`), once; every state of it is looked up afterwards, forwards
//! and backwards alike.
//!
//! This crate must not know how anything is drawn: that is the page's business (`www`).

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

/// The kernels' source files: their paths from the repository's root, and their texts.
static SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));
