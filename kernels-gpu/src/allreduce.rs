//! The sum of one array of each device, on every device: what NCCL calls an all-reduce, by kernels that read and write the
//! other devices' memory.
//!
//! Each device is a rank: a number from 0 on. Rank `r` has an input, an output and flags of its own, and every kernel gets
//! the addresses of those of all ranks ([`Table`]). A launch has a row of blocks (the grid's y) for each rank that its
//! device is, from `first` on. Devices that are one rank each launch one row; where one device has all ranks in its memory,
//! it launches all rows, which shows what the kernel does and not what the links between devices do.
//!
//! The blocks of the same number of all ranks take the same elements and wait for each other, and for no others. A flag is
//! a word in the memory of who waits for it: another rank sets it by a store with release semantics in the scope of the
//! system, after its data, and who waits reads it, puts it back to 0 and has a fence with acquire semantics behind that (PTX ISA, "Memory
//! Consistency Model"). No flag is set again before who waits for it has put it back: between two settings of a flag
//! stands another flag in the opposite direction. So stores are enough, and no atomic operation crosses a link.
//!
//! The first thing that all kernels but none of NCCL's users see is a barrier: a rank's input is there when its kernel has
//! begun, and its output may be read by nobody when the kernel has ended.
//!
//! # Safety
//! All kernels: entry `r` of `inputs` and `outputs` points to `n` elements, at a multiple of 16, and that of `flags`
//! to [`FLAGS`] zeros for each block of a row, which are zeros again afterwards; `ranks` is 1 to [`MOST_RANKS`], and `first`
//! is less. All ranks' kernels are launched with the same `n`, `ranks`, block and row of blocks, all blocks of all rows run
//! at the same time, and nothing else uses the memory meanwhile.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use cuda_std::atomic::mid::{atomic_load_32_system, atomic_store_32_system, system_thread_fence};
use cuda_std::thread;
use rung::{Geometry, Rung};

use crate::wide;

rungs! { at_one, tree, ring, one_shot, packets, two_shot }

/// The most ranks.
pub const MOST_RANKS: usize = 8;

/// Flags of a block of a rank: one for each barrier and rank, then one for each step of a ring.
pub const FLAGS: usize = BARRIERS * MOST_RANKS + 2 * MOST_RANKS;

/// The barriers of a launch. Neighbouring ones have flags of their own, and so have the last of a launch and the first of the
/// next: a rank can be one barrier ahead of another, but not two.
const BARRIERS: usize = 2;
const BEGIN: usize = 0;
const END: usize = 1;

/// Elements of a thread in one turn: one access of 16 bytes.
const WIDTH: u32 = wide::width::<f32>() as u32;

/// Accesses of a thread under way at a time where there are enough elements.
const IN_FLIGHT: usize = 2;

/// The most blocks of all rows on one device, where one row may have them all: nearly one for each multiprocessor of the GPUs
/// that this book measures, because blocks of 512 threads with these kernels' registers are alone on theirs, and all have to
/// run at the same time. Over NVLink, 32 blocks have 346 GB/s of a ring's 360 (two H100s, a prototype in CUDA C++).
pub const MOST_BLOCKS: u32 = 128;

/// A rung of this ladder.
const RANKS: Rung = Rung {
    geometry: Geometry::Rows { items_per_thread: WIDTH, most_blocks: MOST_BLOCKS },
    default_block: [512, 1, 1],
    single_pass: true,
    ..Rung::USUAL
};

/// Addresses, one for each rank; a parameter of a kernel with `#[grid_constant]`.
#[repr(C)]
pub struct Table<T>([*mut T; MOST_RANKS]);

impl<T> Table<T> {
    /// The address of a rank's memory.
    #[inline(always)]
    fn of(&self, rank: u32) -> *mut T {
        // SAFETY: reading what was passed; ranks are less than the table is long, as the kernels' contract says.
        unsafe { *self.0.as_ptr().add(rank as usize) }
    }
}

/// This block's rank among the others, and their memory.
pub struct Group<'a> {
    inputs: &'a Table<f32>,
    outputs: &'a Table<f32>,
    flags: &'a Table<u32>,
    n: u32,
    ranks: u32,
    /// This block's.
    rank: u32,
}

