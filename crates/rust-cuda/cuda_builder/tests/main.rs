//! Whole device builds of small crates, from Rust to PTX.
//!
//! They need a device compiler; without one they fail and say how to get it.

#![allow(clippy::unwrap_used, unreachable_pub)]

mod architectures;
mod common;
mod pipeline;
mod suite;
