//! Tiles are processed in waves and copied ahead, so no block waits for a chain of prefixes.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use core::array;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

use cuda_std::{address_space, shared, thread};
use rung::rung;

use super::resident;
use super::shuffle::{scan_warp, sum_of_lanes_before, sum_warp};
use super::status::{State, Status};
use super::vector::{ITEMS, Tile};
use crate::operation::{Element, Max, Min, Operation, Product, Sum};
use crate::tensor_core::Shared;
use crate::tensor_core::tma::{self, Mbarrier};

/// The number of a block's tiles in shared memory: one is scanned, one is summed, one is copied.
const STAGES: u32 = 3;

/// The number of words of a wave that each lane reads. A warp reads 32 times this number, which is the maximum number
/// of tiles in a wave.
const WORDS: usize = 8;

/// All blocks are resident and process the tiles in waves: in wave `w`, block `b` scans tile `w * blocks + b`.
///
/// A block publishes the sum of its tile of the next wave, and then reads the sums of all tiles of this wave. The block
/// adds the sums of the tiles before its tile to the sum of all earlier waves, which every block keeps. So no block
/// waits for a prefix. The blocks published the words of this wave about one wave ago, so the first read finds most of
/// them. In `scan_look_back_warp`, by contrast, hundreds of warps poll the words of the same tiles, and reading more
/// words at a time made that kernel slower.
///
/// The kernel copies whole tiles ahead of time (`cp.async.bulk`), so loads are in flight while the block waits. The
/// order of additions depends on the block and the grid, not on timing: a float has the same bits in every run.
///
/// Prediction: at 22 bytes per nanosecond per multiprocessor, loading and storing a 64 KB tile takes 5.8 µs. The sums,
/// the reads of the words and the scan take about 3 µs of this time. Copies are in flight meanwhile, so memory is the
/// limit. Measured on an H100 80GB HBM3, in one run: 2^28 elements in 769 µs (CUB 908, a copy 740), and 2^24 in 58.0 µs
/// (CUB 74.7, a copy 56.3).
///
/// # Safety
/// See [`scan`](super) and, for `status`, [`status`](super::status). `input` and `output` are aligned to 16 bytes.
#[rung(
    after = scan_look_back_warp,
    lesson = "resident blocks process tiles in waves, copy ahead, and read all sums of a wave at once",
    blocks = [1024],
    default_block = 1024,
    items_per_thread = ITEMS,
    grid = |launch| launch.stride(resident(launch).min(32 * WORDS as u32)),
    dynamic_shared = STAGES * BLOCK * ITEMS * 4,
    single_pass,
    blocks_wait,
    O = { _: Sum, product: Product, min: Min, max: Max },
    (T, WIDTH) = { _: (i32, 4), u32: (u32, 4), i64: (i64, 2), f32: (f32, 4) },
    EXCLUSIVE = { _: false, exclusive: true },
)]
pub unsafe fn scan_pipelined<
    T: Element,
    O: Operation<T>,
    const WIDTH: usize,
    const EXCLUSIVE: bool,
    const BLOCK: u32,