impl Group<'_> {
    /// The elements that one of so many equal parts begins at: a multiple of an access's.
    #[inline(always)]
    fn part(&self, part: u32, parts: u32) -> u32 {
        let each = self.n.div_ceil(WIDTH).div_ceil(parts) * WIDTH;
        // No overflow: n is less than 2^31, and a part is at most one access too long.
        (u64::from(each) * u64::from(part)).min(u64::from(self.n)) as u32
    }

    /// Calls `act` with the index, the number and the sums of each of this thread's neighbouring elements in a range: 4, or fewer at
    /// the range's end.
    ///
    /// Of a long range a thread has [`IN_FLIGHT`] loads under way from each source.
    ///
    /// # Safety
    /// The elements of the sources exist, and nobody writes them meanwhile but `act`, which writes none that another call of it takes.
    #[inline(always)]
    unsafe fn for_each(from: u32, to: u32, sums: &impl Sums, mut act: impl FnMut(usize, u32, [f32; 4])) {
        let each = thread::block_dim_x() * WIDTH;
        let turn = thread::grid_dim_x() * each;
        let mut at = from + thread::block_idx_x() * each + thread::thread_idx_x() * WIDTH;
        // No overflow: indices are below 2^31, and a turn has less than 2^20 elements.
        while at + (IN_FLIGHT as u32 - 1) * turn + WIDTH <= to {
            let places: [usize; IN_FLIGHT] = core::array::from_fn(|k| (at + k as u32 * turn) as usize);
            // SAFETY: all of them are in the range, and as the caller promises.
            let sums = unsafe { sums.of(places, WIDTH) };
            // By their indices: what iterates over arrays puts them into local memory.
            let mut k = 0;
            while k < IN_FLIGHT {
                act(places[k], WIDTH, sums[k]);
                k += 1;
            }
            at += IN_FLIGHT as u32 * turn;
        }
        while at < to {
            let count = (to - at).min(WIDTH);
            // SAFETY: as many are in the range, and as the caller promises.
            let [sum] = unsafe { sums.of([at as usize], count) };
            act(at as usize, count, sum);
            at += turn;
        }
    }

    /// The next rank, of which the last one's is the first.
    #[inline(always)]
    fn after(&self, rank: u32) -> u32 {
        if rank + 1 < self.ranks { rank + 1 } else { 0 }
    }

    /// The address of a flag of this block's number in a rank's memory.
    #[inline(always)]
    fn flag(&self, rank: u32, flag: usize) -> *mut u32 {
        self.flags.of(rank).wrapping_add(thread::block_idx_x() as usize * FLAGS + flag)
    }

    /// Sets a flag of a rank, behind all that the block has done. One thread calls it, behind a barrier of the block.
    ///
    /// # Safety
    /// The flag is 0, and if its rank put it back, that happened before.
    #[inline(always)]
    unsafe fn set(&self, rank: u32, flag: usize) {
        // SAFETY: the flag exists, and flags are accessed by atomics only.
        unsafe { atomic_store_32_system(self.flag(rank, flag), Release, 1) };
    }

    /// Waits for a flag of this rank, and puts it back. One thread calls it, before a barrier of the block.
    ///
    /// # Safety
    /// Some rank sets it.
    #[inline(always)]
    unsafe fn wait(&self, flag: usize) {
        let flag = self.flag(self.rank, flag);
        // SAFETY: the flag exists, and flags are accessed by atomics only.
        unsafe {
            while atomic_load_32_system(flag, Relaxed) == 0 {}
            atomic_store_32_system(flag, Relaxed, 0);
        }
        // One fence, behind all loads: each load with acquire semantics would have its own.
        system_thread_fence(Acquire);
    }

    /// Waits for the blocks of this number of all ranks: what they have written before is visible then.
    ///
    /// # Safety
    /// All threads of the block call it, and all ranks call the same barriers in the same order, no barrier twice in
    /// succession.
    #[inline(always)]
    unsafe fn barrier(&self, barrier: usize) {
        thread::sync_threads();
        let peer = thread::thread_idx_x();
        if peer < self.ranks {
            // SAFETY: each thread has two flags of its own: the peer's, and the one that the peer sets. The peer is at most
            // one barrier behind, whose flags are others.
            unsafe {
                self.set(peer, barrier * MOST_RANKS + self.rank as usize);
                self.wait(barrier * MOST_RANKS + peer as usize);
            }
        }
        thread::sync_threads();
    }

    /// Tells a rank that a step's data are there.
    ///
    /// # Safety
    /// All threads of the block call it. No other rank tells this one of the same step in a launch.
    #[inline(always)]
    unsafe fn tell(&self, rank: u32, step: usize) {
        thread::sync_threads();
        if thread::thread_idx_x() == 0 {
            // SAFETY: the flag is 0, since a launch ends with a barrier, before which it was put back.
            unsafe { self.set(rank, BARRIERS * MOST_RANKS + step) };
        }
    }

    /// Waits for a step's data.
    ///
    /// # Safety
    /// All threads of the block call it, and one rank tells this one.
    #[inline(always)]
    unsafe fn await_step(&self, step: usize) {
        if thread::thread_idx_x() == 0 {
            // SAFETY: as the caller promises.
            unsafe { self.wait(BARRIERS * MOST_RANKS + step) };
        }
        thread::sync_threads();
    }
}

/// What elements are the sums of.
trait Sums {
    /// The sums at some places, of so many neighbouring elements each.
    ///
    /// # Safety
    /// They exist in all sources, and nobody writes them meanwhile; each place is a multiple of four.
    unsafe fn of<const N: usize>(&self, places: [usize; N], count: u32) -> [[f32; 4]; N];
}

/// The sums of the elements of several arrays.
struct Arrays<const K: usize>([*const f32; K]);

