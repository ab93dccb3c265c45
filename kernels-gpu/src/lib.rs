//! The kernels of all ladders: device code, with one module per ladder and one file per rung. The modules `arguments`,
//! `basics` and `pitfalls` hold kernels that are not rungs.
//!
//! A rung's file first states what the rung changes compared with an earlier rung and why the change should help. The
//! code follows. The attribute [`rung::rung`] on the function generates an entry point for each block size and variant,
//! and the constant that describes the rung to the host. A new rung takes one file, and two lines in its ladder's file:
//! one declares its module, and one adds it to the list `RUNGS`.
//!
//! `cuda_builder` compiles this crate to PTX, from `host/build.rs`. On any other target, the crate type-checks but no
//! kernel can run.
//!
//! The crate is compiled for several architectures (the list is in `host/build.rs`), and a device gets the newest PTX
//! that it can run. If the oldest architecture lacks instructions that a file's kernels need, the file begins with
//! `#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]` (or `"sm_90a"`). rustc sets this feature when
//! it compiles for `compute_80` or newer. Such kernels exist only in the PTX for newer architectures. The host still
//! has their descriptions, and rejects a device that is too old before the launch.
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
