//! The kernels of all ladders. This device code has one module per ladder and one file per rung. The modules
//! `arguments`, `basics` and `pitfalls` contain kernels that are not rungs.
//!
//! A rung's file first states what the rung changes compared with an earlier rung and why the change should help. The
//! code follows. The attribute [`rung::rung`] on the function generates an entry point for each block size and variant.
//! It also generates the constant that describes the rung to the host. To add a rung, add one file, and add two lines
//! to its ladder's file: one declares its module, and one adds it to the list `RUNGS`.
//!
//! `host/build.rs` calls `cuda_builder`, which compiles this crate to PTX. For any other target, the crate type-checks,
//! but its kernels cannot run.
//!
//! The crate is compiled for several architectures (the list is in `host/build.rs`), and a device gets the newest PTX
//! that it can run. If the oldest architecture lacks instructions that a file's kernels need, the file begins with
//! `#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]` (or `"sm_90a"`). rustc sets this feature when
//! it compiles for `compute_80` or newer. Such kernels exist only in the PTX for newer architectures. The host still
//! has the kernels' descriptions. Before a launch, it rejects a device that is too old.
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
