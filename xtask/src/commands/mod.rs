//! The task that looks at kernels.

pub mod ptx;
