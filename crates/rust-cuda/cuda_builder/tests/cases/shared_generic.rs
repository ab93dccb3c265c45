use super::*;

/// Uses of shared memory that must be generic: `sort_unstable`, a pointer that is shared or not, an array of pointers,
/// references in `dyn` closures, pointers in memory.
#[cfg(target_arch = "nvptx64")]
pub fn value(i: u32) -> u64 {
    use core::mem::MaybeUninit;
    use cuda_std::{address_space, thread};
    #[address_space(shared)]
    static mut TILE: [MaybeUninit<u32>; 64] = [const { MaybeUninit::uninit() }; 64];
    #[address_space(shared)]
    static mut OTHER: [MaybeUninit<u32>; 64] = [const { MaybeUninit::uninit() }; 64];
    #[address_space(shared)]
    static mut PLACE: MaybeUninit<*const u32> = MaybeUninit::uninit();
    static GLOBAL: [u32; 4] = [3, 1, 4, 1];
    let index = thread::thread_idx_x() as usize;
    unsafe {
        let (tile, other) = ((&raw mut TILE).cast::<u32>(), (&raw mut OTHER).cast::<u32>());
        *tile.add(index) = hash(i);
        *other.add(index) = hash(i);
        thread::sync_threads();
        if index == 0 {
            core::slice::from_raw_parts_mut(tile, 64).sort_unstable();
            (&raw mut PLACE).cast::<*const u32>().write(other.add(5));
        }
        thread::sync_threads();
        let either = if i % 3 == 0 { other.cast_const().add(index) } else { &raw const GLOBAL[index % 4] };
        let places = [tile.add(index), other.add(index), tile.add(63 - index)];
        let place: &dyn Fn(usize) -> u32 = if i % 2 == 0 { &|at| *tile.add(at) } else { &|at| *other.add(at) };
        let words = [
            *tile.add(index),
            *either,
            *places[i as usize % 3],
            place(index),
            **(&raw const PLACE).cast::<*const u32>(),
        ];
        words.into_iter().fold(0, |sum, term| mix(sum, u64::from(term)))
    }
}
#[cfg(not(target_arch = "nvptx64"))]
pub fn value(i: u32) -> u64 {
    let index = i as usize % 64;
    let first = i - index as u32;
    let other: Vec<u32> = (first..first + 64).map(hash).collect();
    let mut tile = other.clone();
    tile.sort_unstable();
    let either = if i % 3 == 0 { other[index] } else { [3, 1, 4, 1][index % 4] };
    let chosen = [tile[index], other[index], tile[63 - index]][i as usize % 3];
    let place = if i % 2 == 0 { tile[index] } else { other[index] };
    [tile[index], either, chosen, place, other[5]].into_iter().fold(0, |sum, term| mix(sum, u64::from(term)))
}
