//! The kernels of every ladder: device code, one module a ladder.
//!
//! A rung's file says first what it changes against the rung before and why that should help, then
//! shows the code. The entry points are the functions marked `#[kernel]`; where a body is generic over
//! the block size, [`entries!`] writes an entry point for each size.
//!
//! Compiled to PTX by `cuda_builder` from `host/build.rs`. On any other target everything type-checks
//! and nothing runs.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(asm_experimental_arch))]

#[macro_use]
pub mod entry;
pub mod histogram;
pub mod matmul;
pub mod reduce;
pub mod shuffle;
pub mod tile;
pub mod transpose;
pub mod warp;
