//! Every mistake that `#[kernel]` detects, and a parameter that is not `Copy`.
#![allow(unused_variables, unsafe_op_in_unsafe_fn)]

use cuda_std::kernel;

#[kernel]
pub fn safe(data: *mut f32) {}

#[kernel]
pub unsafe fn generic<T: Copy, const N: usize>(data: *mut [T; N]) {}

#[kernel]
pub unsafe fn returning(data: *const f32) -> f32 {
    *data
}

pub struct Method;

impl Method {
    #[kernel]
    pub unsafe fn method(&self) {}
}

#[kernel]
pub async unsafe fn waiting() {}

#[kernel]
pub unsafe fn disguised(f: impl Fn()) {}

#[kernel(grid_dim = 4d)]
pub unsafe fn hint() {}

#[kernel]
pub unsafe fn not_copy(names: Vec<String>, count: u32, name: &mut str) {}

#[kernel]
pub struct Thing;

fn main() {}
