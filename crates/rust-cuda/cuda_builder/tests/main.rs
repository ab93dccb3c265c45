//! Whole device builds of small crates, from Rust to PTX.
//!
//! They need a device compiler. Without one they fail and print how to install it.

#![allow(clippy::unwrap_used, unreachable_pub)]

mod architectures;
mod common;
mod pipeline;
mod suite;
