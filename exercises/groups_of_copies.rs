//! Groups of copies: wait only for the older group.
//!
//! `wait::<N>()` waits until at most the last `N` groups of this thread are in flight. With two groups, `wait::<1>()`
//! waits for the first group, while the second may still be in flight.
//!
//! Each thread starts two groups. It uses the element of the first group, and then the element of the second. One of
//! the two waits is wrong.

use crate::copy_async::{Shared, commit, copy_one, wait};
use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// `input` points to 64 elements, and `output` to 32. There is one block of 32 threads.
#[kernel]
pub unsafe fn groups_of_copies(input: *const f32, output: *mut f32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[f32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<f32>();
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the arrays have an element for each copy, and each element of the tile is read only after its copy has
    // arrived.
    unsafe {
        copy_one(Shared::of(tile.add(t)), input.add(t), true);
        commit();
        copy_one(Shared::of(tile.add(t + 32)), input.add(t + 32), true);
        commit();
        wait::<1>();
        let first = *tile.add(t);
        // TODO: which groups may be in flight here?
        wait::<1>();
        *output.add(t) = first * *tile.add(t + 32);
    }
}
