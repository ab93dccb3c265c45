//! Groups: wait for the older copies, and let the younger ones come.
//!
//! `wait::<N>()` waits until at most the last `N` groups are still on their way. With two groups, `wait::<1>()` waits for the
//! first one, while the second may still come.
//!
//! This thread starts two groups, uses the first element as soon as it is there, and then the second. One of the two waits
//! is wrong.

use crate::copy_async::{Shared, commit, copy_one, wait};
use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// `input` points to 64 elements, `output` to 32. There is one block of 32 threads.
#[kernel]
pub unsafe fn groups_of_copies(input: *const f32, output: *mut f32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[f32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<f32>();
    let t = thread::thread_idx_x() as usize;
    // SAFETY: in bounds; an element is read when its copy has arrived.
    unsafe {
        copy_one(Shared::of(tile.add(t)), input.add(t), true);
        commit();
        copy_one(Shared::of(tile.add(t + 32)), input.add(t + 32), true);
        commit();
        wait::<1>();
        let first = *tile.add(t);
        // TODO: which groups may still be on their way here?
        wait::<1>();
        *output.add(t) = first * *tile.add(t + 32);
    }
}
