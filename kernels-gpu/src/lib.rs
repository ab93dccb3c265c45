//! kernels-gpu
