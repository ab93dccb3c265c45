//! Statics that use a const generic of the enclosing function.
use cuda_std::prelude::*;
use cuda_std::shared_array;

pub fn tile<const BLOCK: usize>() -> *mut f32 {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[f32; BLOCK + 2]> = MaybeUninit::uninit();
    (&raw mut TILE).cast()
}

pub fn array<const BLOCK: usize>() -> *mut f32 {
    shared_array![f32; BLOCK]
}

fn main() {}