impl<const K: usize> Sums for Arrays<K> {
    #[inline(always)]
    unsafe fn of<const N: usize>(&self, places: [usize; N], count: u32) -> [[f32; 4]; N] {
        let mut sums = [[0.0; 4]; N];
        let mut k = 0;
        while k < K {
            let array = self.0[k];
            // SAFETY: as the caller promises.
            sums = add(sums, core::array::from_fn(|k| unsafe { load(array, places[k], count) }));
            k += 1;
        }
        sums
    }
}

impl Sums for Group<'_> {
    /// The sums of all ranks' inputs. Each rank begins with its own, so that not all of them ask the same one first.
    #[inline(always)]
    unsafe fn of<const N: usize>(&self, places: [usize; N], count: u32) -> [[f32; 4]; N] {
        let mut rank = self.rank;
        let mut next = || {
            let input = self.inputs.of(rank);
            rank = self.after(rank);
            // SAFETY: as the caller promises.
            core::array::from_fn(|k| unsafe { load(input, places[k], count) })
        };
        if N > 1 {
            // Enough loads of one rank are under way.
            let mut sums = next();
            for _ in 1..self.ranks {
                sums = add(sums, next());
            }
            return sums;
        }
        // All loads are started before the first addition.
        let loaded: [[[f32; 4]; N]; MOST_RANKS] =
            core::array::from_fn(|step| if (step as u32) < self.ranks { next() } else { [[0.0; 4]; N] });
        loaded.into_iter().fold([[0.0; 4]; N], add)
    }
}

#[inline(always)]
fn add<const N: usize>(a: [[f32; 4]; N], b: [[f32; 4]; N]) -> [[f32; 4]; N] {
    core::array::from_fn(|k| core::array::from_fn(|lane| a[k][lane] + b[k][lane]))
}

/// Reads up to four neighbouring elements.
///
/// # Safety
/// They exist, and nobody writes them meanwhile; the first is a multiple of four.
#[inline(always)]
unsafe fn load(from: *const f32, at: usize, count: u32) -> [f32; 4] {
    // SAFETY: as the caller promises.
    unsafe {
        if count == WIDTH {
            return wide::load(from.add(at));
        }
        core::array::from_fn(|k| if (k as u32) < count { *from.add(at + k) } else { 0.0 })
    }
}

/// Writes up to four neighbouring elements.
///
/// # Safety
/// They exist, and nobody else accesses them meanwhile; the first is a multiple of four.
#[inline(always)]
unsafe fn store(to: *mut f32, at: usize, count: u32, values: [f32; 4]) {
    // SAFETY: as the caller promises.
    unsafe {
        if count == WIDTH {
            return wide::store(to.add(at), values);
        }
        // Three at most: with a fourth, the compiler would divide the access above into pieces that both paths share.
        for (k, value) in values.into_iter().take(WIDTH as usize - 1).enumerate() {
            if (k as u32) < count {
                *to.add(at + k) = value;
            }
        }
    }
}

/// Writes the kernels of a rung of this ladder, for each size of a block, and its description.
macro_rules! all_reduce {
    ($(#[$doc:meta])* $name:ident, $lesson:literal => $body:ident) => {
        all_reduce! { $(#[$doc])* $name, $lesson => $body: $crate::allreduce::RANKS }
    };
    ($(#[$doc:meta])* $name:ident, $lesson:literal => $body:ident: $base:path) => {
        ::pastey::paste! {
            all_reduce! { @kernels [$(#[$doc])*] $name [128 256 512 1024] $body }
            rung! { $name: $base {
                lesson: $lesson,
                entries: ::rung::Entries::PerBlock(&[[128, 1, 1], [256, 1, 1], [512, 1, 1], [1024, 1, 1]]),
            } }

            /// This file's rungs.
            pub const RUNGS: &[::rung::Rung] = &[[<$name:upper>]];
        }
    };
    (@kernels $doc:tt $name:ident [$($block:literal)*] $body:ident) => {
        $(all_reduce! { @kernel $doc $name $block $body })*
    };
    (@kernel [$(#[$doc:meta])*] $name:ident $block:literal $body:ident) => {
        ::pastey::paste! {
            $(#[$doc])*
            #[doc = "\n\n# Safety\nAs [`allreduce`](super) says."]
            #[::cuda_std::kernel]
            pub unsafe fn [<$name _ $block>](
                #[grid_constant] inputs: &$crate::allreduce::Table<f32>,
                #[grid_constant] outputs: &$crate::allreduce::Table<f32>,
                #[grid_constant] flags: &$crate::allreduce::Table<u32>,
                n: u32,
                ranks: u32,
                first: u32,
            ) {
                launch_bounds!($block);
                let rank = first + ::cuda_std::thread::block_idx_y();
                // SAFETY: the body has the kernel's contract.
                unsafe { $body(&$crate::allreduce::Group { inputs, outputs, flags, n, ranks, rank }) }
            }
        }
    };
}
use all_reduce;
