//! The kernels of every ladder: device code, one module per ladder, one function in one file per rung. The modules
//! `arguments`, `basics` and `pitfalls` have kernels that are not rungs.
//!
//! A rung's file says first what it changes against an earlier rung and why that should help, then shows the code. The
//! attribute [`rung::rung`] above the function writes an entry point for each block size and variant, and the constant
//! that describes the rung to the host. A new rung is one file, and two lines in its ladder's file: its module, and its
//! place in the list `RUNGS`.
//!
//! `cuda_builder` compiles this crate to PTX, from `host/build.rs`. On any other target everything type-checks and nothing
//! runs.
//!
//! It is compiled for several architectures (the list is in `host/build.rs`), and a device gets the newest that it can run.
//! A file whose kernels need instructions that the oldest lacks begins with `#![cfg(any(not(target_arch = "nvptx64"),
//! target_feature = "sm_80"))]` (or `"sm_90a"`): rustc sets that feature when it compiles for `compute_80` or newer. The
//! kernels are then only in the newer PTX. The host has their descriptions all the same, and a device that is too old is
//! refused before the launch.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(asm_experimental_arch))]

pub mod allreduce;
pub mod arguments;
pub mod attention;
pub mod basics;
mod exp2;
pub mod gemm;
mod grid_barrier;
pub mod histogram;
pub mod matmul;
pub mod operation;
pub mod pitfalls;
pub mod reduce;
pub mod scan;
pub mod shuffle;
pub mod softmax;
pub mod sort;
pub mod tensor_core;
pub mod transpose;
