use super::*;

/// Uses of shared memory that have to be generic: `sort_unstable`, a pointer that is shared or not, an array of pointers,
/// references behind `dyn`, pointers in memory.
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
    let own = thread::thread_idx_x() as usize;
    unsafe {
        let (tile, other) = ((&raw mut TILE).cast::<u32>(), (&raw mut OTHER).cast::<u32>());
        *tile.add(own) = hash(i);
        *other.add(own) = hash(i);
        thread::sync_threads();
        if own == 0 {
            core::slice::from_raw_parts_mut(tile, 64).sort_unstable();
            (&raw mut PLACE).cast::<*const u32>().write(other.add(5));
        }
        thread::sync_threads();
        let either = if i % 3 == 0 { other.cast_const().add(own) } else { &raw const GLOBAL[own % 4] };
        let places = [tile.add(own), other.add(own), tile.add(63 - own)];
        let place: &dyn Fn(usize) -> u32 = if i % 2 == 0 { &|at| *tile.add(at) } else { &|at| *other.add(at) };
        let words =
            [*tile.add(own), *either, *places[i as usize % 3], place(own), **(&raw const PLACE).cast::<*const u32>()];
        words.into_iter().fold(0, |sum, it| mix(sum, u64::from(it)))
    }
}
#[cfg(not(target_arch = "nvptx64"))]
pub fn value(i: u32) -> u64 {
    let own = i as usize % 64;
    let first = i - own as u32;
    let other: Vec<u32> = (first..first + 64).map(hash).collect();
    let mut tile = other.clone();
    tile.sort_unstable();
    let either = if i % 3 == 0 { other[own] } else { [3, 1, 4, 1][own % 4] };
    let chosen = [tile[own], other[own], tile[63 - own]][i as usize % 3];
    let place = if i % 2 == 0 { tile[own] } else { other[own] };
    [tile[own], either, chosen, place, other[5]].into_iter().fold(0, |sum, it| mix(sum, u64::from(it)))
}
