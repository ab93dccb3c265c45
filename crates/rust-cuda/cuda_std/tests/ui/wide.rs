//! Parameters that are wide pointers, other than `&[T]` and `&mut [T]`.
#![allow(unused_variables)]

use cuda_std::kernel;

type Floats<'a> = &'a [f32];

#[kernel]
pub unsafe fn slices(a: &[f32], b: &mut [u8], c: &[[u8; 4]; 2], d: Option<&u8>) {}

#[kernel]
pub unsafe fn wide(a: &str, b: Floats, c: *const [u8], d: &dyn Fn()) {}

fn main() {}
