//! The kernels of every ladder, each with its rung's description: device code, one module for each ladder.
//!
//! A rung's file says first what it changes against the rung before and why that should help, then shows the code.
//! The entry points are the functions marked `#[kernel]`; where a body is generic over the block size, [`entries!`]
//! writes an entry point for each size. The description ([`rung::Rung`]) stands beside the kernel, and the host reads
//! it from there. So a new rung is one file here, and its name in the ladder's list ([`rungs!`]).
//!
//! Compiled to PTX by `cuda_builder` from `host/build.rs`. On any other target everything type-checks
//! and nothing runs.
//!
//! It is compiled for several architectures (the list is in `host/build.rs`), and a device gets the newest
//! that it can run. A file whose kernels need instructions that the oldest lacks begins with
//! `#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]` (or `"sm_90"`): rustc sets that feature
//! when it compiles for `compute_80` or newer. The kernels are then in the newer PTX only. The host, which is no GPU,
//! has their descriptions all the same, and a device that is too old says so.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(asm_experimental_arch))]

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub mod copy_async;
#[macro_use]
pub mod entry;
pub mod allreduce;
pub mod gemm;
pub mod histogram;
pub mod matmul;
pub mod pitfalls;
pub mod reduce;
pub mod shuffle;
pub mod tensor_core;
pub mod tile;
pub mod transpose;
pub mod warp;
pub mod wide;
