//! Kernels that use every device function of `cuda_std`.
#![no_std]
#![allow(clippy::missing_safety_doc)]

pub mod atomics;
pub mod maths;
pub mod misc;
pub mod shared;
pub mod threads;
pub mod warps;
