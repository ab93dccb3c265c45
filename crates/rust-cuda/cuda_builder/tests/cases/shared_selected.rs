use super::*;

/// A `match` on addresses of shared variables that selects pointers, structs and enums with pointers, offsets, or
/// numbers.
#[cfg(target_arch = "nvptx64")]
pub fn value(i: u32) -> u64 {
    use core::mem::MaybeUninit;
    use cuda_std::{address_space, thread};
    type Tile = [MaybeUninit<u32>; 64];
    macro_rules! tiles {
        ($($name:ident)*) => {
            $(#[address_space(shared)]
            static mut $name: Tile = [const { MaybeUninit::uninit() }; 64];)*
        };
    }
    tiles!(A0 A1 A2 A3 B0 B1 B2 B3 C0 C1 C2 C3 D0 D1 D2 D3 E);
    #[derive(Clone, Copy)]
    struct Stage {
        tile: *mut u32,
        factor: u64,
    }
    enum Buffer {
        Whole(*mut u32),
        Scaled(*mut u32, u64),
    }
    #[inline(never)]
    fn chosen(stage: u32, tiles: [*mut u32; 4]) -> *mut u32 {
        tiles[stage as usize % 4]
    }
    let index = thread::thread_idx_x() as usize;
    // All threads of a block have the same stage, also on the host.
    let stage = i / 64;
    let reversed = |tile: *mut u32| unsafe {
        *tile.add(index) = hash(i);
        thread::sync_threads();
        let other = u64::from(*tile.add(63 - index));
        thread::sync_threads();
        other
    };
    macro_rules! at {
        ($name:ident) => {
            (&raw mut $name).cast::<u32>()
        };
    }
    let a = match stage % 4 {
        0 => at!(A0),
        1 => at!(A1),
        2 => at!(A2),
        _ => at!(A3),
    };
    let b = match stage % 4 {
        0 => Stage { tile: at!(B0), factor: 5 },
        1 => Stage { tile: at!(B1), factor: 77 },
        2 => Stage { tile: at!(B2), factor: 1 },
        _ => Stage { tile: at!(B3), factor: 1 << 30 },
    };
    let c = match stage % 4 {
        0 => Buffer::Whole(at!(C0)),
        1 => Buffer::Scaled(at!(C1), 3),
        2 => Buffer::Whole(at!(C2)),
        _ => Buffer::Scaled(at!(C3), 8),
    };
    let (c, scale) = match c {
        Buffer::Whole(tile) => (tile, 1),
        Buffer::Scaled(tile, scale) => (tile, scale),
    };
    let d = chosen(stage, [at!(D0), at!(D1), at!(D2), at!(D3)]);
    let number = match stage % 4 {
        0 => at!(A3) as usize,
        1 => at!(A2) as usize,
        2 => at!(A1) as usize,
        _ => at!(A0) as usize,
    };
    let words =
        [reversed(a), reversed(b.tile) * b.factor, reversed(c) * scale, reversed(d), reversed(number as *mut u32)];
    let e = unsafe {
        match stage % 4 {
            0 => at!(E),
            1 => at!(E).add(7),
            2 => at!(E).add(21),
            _ => at!(E).add(56),
        }
    };
    let first = unsafe {
        at!(E).add(index).write(index as u32);
        thread::sync_threads();
        u64::from(*e)
    };
    words.into_iter().fold(first, mix)
}
#[cfg(not(target_arch = "nvptx64"))]
pub fn value(i: u32) -> u64 {
    let other = u64::from(hash(i / 64 * 64 + 63 - i % 64));
    let stage = i as usize / 64 % 4;
    let words = [other, other * [5, 77, 1, 1 << 30][stage], other * [1, 3, 1, 8][stage], other, other];
    words.into_iter().fold([0, 7, 21, 56][stage], mix)
}
