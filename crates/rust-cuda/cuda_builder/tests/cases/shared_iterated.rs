use super::*;

/// Iterators and pointers that compare or subtract addresses.
fn searched(tile: &[u32], i: u32) -> u64 {
    let limit = hash(i) / 2;
    let index = i as usize % 64;
    let range = tile.as_ptr_range();
    let found = [
        tile.iter().position(|x| *x > limit),
        tile.iter().rposition(|x| *x > limit),
        tile.iter().skip(index).position(|x| *x < limit),
        tile.iter().skip(index).take(7).position(|x| *x < limit),
        tile.iter().step_by(1 + index % 5).position(|x| *x < limit),
        tile.iter().rev().skip_while(|x| **x < limit).position(|x| *x < limit),
        tile.iter().zip(&tile[index..]).position(|(a, b)| a < b),
        Some(tile.iter().filter(|x| **x > limit).count()),
        Some(tile.chunks(5).filter(|chunk| chunk[0] > limit).count()),
        Some(unsafe { range.end.offset_from(&raw const tile[index]) } as usize),
        Some(tile.iter().take_while(|x| **x > limit).last().map_or(64, |x| x.trailing_zeros() as usize)),
        tile.iter().find(|x| **x > limit).map(|x| *x as usize),
        tile.iter().min_by_key(|x| **x ^ limit).map(|x| *x as usize),
        Some(usize::from(range.contains(&(&raw const tile[index])))),
    ];
    found.into_iter().fold(0, |sum, term| mix(sum, term.map_or(99, |term| term as u64)))
}

#[cfg(target_arch = "nvptx64")]
pub fn value(i: u32) -> u64 {
    use core::mem::MaybeUninit;
    use cuda_std::{address_space, thread};
    #[address_space(shared)]
    static mut TILE: [MaybeUninit<u32>; 64] = [const { MaybeUninit::uninit() }; 64];
    unsafe {
        let tile = (&raw mut TILE).cast::<[u32; 64]>();
        (*tile)[i as usize % 64] = hash(i);
        thread::sync_threads();
        searched(&*tile, i)
    }
}
#[cfg(not(target_arch = "nvptx64"))]
pub fn value(i: u32) -> u64 {
    let first = i / 64 * 64;
    let tile: Vec<u32> = (first..first + 64).map(hash).collect();
    searched(&tile, i)
}