>(
    input: *const T,
    output: *mut T,
    status: *mut u64,
    n: u32,
) {
    #[address_space(shared)]
    static mut SUMS: MaybeUninit<[[T; BLOCK as usize / 32]; 3]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut PREFIX: MaybeUninit<T> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut BARRIERS: MaybeUninit<[u64; STAGES as usize]> = MaybeUninit::uninit();
    let (sums, prefix) = ((&raw mut SUMS).cast::<T>(), (&raw mut PREFIX).cast::<T>());
    // The sums of a tile's warps, followed by two arrays, one for even and one for odd waves. For each warp, these
    // arrays hold the sum of the warps before it.
    let (warp_sum, before) = (sums, |wave: u32| sums.wrapping_add(((1 + wave % 2) * (BLOCK / 32)) as usize));
    let (tid, warp, lane) = (thread::thread_idx_x(), thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    let (first, blocks, tiles) =
        (thread::block_idx_x(), thread::grid_dim_x(), n.div_ceil(Tile::<T, O, WIDTH>::elements::<BLOCK>()));
    let barriers = Shared::of((&raw const BARRIERS).cast::<u64>());
    let ring =
        Ring::<T, O, WIDTH> { input, n, stages: shared::dynamic_shared_mem::<T>(), barriers, operation: PhantomData };
    // SAFETY: `status` points to the words for this launch.
    let status = unsafe { Status::open(status) };

    if tid == 0 {
        // SAFETY: a barrier of the block follows, and both stages are empty.
        unsafe {
            ring.init();
            ring.start::<BLOCK>(first, 0);
            ring.start::<BLOCK>(first + blocks, 1);
        }
    }
    // The sum of all earlier waves, which only the first warp keeps.
    let mut carry = O::IDENTITY;
    let mut wave = 0;
    loop {
        thread::sync_threads();
        let tile = first + wave * blocks;
        if tile < tiles {
            if tid == 0 && wave > 0 {
                // SAFETY: the tile in this stage was scanned two waves ago, before the barrier.
                unsafe { ring.start::<BLOCK>(tile + blocks, wave + 1) };
            }
            // SAFETY: the whole block loads the tile, whose copy started in an earlier wave. `warp_sum` has a word for
            // each warp.
            unsafe {
                let sum = ring.load::<BLOCK>(tile, wave).sum();
                if lane == 0 {
                    *warp_sum.add(warp as usize) = sum;
                }
            }
        }
        thread::sync_threads();
        if warp == 0 && tile < tiles {
            // SAFETY: the sums were written before the barrier, no thread reads `before(wave)` yet, and `status` has
            // words for the tile.
            unsafe { publish_tile::<T, O, BLOCK>(status, tile, warp_sum, before(wave)) };
        }
        if wave > 0 {
            let tile = tile - blocks;
            if warp == 0 {
                // SAFETY: all blocks are resident, and each publishes the sum of its tile of this wave without waiting
                // for other blocks.
                let (sum, all) = unsafe { read_wave::<T, O>(status, tile, tile - first, tiles) };
                if lane == 0 {
                    // SAFETY: one thread writes `prefix`, and no thread reads it before the barrier.
                    unsafe { *prefix = O::combine(carry, sum) };
                }
                carry = O::combine(carry, all);
            }
            // SAFETY: the tile was summed in the previous wave, and at least two barriers follow before its stage is
            // filled again.
            let (elements, _) = unsafe { ring.load::<BLOCK>(tile, wave - 1) }.scan_form::<EXCLUSIVE>();
            thread::sync_threads();
            // SAFETY: `prefix` and the word of `before` were written before a barrier, and no other thread accesses
            // these elements of the output.
            unsafe {
                let before = O::combine(*prefix, *before(wave - 1).add(warp as usize));
                elements.store::<BLOCK>(output, tile, n, before);
            }
        }
        if tile >= tiles {
            break;
        }
        wave += 1;
    }
    if tid == 0 {
        // SAFETY: each block calls `finish` once, at its end.
        unsafe { status.finish() };
    }
}

/// Publishes the sum of a tile. For each warp, writes the sum of the warps before it to `before`.
///
/// # Safety
/// All lanes of a warp call the function together. `warp_sums` and `before` are shared memory with an element for each
/// warp of the block. No other thread accesses `before` or writes `warp_sums`. `status` has words for the tile.
#[inline(always)]
unsafe fn publish_tile<T: Element, O: Operation<T>, const BLOCK: u32>(
    status: Status,
    tile: u32,
    warp_sums: *const T,
    before: *mut T,
) {
    let lane = thread::thread_idx_x() % 32;
    // SAFETY: an element is read only if lane < BLOCK / 32.
    let warp_total = if lane < BLOCK / 32 { unsafe { *warp_sums.add(lane as usize) } } else { O::IDENTITY };
    let sum = scan_warp::<T, O>(warp_total);
    let sum_before = sum_of_lanes_before::<T, O>(sum, warp_total);
    if lane < BLOCK / 32 {
        // SAFETY: lane < BLOCK / 32, and each element has one writer.
        unsafe { *before.add(lane as usize) = sum_before };
    }
    if lane == 31 {
        // SAFETY: `status` has words for the tile.
        unsafe { status.publish(tile, State::Sum, sum) };
    }
}

/// Reads the sums of a wave. Returns two sums to all lanes: the sum of the wave's tiles before `tile`, and the sum of
/// all tiles of the wave.
///
/// # Safety
/// All lanes of a warp call the function together. `start` is the first tile of the wave, and each block of the wave
/// publishes the sum of its tile.
#[inline(always)]
unsafe fn read_wave<T: Element, O: Operation<T>>(status: Status, tile: u32, start: u32, tiles: u32) -> (T, T) {
    let other = |k: usize| start + k as u32 * 32 + thread::thread_idx_x() % 32;
    let end = tiles.min(start + thread::grid_dim_x());
    // SAFETY: `status` has a word for this tile.
    let read = |k: usize| if other(k) < end { unsafe { status.read(other(k)) } } else { (State::Sum, O::IDENTITY) };
    // All loads start before the loop waits for the first word.
    let words: [(State, T); WORDS] = array::from_fn(read);
    let (mut before, mut all) = (O::IDENTITY, O::IDENTITY);
    #[expect(clippy::needless_range_loop, reason = "an iterator would put the array into local memory")]
    for k in 0..WORDS {
        let (mut state, mut sum) = words[k];
        while state == State::Empty {
            (state, sum) = read(k);
        }
        all = O::combine(all, sum);
        before = O::combine(before, if other(k) < tile { sum } else { O::IDENTITY });
    }
    (sum_warp::<T, O>(before), sum_warp::<T, O>(all))
}

/// The stages in shared memory for the tiles of successive waves.
struct Ring<T, O, const WIDTH: usize> {
    input: *const T,
    n: u32,
    stages: *mut T,
    barriers: Shared,
    operation: PhantomData<O>,
}

impl<T: Element, O: Operation<T>, const WIDTH: usize> Ring<T, O, WIDTH> {
    /// Returns the stage of a wave's tile, and its barrier.
    #[inline(always)]
    fn stage<const BLOCK: u32>(&self, wave: u32) -> (*mut T, Mbarrier) {
        let stage = wave % STAGES;
        let elements = self.stages.wrapping_add((stage * Tile::<T, O, WIDTH>::elements::<BLOCK>()) as usize);
        (elements, Mbarrier(self.barriers.byte_add(stage * Mbarrier::BYTES)))
    }

    /// Initializes the barriers.
    ///
    /// # Safety
    /// One thread calls the function, before a barrier of the block.
    #[inline(always)]
    unsafe fn init(&self) {
        for stage in 0..STAGES {
            // SAFETY: the barrier is in shared memory, and no thread uses it yet.
            unsafe { Mbarrier(self.barriers.byte_add(stage * Mbarrier::BYTES)).init(1) };
        }
        tma::fence_mbarrier_init();
    }

    /// Returns whether all elements of a tile exist. Only complete tiles are copied.
    #[inline(always)]
    fn is_whole<const BLOCK: u32>(&self, tile: u32) -> bool {
        (tile + 1) * Tile::<T, O, WIDTH>::elements::<BLOCK>() <= self.n
    }

    /// Starts the copy of a wave's tile, if the whole tile exists.
    ///
    /// # Safety
    /// One thread calls the function. No thread accesses the stage before [`load`](Self::load).
    #[inline(always)]
    unsafe fn start<const BLOCK: u32>(&self, tile: u32, wave: u32) {
        if self.is_whole::<BLOCK>(tile) {
            let (stage, barrier) = self.stage::<BLOCK>(wave);
            let from = self.input.wrapping_add((tile * Tile::<T, O, WIDTH>::elements::<BLOCK>()) as usize);
            // SAFETY: the whole tile is below n, and all addresses and sizes are multiples of 16 bytes.
            unsafe {
                barrier.arrive_expect_tx(BLOCK * ITEMS * 4);
                tma::load_row(from, BLOCK * ITEMS * 4, Shared::of(stage), barrier);
            }
        }
    }

    /// Waits for a wave's tile and loads this thread's elements of the tile.
    ///
    /// # Safety
    /// The copy of the tile was started, and its stage is not filled again during the call.
    #[inline(always)]
    unsafe fn load<const BLOCK: u32>(&self, tile: u32, wave: u32) -> Tile<T, O, WIDTH> {
        if self.is_whole::<BLOCK>(tile) {
            let (stage, barrier) = self.stage::<BLOCK>(wave);
            // SAFETY: after the wait, the stage holds the tile, and no thread writes the stage.
            unsafe {
                barrier.wait(wave / STAGES % 2);
                Tile::load_shared::<BLOCK>(stage)
            }
        } else {
            // SAFETY: the input has n elements, is aligned to 16 bytes, and no thread writes it.
            unsafe { Tile::load::<BLOCK>(self.input, tile, self.n) }
        }
    }
}
